"""Derive the table of default roles and bindings, `homeostat/server/access/rbac/data/roles.jsonl`, from a real cluster.

    kubectl get clusterroles,clusterrolebindings,roles,rolebindings -A -o json | python -m tools.derive_roles

The cluster needs nothing but a kube-apiserver that has just started. The table has one object a line, without what all
of them share; `server/access/rbac/default_roles.py` adds that again. Rules of aggregated roles are computed, so it has
none.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

TARGET = Path(__file__).parent.parent / "homeostat" / "server" / "access" / "rbac" / "data" / "roles.jsonl"
_KINDS = ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")
_MARK = "kubernetes.io/bootstrapping"
_CONTENT = ("aggregationRule", "rules", "roleRef", "subjects")


def table_of(items: Iterable[dict[str, Any]]) -> str:
    """Pure."""
    found = [each for each in items if _MARK in (each["metadata"].get("labels") or {})]
    found.sort(key=lambda each: (_KINDS.index(each["kind"]), each["metadata"].get("namespace", ""), name_of(each)))
    return "".join(json.dumps(entry_of(each), separators=(",", ":")) + "\n" for each in found)


def entry_of(obj: dict[str, Any]) -> dict[str, Any]:
    metadata = obj["metadata"]
    labels = {name: value for name, value in metadata["labels"].items() if name != _MARK}
    place = {"namespace": metadata["namespace"]} if "namespace" in metadata else {}
    content = {name: obj[name] for name in _CONTENT if obj.get(name)}
    if "aggregationRule" in content:
        content.pop("rules", None)
    return {"kind": obj["kind"], **place, "name": name_of(obj), **({"labels": labels} if labels else {}), **content}


def name_of(obj: dict[str, Any]) -> str:
    return str(obj["metadata"]["name"])


if __name__ == "__main__":
    TARGET.write_text(table_of(json.load(sys.stdin)["items"]))
