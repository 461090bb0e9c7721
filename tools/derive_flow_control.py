"""Derive the default objects of flow control, `homeostat/objects/data/flow_control.jsonl`, from a real cluster.

    kubectl get prioritylevelconfigurations,flowschemas -o json | python -m tools.derive_flow_control

The cluster needs nothing but a kube-apiserver that has just started. The table has one object a line, without what all
of them share; `objects/flow_control.py` adds that again.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

TARGET = Path(__file__).parent.parent / "homeostat" / "objects" / "data" / "flow_control.jsonl"
_KINDS = ("PriorityLevelConfiguration", "FlowSchema")
_MARK = "apf.kubernetes.io/autoupdate-spec"


def table_of(items: Iterable[dict[str, Any]]) -> str:
    """Pure."""
    found = [each for each in items if (each["metadata"].get("annotations") or {}).get(_MARK) == "true"]
    found.sort(key=lambda each: (_KINDS.index(each["kind"]), each["metadata"]["name"]))
    return "".join(json.dumps(entry_of(each), separators=(",", ":")) + "\n" for each in found)


def entry_of(obj: dict[str, Any]) -> dict[str, Any]:
    return {"kind": obj["kind"], "name": obj["metadata"]["name"], "spec": obj["spec"]}


if __name__ == "__main__":
    TARGET.write_text(table_of(json.load(sys.stdin)["items"]))
