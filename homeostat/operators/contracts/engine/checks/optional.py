"""Checks beyond those of the original, each switched on for a Pacto, and how failed checks count. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final, Literal

import msgspec

from homeostat.operators.contracts.engine.checks.image import is_image
from homeostat.operators.contracts.engine.checks.served import Drift, check_served
from homeostat.operators.contracts.engine.checks.snapshot import Workload
from homeostat.operators.contracts.engine.checks.verdict import (
    CONTAINER_IMAGES,
    CONTRACT_VALID,
    DEPENDENCIES,
    SCALING,
    Verdict,
    judge,
)
from homeostat.operators.contracts.engine.document.contract import Contract
from homeostat.operators.contracts.engine.fleet import can_deploy

Level = Literal["error", "warning", "ignore"]
ALL: Final = ""
_MOST_SHOWN: Final = 5


class CheckOptions(msgspec.Struct, frozen=True, kw_only=True):
    severities: Mapping[str, Level] = {}
    allowed: Mapping[str, str] = {}
    """By check, or `ALL`: why a failure is allowed now."""
    containers: Mapping[str, str] = {}
    """Images by container."""
    has_scaling: bool = False
    running: Mapping[str, Collection[str]] | None = None
    """The versions that run, by service; None if dependencies are not checked."""
    drifts: tuple[Drift, ...] = ()
    """Of the OpenAPI documents that are compared."""


NO_OPTIONS: Final = CheckOptions()


def check_optional(contract: Contract, workload: Workload | None, options: CheckOptions) -> Iterator[Verdict]:
    if workload is not None and options.containers:
        yield check_containers(options.containers, workload)
    if workload is not None and options.has_scaling and workload.replicas is not None and contract.scaling is not None:
        yield check_scaling(contract, workload.replicas)
    if options.running is not None:
        yield check_dependencies(contract, options.running)
    if options.drifts:
        yield check_served(options.drifts)


def check_containers(declared: Mapping[str, str], workload: Workload) -> Verdict:
    running = dict(workload.named_images)
    missing = [name for name in declared if name not in running]
    if missing:
        return judge(CONTAINER_IMAGES, False, f"The workload has no container {', '.join(missing)}", reason="Missing")
    wrong = [name for name, image in declared.items() if not is_image(image, running[name])]
    shown = "; ".join(f'{name} runs "{running[name]}", expected "{declared[name]}"' for name in wrong[:_MOST_SHOWN])
    return judge(CONTAINER_IMAGES, not wrong, shown or "All containers run the declared images")


def check_scaling(contract: Contract, replicas: int) -> Verdict:
    scaling = contract.scaling
    assert scaling is not None
    least, most = scaling.min, scaling.max
    if scaling.replicas is not None:
        least = most = scaling.replicas
    is_within = (least is None or replicas >= least) and (most is None or replicas <= most)
    message = f"The contract declares {least} to {most} replicas; the workload has {replicas}"
    return judge(SCALING, is_within, message)


def check_dependencies(contract: Contract, running: Mapping[str, Collection[str]]) -> Verdict:
    """Only required dependencies count, and only those that run here can be judged."""
    obstacles = [each for each in can_deploy(contract, running) if each.is_required and each.running]
    shown = "; ".join(str(each) for each in obstacles[:_MOST_SHOWN])
    message = shown or "The required dependencies that run here have compatible versions"
    return judge(DEPENDENCIES, not obstacles, message, reason="Incompatible", good="Compatible")


def adjust(verdicts: Iterable[Verdict], options: CheckOptions) -> list[Verdict]:
    """Apply severities and allowed drift. An invalid contract is never allowed."""
    return [each if each.check == CONTRACT_VALID else _adjusted(each, options) for each in verdicts]


def _adjusted(verdict: Verdict, options: CheckOptions) -> Verdict:
    level = options.severities.get(verdict.check)
    reason = options.allowed.get(verdict.check, options.allowed.get(ALL, "")) if verdict.is_failed else ""
    if level is None and not reason:
        return verdict
    return Verdict(
        verdict.check,
        verdict.status,
        verdict.reason,
        f"{verdict.message}; {reason}" if reason else verdict.message,
        verdict.level if level is None or level == "ignore" else level,
        is_allowed=level == "ignore" or bool(reason),
    )
