"""What the contract declares beside what runs, row by row. Pure.

The operator has judged each row: a condition says whether they match. A row without a condition was not checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import msgspec

from homeostat.objects.json import JsonObject
from homeostat.operators.contracts.engine.services.compliance import Seen

Verdict = Literal["match", "mismatch", "skipped"]


class Row(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    field: str
    declared_value: str
    observed_value: str
    status: Verdict
    contract_path: str = ""


def drift_rows(status: JsonObject, conditions: Iterable[Seen]) -> list[Row]:
    """The rows of all that the contract declares; empty for a Pacto without a workload."""
    declared, observed = _part(status, "runtime"), _part(status, "observedRuntime")
    by_type = {each.type: each for each in conditions}
    ports = _part(status, "ports")
    images = observed.get("containerImages") or [""]
    strategy = observed.get("deploymentStrategy") or observed.get("podManagementPolicy")
    rows = (
        (
            "Workload type",
            "runtime.workload",
            declared.get("workload"),
            observed.get("workloadKind"),
            "WorkloadTypeMatch",
        ),
        ("State model", "runtime.state", _state(declared), _storage(observed), "StateModelMatch"),
        (
            "Upgrade strategy",
            "runtime.lifecycle.upgradeStrategy",
            declared.get("upgradeStrategy"),
            strategy,
            "UpgradeStrategyMatch",
        ),
        (
            "Graceful shutdown seconds",
            "runtime.lifecycle.gracefulShutdownSeconds",
            declared.get("gracefulShutdownSeconds"),
            observed.get("terminationGracePeriodSeconds"),
            "GracefulShutdownMatch",
        ),
        ("Image", "service.image.ref", _part(status, "contract").get("imageRef"), images[0], "ImageMatch"),
        (
            "Health initial delay seconds",
            "runtime.health.initialDelaySeconds",
            declared.get("healthInitialDelaySeconds"),
            observed.get("healthProbeInitialDelaySeconds"),
            "HealthTimingMatch",
        ),
        ("Ports", "interfaces", ports.get("expected"), ports.get("observed"), "PortsValid"),
    )
    return [
        Row(field, _text(wanted), _text(found), _verdict(by_type.get(check)), path)
        for field, path, wanted, found, check in rows
        if wanted is not None and (observed or check in by_type)
    ]


def _verdict(condition: Seen | None) -> Verdict:
    if condition is None or condition.status not in ("True", "False") or condition.reason == "Skipped":
        return "skipped"
    return "match" if condition.status == "True" else "mismatch"


def _state(declared: Mapping[str, Any]) -> str | None:
    parts = [declared.get("stateType"), declared.get("persistenceDurability")]
    return ", ".join(each for each in parts if each) or None


def _storage(observed: Mapping[str, Any]) -> str | None:
    if not observed:
        return None
    return "persistent volume claim" if observed.get("hasPVC") else "no persistent volume claim"


def _part(fields: JsonObject, name: str) -> JsonObject:
    found = fields.get(name)
    return found if isinstance(found, dict) else {}


def _text(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return "" if value is None else str(value)
