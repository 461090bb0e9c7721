"""What a person should know of a service first: findings by weight, the worst ones first. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Literal

import msgspec

from homeostat.operators.contracts.engine.checks.verdict import NON_COMPLIANT, UNKNOWN, WARNING

Weight = Literal["critical", "warning", "info"]
_ORDER: Final[tuple[Weight, ...]] = ("critical", "warning", "info")


class Insight(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    severity: Weight
    title: str
    description: str = ""


class Issues(msgspec.Struct, frozen=True, gc=False):
    """The part of a status that insights are made of; absent parts were not checked."""

    errors: tuple[str, ...] = ()
    """Messages of validation."""
    warnings: tuple[str, ...] = ()
    service_exists: bool | None = None
    workload_exists: bool | None = None
    missing_ports: tuple[int, ...] = ()
    unexpected_ports: tuple[int, ...] = ()


def insights_of(status: str, issues: Issues) -> list[Insight]:
    found = [*_of_status(status), *_of_validation(issues), *_of_target(issues)]
    return sorted(found, key=lambda each: _ORDER.index(each.severity))


def _of_status(status: str) -> Iterator[Insight]:
    match status:
        case s if s == NON_COMPLIANT:
            yield Insight("critical", "Contract is violated", "A check of severity error fails.")
        case s if s == WARNING:
            yield Insight("warning", "Contract has warnings", "A check of severity warning fails.")
        case s if s == UNKNOWN:
            yield Insight("warning", "State is unknown", "The cluster could not be observed.")


def _of_validation(issues: Issues) -> Iterator[Insight]:
    if issues.errors:
        yield Insight("critical", _counted(issues.errors, "validation error"), issues.errors[0])
    if issues.warnings:
        yield Insight("warning", _counted(issues.warnings, "validation warning"), issues.warnings[0])


def _of_target(issues: Issues) -> Iterator[Insight]:
    if issues.service_exists is False:
        yield Insight("critical", "Service does not exist", "The Pacto names a Service that does not exist.")
    if issues.workload_exists is False:
        yield Insight("critical", "Workload does not exist", "The Pacto names a workload that does not exist.")
    if issues.missing_ports:
        title = f"Missing ports: {_listed(issues.missing_ports)}"
        yield Insight("warning", title, "Interfaces of the contract use ports that the Service does not have.")
    if issues.unexpected_ports:
        title = f"Unexpected ports: {_listed(issues.unexpected_ports)}"
        yield Insight("info", title, "The Service has ports that no interface of the contract uses.")


def _counted(found: Sequence[str], what: str) -> str:
    return f"{len(found)} {what}{'' if len(found) == 1 else 's'}"


def _listed(ports: Sequence[int]) -> str:
    return ", ".join(map(str, ports))
