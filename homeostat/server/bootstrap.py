"""The namespaces, priority classes, objects of flow control and API services that a plane creates at its first start.

Existing objects are not changed.
"""

from __future__ import annotations

from collections.abc import Iterator

from homeostat.objects.flow_control import mandatory_objects
from homeostat.objects.json import JsonObject
from homeostat.server.discovery.api_services import COLLECTION, built_in_services
from homeostat.server.namespaces import SYSTEM_NAMESPACES

_PRIORITY_CLASSES = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}


def first_objects() -> Iterator[tuple[str, JsonObject]]:
    """The collection path and the object, for each object to create."""
    for name in SYSTEM_NAMESPACES:
        yield "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    for name, value in _PRIORITY_CLASSES.items():
        yield (
            "/apis/scheduling.k8s.io/v1/priorityclasses",
            {
                "apiVersion": "scheduling.k8s.io/v1",
                "kind": "PriorityClass",
                "metadata": {"name": name},
                "value": value,
                "description": "Used for system critical pods that must not be moved from their current node."
                if name == "system-node-critical"
                else "Used for system critical pods that must run in the cluster, but can be moved to another node "
                "if necessary.",
            },
        )
    yield from mandatory_objects()
    for service in built_in_services():
        yield COLLECTION, service
