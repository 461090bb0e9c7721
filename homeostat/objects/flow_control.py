"""The mandatory FlowSchemas and PriorityLevelConfigurations, which every Kubernetes server has. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from homeostat.objects.json import JsonObject

_GROUP_VERSION = "flowcontrol.apiserver.k8s.io/v1"
FLOW_SCHEMAS = f"/apis/{_GROUP_VERSION}/flowschemas"
PRIORITY_LEVELS = f"/apis/{_GROUP_VERSION}/prioritylevelconfigurations"
MANDATORY = ("exempt", "catch-all")
_SUBJECTS = {"exempt": ("system:masters",), "catch-all": ("system:unauthenticated", "system:authenticated")}
_PRECEDENCES = {"exempt": 1, "catch-all": 10_000}
_LIMITED = {"nominalConcurrencyShares": 5, "limitResponse": {"type": "Reject"}, "lendablePercent": 0}
_EXEMPT = {"nominalConcurrencyShares": 0, "lendablePercent": 0}
_EVERYTHING: JsonObject = {
    "resourceRules": [
        {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "clusterScope": True, "namespaces": ["*"]}
    ],
    "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
}


def mandatory_objects() -> Iterator[tuple[str, JsonObject]]:
    """The collection and the object of each."""
    for name in MANDATORY:
        is_exempt = name == "exempt"
        level = {"type": "Exempt", "exempt": _EXEMPT} if is_exempt else {"type": "Limited", "limited": _LIMITED}
        yield PRIORITY_LEVELS, _object("PriorityLevelConfiguration", name, level)
        schema: JsonObject = {
            "priorityLevelConfiguration": {"name": name},
            "matchingPrecedence": _PRECEDENCES[name],
            "rules": [
                {"subjects": [{"kind": "Group", "group": {"name": each}} for each in _SUBJECTS[name]], **_EVERYTHING}
            ],
        }
        if not is_exempt:
            schema["distinguisherMethod"] = {"type": "ByUser"}
        yield FLOW_SCHEMAS, _object("FlowSchema", name, schema)


def _object(kind: str, name: str, spec: JsonObject) -> JsonObject:
    metadata = {"name": name, "annotations": {"apf.kubernetes.io/autoupdate-spec": "true"}}
    return {"apiVersion": _GROUP_VERSION, "kind": kind, "metadata": metadata, "spec": spec}
