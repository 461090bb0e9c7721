"""Decides which workloads to patch, and which not and why. Pure, and off unless a policy says `enforce`.

From a Pod comes what it lacks (`plans` adds that up, one plan a workload); from a plan and the workload as it is comes
a step: what is due, or the reason why nothing is. A container that only the Pod has, because a webhook put it there,
and one that the template has already put right are no part of a patch, so that a second look finds nothing left to do.
A container that lacks a probe and has no port to probe is left as it is and named in the step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from math import inf
from typing import Literal, NamedTuple

import msgspec

from homeostat.objects.json import JsonObject
from homeostat.objects.time.timestamp import TimestampError, parse_time
from homeostat.objects.views.pod import Pod
from homeostat.objects.views.workload import OwnerKey, Workload, owner_of
from homeostat.operators.policy.api import LONGEST_CHANGE, OPT_OUT, PATCHED_AT
from homeostat.operators.policy.enforcement.patch import (
    PROBES,
    Injection,
    Part,
    changes_of,
    lacking,
    patch_of,
    port_for,
)
from homeostat.operators.policy.engine.check import (
    MISSING_LIVENESS,
    MISSING_READINESS,
    MISSING_RESOURCES,
    Check,
    Finding,
)
from homeostat.operators.policy.engine.evaluator import Evaluator
from homeostat.operators.policy.engine.namespaces import is_system
from homeostat.operators.policy.spec import Enforcement, PolicySpec

_USUAL = Enforcement()
_CHECKS: dict[Part, Check] = {
    "livenessProbe": MISSING_LIVENESS,
    "readinessProbe": MISSING_READINESS,
    "resources": MISSING_RESOURCES,
}
_PARTS: dict[str, Part] = {check.type: part for part, check in _CHECKS.items()}

Refusal = Literal["Gone", "OptedOut", "NothingToDo", "NoPort"]


class Plan(msgspec.Struct, frozen=True):
    """What the Pods of one workload lack."""

    owner: OwnerKey
    injections: tuple[Injection, ...]


class Patch(msgspec.Struct, frozen=True):
    """Put the workload right, as long as it is the version that was looked at."""

    owner: OwnerKey
    body: JsonObject
    resource_version: str = ""


class Due(msgspec.Struct, frozen=True):
    """It lacks what it can be given. The patch is made only where it is to be sent; a dry run tells of it."""

    owner: OwnerKey
    workload: Workload
    given: tuple[Injection, ...]
    portless: tuple[str, ...] = ()

    def patch(self, spec: PolicySpec, *, now: datetime) -> Patch:
        body = patch_of(self.workload, self.given, spec, now=now)
        return Patch(self.owner, body, self.workload.metadata.resource_version)

    def changes(self, spec: PolicySpec) -> Iterator[str]:
        """What the patch would do, a line for each field."""
        for told in changes_of(self.workload, self.given, spec):
            line = f"{self.owner}: {told}"
            yield line if len(line) <= LONGEST_CHANGE else f"{line[: LONGEST_CHANGE - 3]}..."


class LeftAlone(msgspec.Struct, frozen=True):
    owner: OwnerKey
    reason: Refusal
    portless: tuple[str, ...] = ()


class Cooling(msgspec.Struct, frozen=True):
    """It was patched a short while ago and is wrong again: somebody takes our patches back, and shall not be fought."""

    owner: OwnerKey
    until: float
    portless: tuple[str, ...] = ()


Step = Due | LeftAlone | Cooling


class Planned(NamedTuple):
    """What a Pod lacks, and until when that holds though the Pod does not change."""

    plan: Plan | None
    until: float


_NOTHING = Planned(None, inf)


def plan_of(pod: Pod, evaluator: Evaluator, *, now: float, deployments: Mapping[str, str] = {}) -> Planned:
    """Exempted Pods are not patched either. `deployments` is as in `owner_of`."""
    spec = evaluator.spec
    if not spec.is_enforced or is_system(pod.metadata.namespace):
        return _NOTHING
    found = [(each.name, part) for each in pod.containers for part in lacking(each, spec)]
    owner = owner_of(pod, deployments) if found else None
    if owner is None:
        return _NOTHING
    accused = evaluator.counted(pod, tuple(Finding(_CHECKS[part], name) for name, part in found), now=now)
    wanted: dict[str, frozenset[Part]] = {}
    for finding in accused.findings:
        wanted[finding.container] = wanted.get(finding.container, frozenset()) | {_PARTS[finding.check.type]}
    return Planned(Plan(owner, tuple(map(Injection, wanted, wanted.values()))) if wanted else None, accused.until)


def is_put_right(pod: Pod, finding: Finding, spec: PolicySpec) -> bool:
    """Whether what the finding misses will be injected into the workload of the Pod, as far as a Pod alone can tell."""
    part = _PARTS.get(finding.check.type)
    container = next((each for each in pod.containers if each.name == finding.container), None)
    if part is None or container is None or owner_of(pod) is None or part not in lacking(container, spec):
        return False
    return part not in PROBES or port_for(container, spec.default_probe) != 0


def step_of(plan: Plan, workload: Workload | None, spec: PolicySpec, *, now: datetime) -> Step:
    if workload is None or workload.metadata.deletion_timestamp is not None:
        return LeftAlone(plan.owner, "Gone")
    if workload.annotations.get(OPT_OUT) == "disabled":
        return LeftAlone(plan.owner, "OptedOut")
    given, portless = _given(plan, workload, spec)
    if not given:
        return LeftAlone(plan.owner, "NoPort" if portless else "NothingToDo", portless)
    ends = _cools_until(workload, spec)
    if ends > now.timestamp():
        return Cooling(plan.owner, ends, portless)
    return Due(plan.owner, workload, given, portless)


def _given(plan: Plan, workload: Workload, spec: PolicySpec) -> tuple[tuple[Injection, ...], tuple[str, ...]]:
    """What the template lacks of the plan and can be given, and the containers that no probe can be given to."""
    template = workload.template.spec
    declared = {each.name: each for each in (template.containers if template else None) or ()}
    given: list[Injection] = []
    portless: list[str] = []
    for each in plan.injections:
        container = declared.get(each.container)
        parts = each.parts.intersection(() if container is None else lacking(container, spec))
        if container is not None and parts & PROBES and not port_for(container, spec.default_probe):
            portless.append(each.container)
            parts -= PROBES
        if parts:
            given.append(Injection(each.container, parts))
    return tuple(given), tuple(portless)


def _cools_until(workload: Workload, spec: PolicySpec) -> float:
    try:
        patched_at = parse_time(workload.annotations.get(PATCHED_AT) or "").timestamp()
    except TimestampError:
        return 0.0
    return patched_at + (spec.enforcement or _USUAL).cooldown_seconds
