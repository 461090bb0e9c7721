"""Workloads and Pods for tables of cases."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec

from homeostat.objects.json import JsonObject
from homeostat.operators.workloads.api import Pod, Workload

NOW = datetime(2026, 11, 17, 12, 0, 0, tzinfo=UTC)
THEN = "2026-11-17T11:59:00Z"
TEMPLATE: JsonObject = {
    "metadata": {"labels": {"app": "web"}},
    "spec": {"containers": [{"name": "web", "image": "nginx:1"}]},
}


def workload(name: str = "web", *, status: JsonObject | None = None, **spec: Any) -> Workload:
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}", "generation": 2, "creationTimestamp": THEN}
    metadata |= spec.pop("metadata", {})
    return msgspec.convert({"metadata": metadata, "spec": spec, "status": status or {}}, Workload)


def pod(name: str = "web-0", *, phase: str = "Running", ready: bool = True, since: str = THEN, **fields: Any) -> Pod:
    conditions = [{"type": "Ready", "status": "True" if ready else "False", "lastTransitionTime": since}]
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}", "labels": {"app": "web"}}
    metadata |= {"creationTimestamp": THEN, **fields.pop("metadata", {})}
    spec = {"containers": [{"name": "web", "image": "nginx:1"}], "nodeName": "node-1", **fields.pop("spec", {})}
    status = {"phase": phase, "podIP": "10.128.0.1", "conditions": conditions, **fields.pop("status", {})}
    return msgspec.convert({"metadata": metadata, "spec": spec, "status": status}, Pod)
