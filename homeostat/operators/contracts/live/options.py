"""The optional checks of a Pacto: what its spec asks for, and the versions that run beside it."""

from __future__ import annotations

from datetime import datetime

import msgspec

from homeostat.objects.declared import readable_status
from homeostat.objects.time.timestamp import TimestampError, parse_time
from homeostat.operators.contracts.api import Pacto
from homeostat.operators.contracts.engine.checks.optional import ALL, NO_OPTIONS, CheckOptions
from homeostat.operators.contracts.spec import AllowedDrift
from homeostat.runtime.cache.cache import Cache


class _Identity(msgspec.Struct, frozen=True, rename="camel"):
    service_name: str = ""


class RunningStatus(msgspec.Struct, frozen=True, rename="camel"):
    """What the status of a Pacto says about what it checks."""

    contract: _Identity | None = None
    contract_version: str = ""


def options_of(pacto: Pacto, pactos: Cache[Pacto], now: datetime) -> tuple[CheckOptions, float | None]:
    """The optional checks, and in how many seconds allowed drift begins or ends."""
    checks = pacto.spec.checks
    if checks is None:
        return NO_OPTIONS, None
    allowed: dict[str, str] = {}
    changes: list[float] = []
    for each in checks.allowed_drift:
        since, until = _span(each, now)
        changes += [(moment - now).total_seconds() for moment in (since, until) if moment > now]
        if since <= now < until:
            text = f"allowed until {each.until}: {each.reason}"
            allowed |= dict.fromkeys(each.checks or (ALL,), text)
    options = CheckOptions(
        severities=checks.severities or {},
        allowed=allowed,
        containers=checks.containers or {},
        has_scaling=bool(checks.scaling),
        running=running_versions(pacto, pactos) if checks.can_deploy else None,
    )
    return options, min(changes, default=None)


def running_versions(pacto: Pacto, pactos: Cache[Pacto]) -> dict[str, frozenset[str]]:
    """The versions of the other services of the namespace that have a workload."""
    found: dict[str, frozenset[str]] = {}
    for each in pactos.in_namespace(pacto.metadata.namespace):
        if each.target is not None and each.metadata.name != pacto.metadata.name:
            status = running_status(each)
            if status.contract is not None and status.contract_version:
                name = status.contract.service_name
                found[name] = found.get(name, frozenset()) | {status.contract_version}
    return found


def running_status(pacto: Pacto) -> RunningStatus:
    return readable_status(pacto, RunningStatus)


def _span(drift: AllowedDrift, now: datetime) -> tuple[datetime, datetime]:
    """A time that cannot be read allows nothing."""
    try:
        return (parse_time(drift.since) if drift.since else now), parse_time(drift.until)
    except TimestampError:
        return now, now
