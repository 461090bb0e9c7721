"""PodDisruptionBudgets: how many Pods may be evicted now. Pure.

The server charges a budget for an eviction and names the Pod in `disruptedPods`, so that two evictions do not use the
same allowance. An entry goes when the Pod is being deleted, or after two minutes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

import msgspec

from homeostat.objects.json import JsonObject
from homeostat.objects.time.timestamp import format_time
from homeostat.operators.workloads.api import Pod, Workload
from homeostat.operators.workloads.availability import time_of
from homeostat.operators.workloads.conditions import find, with_condition
from homeostat.operators.workloads.sizes import scaled
from homeostat.operators.workloads.status import is_same_status

_ALLOWED: Final = "DisruptionAllowed"
_DELETED_WITHIN: Final = timedelta(minutes=2)


def counts_owners(budget: Workload) -> bool:
    """Whether it depends on what the controllers of the Pods want, and not on the Pods alone."""
    return budget.spec.get("maxUnavailable") is not None or isinstance(budget.spec.get("minAvailable"), str)


class Decision(msgspec.Struct, frozen=True):
    status: JsonObject | None = None
    again_s: float | None = None


def decide(budget: Workload, pods: Sequence[Pod], sizes: Mapping[str, int], now: datetime) -> Decision:
    """`pods` are those that the budget selects; `sizes` are the replicas that their controllers want, by uid."""
    expected, desired = _counts(budget, pods, sizes)
    disrupted, again_s = _disrupted(budget, pods, now)
    healthy = sum(
        1 for each in pods if each.is_ready and not each.metadata.is_terminating and each.metadata.name not in disrupted
    )
    allowed = max(healthy - desired, 0) if expected > 0 else 0
    enough = ("True", "SufficientPods") if allowed else ("False", "InsufficientPods")
    former = budget.status.get("conditions") or ()
    conditions = with_condition(former, _ALLOWED, *enough, "", now=format_time(now), key="")
    generation = budget.metadata.generation
    status: JsonObject = {
        "currentHealthy": healthy,
        "desiredHealthy": desired,
        "disruptionsAllowed": allowed,
        "expectedPods": expected,
        "disruptedPods": disrupted,
        "observedGeneration": generation,
        "conditions": [{**each, "observedGeneration": generation} for each in conditions],
    }
    return Decision(None if is_same_status(budget.status, status) else status, again_s)


def failed(budget: Workload, message: str, now: datetime) -> JsonObject | None:
    """The status of a budget that cannot be computed: it allows nothing. None if it says so already."""
    former = budget.status.get("conditions") or ()
    kept = find(former, _ALLOWED)
    if kept is not None and kept.get("message") != message:
        former = [{**each, "reason": ""} if each is kept else each for each in former]
    conditions = with_condition(former, _ALLOWED, "False", "SyncFailed", message, now=format_time(now), key="")
    observed = budget.status.get("observedGeneration") or 0
    status: JsonObject = {
        "disruptionsAllowed": 0,
        "conditions": [{**each, **({"observedGeneration": observed} if observed else {})} for each in conditions],
    }
    return None if is_same_status(budget.status, status) else status


def _counts(budget: Workload, pods: Sequence[Pod], sizes: Mapping[str, int]) -> tuple[int, int]:
    """How many Pods are expected, and how many of them have to be healthy."""
    spec = budget.spec
    expected = sum(sizes.values())
    if spec.get("maxUnavailable") is not None:
        return expected, max(expected - scaled(spec["maxUnavailable"], expected, rounds_up=True), 0)
    least = spec.get("minAvailable", 0)
    if isinstance(least, int):
        return len(pods), least
    return expected, scaled(least, expected, rounds_up=True)


def _disrupted(budget: Workload, pods: Sequence[Pod], now: datetime) -> tuple[dict[str, str], float | None]:
    """Those that are still to be deleted, and when the first of them is given up."""
    alive = {each.metadata.name for each in pods if not each.metadata.is_terminating}
    found, waits = {}, []
    for name, since in (budget.status.get("disruptedPods") or {}).items():
        left_s = (time_of(since, now) + _DELETED_WITHIN - now).total_seconds()
        if name in alive and left_s > 0:
            found[name] = since
            waits.append(left_s)
    return found, min(waits) if waits else None
