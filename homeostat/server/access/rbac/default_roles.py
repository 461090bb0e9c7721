"""The default roles and bindings: those of Kubernetes, from a table, and what existing ones lack of them.

The table is `data/roles.jsonl`, made by `tools/derive_roles.py`; it is read at each call and not kept. `admin`, `edit`
and `view` are aggregated by label, so an operator's role with `rbac.authorization.k8s.io/aggregate-to-edit: "true"`
extends them.
"""

from __future__ import annotations

import pkgutil

import msgspec

from homeostat.objects.access.rule import rule_object, rule_of
from homeostat.objects.json import JsonObject
from homeostat.server.access.rbac.aggregation import selectors_of
from homeostat.server.access.rbac.authorizer import GROUP, role_ref
from homeostat.server.access.rbac.permissions import missing

_BOOTSTRAPPING = "kubernetes.io/bootstrapping"
_AUTOUPDATE = "rbac.authorization.kubernetes.io/autoupdate"


class _Entry(msgspec.Struct, frozen=True, gc=False):
    kind: str
    name: str
    namespace: str = ""
    labels: dict[str, str] = {}
    aggregationRule: JsonObject | None = None  # noqa: N815
    rules: list[JsonObject] | None = None
    roleRef: JsonObject | None = None  # noqa: N815
    subjects: list[JsonObject] | None = None


def default_roles() -> list[JsonObject]:
    """ClusterRoles, ClusterRoleBindings, Roles, then RoleBindings, each ordered by name; new objects at every call."""
    table = pkgutil.get_data(__package__, "data/roles.jsonl")
    assert table is not None
    return [_object(entry) for entry in msgspec.json.Decoder(_Entry).decode_lines(table)]


def brought_up_to_date(existing: JsonObject, default: JsonObject) -> JsonObject | None:
    """The object with all that its default has; None if nothing is missing.

    As in Kubernetes, what was added to an object stays, and an object whose annotation `autoupdate` is "false" is never
    changed. A binding to another role than its default's is replaced: its result has no `resourceVersion`.
    """
    metadata, wanted = existing["metadata"], default["metadata"]
    annotations = metadata.get("annotations") or {}
    if annotations.get(_AUTOUPDATE) == "false":
        return None
    found = {
        **existing,
        "metadata": {
            **metadata,
            "labels": wanted["labels"] | (metadata.get("labels") or {}),
            "annotations": wanted.get("annotations", {}) | annotations,
        },
    }
    if "roleRef" in default:
        if role_ref(existing) != role_ref(default):
            return default
        present = existing.get("subjects") or []
        found["subjects"] = [*present, *(each for each in default.get("subjects") or () if each not in present)]
    elif "aggregationRule" in default:
        selectors = selectors_of(existing)
        added = [each for each in selectors_of(default) if each not in selectors]
        found["aggregationRule"] = {"clusterRoleSelectors": [*selectors, *added]}
    elif (rules := existing.get("rules") or []) != default["rules"]:
        lacking = missing([rule_of(rule) for rule in rules], [rule_of(rule) for rule in default["rules"]])
        found["rules"] = [*rules, *map(rule_object, lacking)]
    return None if _equal(found, existing) else found


def _equal(found: JsonObject, existing: JsonObject) -> bool:
    """Whether they are the same but for empty fields."""
    metadata, before = found["metadata"], existing["metadata"]
    return all((metadata.get(name) or {}) == (before.get(name) or {}) for name in ("labels", "annotations")) and all(
        (found.get(name) or []) == (existing.get(name) or []) for name in ("rules", "subjects", "aggregationRule")
    )


def _object(entry: _Entry) -> JsonObject:
    metadata: JsonObject = {
        "name": entry.name,
        "labels": {_BOOTSTRAPPING: "rbac-defaults", **entry.labels},
        "annotations": {_AUTOUPDATE: "true"},
    }
    if entry.namespace:
        metadata["namespace"] = entry.namespace
    obj: JsonObject = {"apiVersion": f"{GROUP}/v1", "kind": entry.kind, "metadata": metadata}
    if entry.roleRef is not None:
        return {**obj, "roleRef": entry.roleRef, **({"subjects": entry.subjects} if entry.subjects else {})}
    if entry.aggregationRule is not None:
        return {**obj, "aggregationRule": entry.aggregationRule, "rules": []}
    return {**obj, "rules": entry.rules or []}
