"""Decides which workloads to patch, and why others are skipped. Pure; only for policies in mode `enforce`.

`plan_of` finds the parts that the containers of a Pod lack; `plans` joins these into one plan a workload. `step_of`
compares a plan with the current workload: a patch is due, or the step says why not. A container that is only in the
Pod (a sidecar that a webhook injected) and a part that the template already has are left out of the patch, so that the
next reconciliation has nothing to do. A container without a probe and without a known port is not changed; the step
names it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from math import inf
from typing import Literal, NamedTuple

import msgspec

from homeostat.objects.json import JsonObject, encode
from homeostat.objects.time.timestamp import TimestampError, parse_time
from homeostat.objects.views.pod import Pod
from homeostat.objects.views.workload import OwnerKey, Workload, owner_of
from homeostat.operators.policy.api import LONGEST_CHANGE, OPT_OUT, PATCHED_AT
from homeostat.operators.policy.enforcement.patch import (
    PROBES,
    Injection,
    Part,
    changes_of,
    missing_parts,
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

_DEFAULTS = Enforcement()
_CHECKS: dict[Part, Check] = {
    "livenessProbe": MISSING_LIVENESS,
    "readinessProbe": MISSING_READINESS,
    "resources": MISSING_RESOURCES,
}
_PARTS: dict[str, Part] = {check.type: part for part, check in _CHECKS.items()}

Refusal = Literal["Gone", "OptedOut", "NothingToDo", "NoPort"]


class Plan(msgspec.Struct, frozen=True):
    """The parts that Pods of one workload lack."""

    owner: OwnerKey
    injections: tuple[Injection, ...]


class Patch(msgspec.Struct, frozen=True):
    """Patch the workload, if it still has this resource version."""

    owner: OwnerKey
    body: JsonObject
    resource_version: str = ""

    def __str__(self) -> str:
        """For a dry run: the workload, and each part that it gets, by container."""
        containers = self.body["spec"]["template"]["spec"]["containers"]
        parts = (
            f"{each['name']}.{part} = {encode(value).decode()}"
            for each in containers
            for part, value in each.items()
            if part != "name"
        )
        return f"patch {self.owner}: {', '.join(parts)}"


class Due(msgspec.Struct, frozen=True):
    """The workload needs a patch. The patch is built only when it is sent."""

    owner: OwnerKey
    workload: Workload
    injections: tuple[Injection, ...]
    without_port: tuple[str, ...] = ()

    def patch(self, spec: PolicySpec, *, now: datetime) -> Patch:
        body = patch_of(self.workload, self.injections, spec, now=now)
        return Patch(self.owner, body, self.workload.metadata.resource_version)

    def changes(self, spec: PolicySpec) -> Iterator[str]:
        """The changes of the patch, one line a field."""
        for change in changes_of(self.workload, self.injections, spec):
            line = f"{self.owner}: {change}"
            yield line if len(line) <= LONGEST_CHANGE else f"{line[: LONGEST_CHANGE - 3]}..."


class Skipped(msgspec.Struct, frozen=True):
    owner: OwnerKey
    reason: Refusal
    without_port: tuple[str, ...] = ()


class CoolingDown(msgspec.Struct, frozen=True):
    """The workload was patched a short while ago and the patch was undone: it is not patched again before `until`."""

    owner: OwnerKey
    until: float
    without_port: tuple[str, ...] = ()


Step = Due | Skipped | CoolingDown


class Planned(NamedTuple):
    """The plan of a Pod, and the time until which it is valid while the Pod does not change."""

    plan: Plan | None
    until: float


_NOTHING = Planned(None, inf)


def plan_of(pod: Pod, evaluator: Evaluator, *, now: float, deployments: Mapping[str, str] = {}) -> Planned:
    """Exempted findings are not repaired. `deployments` is as in `owner_of`."""
    spec = evaluator.spec
    if not spec.is_enforced or is_system(pod.metadata.namespace):
        return _NOTHING
    found = [(each.name, part) for each in pod.containers for part in missing_parts(each, spec)]
    owner = owner_of(pod, deployments) if found else None
    if owner is None:
        return _NOTHING
    counted = evaluator.counted(pod, tuple(Finding(_CHECKS[part], name) for name, part in found), now=now)
    wanted: dict[str, frozenset[Part]] = {}
    for finding in counted.findings:
        wanted[finding.container] = wanted.get(finding.container, frozenset()) | {_PARTS[finding.check.type]}
    return Planned(Plan(owner, tuple(map(Injection, wanted, wanted.values()))) if wanted else None, counted.until)


def will_be_injected(pod: Pod, finding: Finding, spec: PolicySpec) -> bool:
    """Whether enforcement will repair the finding in the workload of the Pod, as far as the Pod alone shows."""
    part = _PARTS.get(finding.check.type)
    container = next((each for each in pod.containers if each.name == finding.container), None)
    if part is None or container is None or owner_of(pod) is None or part not in missing_parts(container, spec):
        return False
    return part not in PROBES or port_for(container, spec.default_probe) != 0


def step_of(plan: Plan, workload: Workload | None, spec: PolicySpec, *, now: datetime) -> Step:
    if workload is None or workload.metadata.deletion_timestamp is not None:
        return Skipped(plan.owner, "Gone")
    if workload.annotations.get(OPT_OUT) == "disabled":
        return Skipped(plan.owner, "OptedOut")
    injections, without_port = _injections(plan, workload, spec)
    if not injections:
        return Skipped(plan.owner, "NoPort" if without_port else "NothingToDo", without_port)
    ends = _cooldown_end(workload, spec)
    if ends > now.timestamp():
        return CoolingDown(plan.owner, ends, without_port)
    return Due(plan.owner, workload, injections, without_port)


def _injections(plan: Plan, workload: Workload, spec: PolicySpec) -> tuple[tuple[Injection, ...], tuple[str, ...]]:
    """The parts of the plan that the template lacks, and the containers that get no probe because no port is known."""
    template = workload.template.spec
    declared = {each.name: each for each in (template.containers if template else None) or ()}
    injections: list[Injection] = []
    without_port: list[str] = []
    for each in plan.injections:
        container = declared.get(each.container)
        parts = each.parts.intersection(() if container is None else missing_parts(container, spec))
        if container is not None and parts & PROBES and not port_for(container, spec.default_probe):
            without_port.append(each.container)
            parts -= PROBES
        if parts:
            injections.append(Injection(each.container, parts))
    return tuple(injections), tuple(without_port)


def _cooldown_end(workload: Workload, spec: PolicySpec) -> float:
    try:
        patched_at = parse_time(workload.annotations.get(PATCHED_AT) or "").timestamp()
    except TimestampError:
        return 0.0
    return patched_at + (spec.enforcement or _DEFAULTS).cooldown_seconds
