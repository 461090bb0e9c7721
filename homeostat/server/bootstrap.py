"""The namespaces and default roles that a plane creates at its first start. Existing objects are not changed."""

from __future__ import annotations

from collections.abc import Iterator

from homeostat.objects.json import JsonObject
from homeostat.server.access.roles import default_roles
from homeostat.server.namespaces import SYSTEM_NAMESPACES


def first_objects() -> Iterator[tuple[str, JsonObject]]:
    """The collection path and the object, for each object to create."""
    for name in SYSTEM_NAMESPACES:
        yield "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    for role in default_roles():
        yield f"/apis/{role['apiVersion']}/{role['kind'].lower()}s", role
