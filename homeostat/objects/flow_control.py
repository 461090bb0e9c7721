"""The FlowSchemas and PriorityLevelConfigurations that every Kubernetes server has. Pure, but for reading the package.

The table `data/flow_control.jsonl` has those of a real kube-apiserver; `tools/derive_flow_control.py` makes it. Two of
each kind are mandatory: the server restores them whatever somebody writes. Of the others, which are suggestions, it
updates those that have the annotation `AUTO_UPDATE`.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping

import msgspec

from homeostat.objects.json import JsonObject

GROUP = "flowcontrol.apiserver.k8s.io"
FLOW_SCHEMAS = f"/apis/{GROUP}/v1/flowschemas"
PRIORITY_LEVELS = f"/apis/{GROUP}/v1/prioritylevelconfigurations"
COLLECTIONS: Mapping[str, str] = {"PriorityLevelConfiguration": PRIORITY_LEVELS, "FlowSchema": FLOW_SCHEMAS}
EXEMPT, CATCH_ALL = "exempt", "catch-all"
MANDATORY = (EXEMPT, CATCH_ALL)
AUTO_UPDATE = "apf.kubernetes.io/autoupdate-spec"
PRODUCER = "api-priority-and-fairness-config-producer-v1"
"""The field manager of the default objects."""
CONSUMER = "api-priority-and-fairness-config-consumer-v1"
"""The field manager of the conditions of FlowSchemas."""
DANGLING = "Dangling"


class _Entry(msgspec.Struct, frozen=True, gc=False):
    kind: str
    name: str
    spec: JsonObject


def default_objects() -> list[JsonObject]:
    """PriorityLevelConfigurations, then FlowSchemas, each ordered by name; new objects at every call."""
    table = pkgutil.get_data(__package__, "data/flow_control.jsonl")
    assert table is not None
    return [_object(each) for each in msgspec.json.Decoder(_Entry).decode_lines(table)]


def _object(entry: _Entry) -> JsonObject:
    metadata = {"name": entry.name, "annotations": {AUTO_UPDATE: "true"}}
    return {"apiVersion": f"{GROUP}/v1", "kind": entry.kind, "metadata": metadata, "spec": entry.spec}


def level_of(schema: JsonObject) -> str:
    """The name of the PriorityLevelConfiguration that a FlowSchema refers to."""
    reference = (schema.get("spec") or {}).get("priorityLevelConfiguration") or {}
    return str(reference.get("name", ""))


def dangling_condition(level: str, *, is_found: bool) -> JsonObject:
    """The condition of a FlowSchema that refers to a level, without the time of its transition."""
    fact = "and it exists" if is_found else "but there is no such object"
    return {
        "type": DANGLING,
        "status": "False" if is_found else "True",
        "reason": "Found" if is_found else "NotFound",
        "message": f'This FlowSchema references the PriorityLevelConfiguration object named "{level}" {fact}',
    }
