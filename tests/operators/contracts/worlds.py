"""Pactos and worlds for tests of the decision."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec

from homeostat.objects.decision import Decision
from homeostat.operators.contracts.api import Pacto, PactoRevision
from homeostat.operators.contracts.engine.checks.endpoint import Outcome
from homeostat.operators.contracts.engine.checks.evaluate import Observed, prepare
from homeostat.operators.contracts.engine.checks.snapshot import Snapshot, Workload
from homeostat.operators.contracts.loading.content import Version, read_inline
from homeostat.operators.contracts.revisions.plan import CompleteRevision, CreateRevision, DeleteRevision
from homeostat.operators.contracts.world import World
from homeostat.runtime.control.status import plan_status, snapshot_of

NOW = datetime(2026, 11, 17, 12, tzinfo=UTC)


def pacto(status: dict[str, Any] | None = None, **spec: Any) -> Pacto:
    obj = {
        "metadata": {"name": "quay", "namespace": "port", "uid": "u1", "generation": 3, "resourceVersion": "7"},
        "spec": {"contractRef": {"inline": "x"}, **spec},
        **({"status": status} if status is not None else {}),
    }
    return msgspec.json.decode(msgspec.json.encode(obj), type=Pacto)


def world(text: str, obj: Pacto, *, now: datetime = NOW, **more: Any) -> World:
    """What runs is given by `snapshot` and `outcomes`, for a Pacto that has a target."""
    content = read_inline(text)
    snapshot, outcomes = more.pop("snapshot", Snapshot()), more.pop("outcomes", {})
    observed = None
    if obj.target is not None:
        observed = Observed(target=obj.target, namespace="port", snapshot=snapshot, outcomes=outcomes)
    prepared = prepare(content.loaded)
    return World(now=now, prepared=prepared, version=content.version, observed=observed, **more)


def running(**workload: Any) -> Snapshot:
    return Snapshot(service_ports=(8080,), workload=Workload(kind="Deployment", **workload))


def ok(latency_ms: int = 3) -> Outcome:
    return Outcome(status_code=200, has_body=True, latency_ms=latency_ms)


def written(obj: Pacto, decision: Decision[Any], now: datetime) -> Pacto:
    """The object after the runtime has written the status."""
    patch = plan_status(snapshot_of(obj), decision.conditions, decision.status, now=now, absent=decision.absent)
    status = merged(msgspec.json.decode(obj.status or b"{}"), (patch or {}).get("status", {}))
    return msgspec.structs.replace(obj, status=msgspec.Raw(msgspec.json.encode(status)))


def merged(held: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return patch
    result = dict(held) if isinstance(held, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


def revision(name: str, version: Version, *, created: str = "2026-11-17T00:00:00Z") -> PactoRevision:
    source = {"oci": version.ref, "digest": version.digest} if version.ref else {"inline": True}
    obj = {
        "metadata": {"name": name, "namespace": "port", "uid": f"uid-{name}", "creationTimestamp": created},
        "spec": {"version": version.version, "source": source, "pactoRef": "quay", "serviceName": version.service},
        "status": {"contractHash": version.hash, "createdAt": created, "resolved": True},
    }
    return msgspec.json.decode(msgspec.json.encode(obj), type=PactoRevision)


def acted(held: tuple[PactoRevision, ...], actions: tuple[Any, ...]) -> tuple[PactoRevision, ...]:
    """The revisions after the actions."""
    found = {each.metadata.name: each for each in held}
    for action in actions:
        match action:
            case CreateRevision(name, version):
                found[name] = revision(name, version)
            case DeleteRevision(name):
                del found[name]
            case CompleteRevision(name, contract_hash):
                status = msgspec.json.encode({"contractHash": contract_hash, "createdAt": "2026-11-17T00:00:00Z"})
                found[name] = msgspec.structs.replace(found[name], status=msgspec.Raw(status))
    return tuple(found.values())
