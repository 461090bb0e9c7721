"""How many replicas each ReplicaSet of a Deployment gets next. Pure.

RollingUpdate never has more than `replicas + maxSurge` Pods, and never fewer available than `replicas -
maxUnavailable`. Old replicas that are not available go first, because they cost nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from homeostat.objects.views.rollout import DESIRED, MAX
from homeostat.operators.workloads.api import Workload
from homeostat.operators.workloads.deployments.sets import in_age_order, replicas_of
from homeostat.operators.workloads.sizes import integer_of, scaled

Scaling = dict[str, int]
"""Replicas by the name of a ReplicaSet; only those that change."""


def strategy_of(deployment: Workload) -> str:
    found: str = (deployment.spec.get("strategy") or {}).get("type") or "RollingUpdate"
    return found


def bounds_of(deployment: Workload) -> tuple[int, int]:
    """How many more Pods than replicas there may be, and how many may be unavailable."""
    if strategy_of(deployment) != "RollingUpdate":
        return 0, 0
    rolling = (deployment.spec.get("strategy") or {}).get("rollingUpdate") or {}
    replicas = replicas_of(deployment)
    surge = scaled(rolling.get("maxSurge", "25%"), replicas, rounds_up=True)
    unavailable = scaled(rolling.get("maxUnavailable", "25%"), replicas, rounds_up=False)
    if not surge and not unavailable:
        unavailable = 1
    return surge, min(unavailable, replicas)


def first_replicas(deployment: Workload, sets: Sequence[Workload], current: int = 0) -> int:
    """The replicas that the new ReplicaSet may have now."""
    wanted = replicas_of(deployment)
    if strategy_of(deployment) != "RollingUpdate":
        return wanted
    total = sum(map(replicas_of, sets))
    most = wanted + bounds_of(deployment)[0]
    return current if total >= most else current + min(most - total, wanted - current)


def is_scaling(deployment: Workload, sets: Sequence[Workload]) -> bool:
    """Whether the Deployment was scaled since its ReplicaSets were."""
    wanted = str(replicas_of(deployment))
    return any(replicas_of(each) and each.metadata.annotations.get(DESIRED, wanted) != wanted for each in sets)


def roll(deployment: Workload, new: Workload, old: Sequence[Workload]) -> Scaling:
    """The next step of a rolling update."""
    wanted, current = replicas_of(deployment), replicas_of(new)
    if current > wanted:
        return {new.metadata.name: wanted}
    if current < wanted:
        grown = first_replicas(deployment, [new, *old], current)
        if grown != current:
            return {new.metadata.name: grown}
    return _shrink(deployment, new, old)


def _shrink(deployment: Workload, new: Workload, old: Sequence[Workload]) -> Scaling:
    active = [each for each in old if replicas_of(each)]
    if not active:
        return {}
    wanted, (_, max_unavailable) = replicas_of(deployment), bounds_of(deployment)
    least = wanted - max_unavailable
    total = sum(map(replicas_of, [*active, new]))
    new_unavailable = replicas_of(new) - _available(new)
    most_down = total - least - new_unavailable
    if most_down <= 0:
        return {}
    scaling: Scaling = {}
    left = {each.metadata.name: replicas_of(each) for each in active}
    cleaned = 0
    for each in in_age_order(active):
        unhealthy = left[each.metadata.name] - _available(each)
        down = min(most_down - cleaned, unhealthy)
        if down > 0:
            cleaned += down
            left[each.metadata.name] -= down
            scaling[each.metadata.name] = left[each.metadata.name]
    spare = sum(map(_available, [*active, new])) - least
    for each in in_age_order(active):
        down = min(left[each.metadata.name], spare)
        if down > 0:
            spare -= down
            left[each.metadata.name] -= down
            scaling[each.metadata.name] = left[each.metadata.name]
    return scaling


def _available(workload: Workload) -> int:
    found: int = workload.status.get("availableReplicas") or 0
    return found


def scale(deployment: Workload, new: Workload | None, old: Sequence[Workload]) -> Scaling:
    """Spreads a changed number of replicas over the ReplicaSets."""
    sets = [each for each in (*old, *([new] if new else ())) if replicas_of(each)]
    wanted = replicas_of(deployment)
    if len(sets) <= 1:
        only = sets[0] if sets else new or _newest(old)
        if only is None or replicas_of(only) == wanted:
            return {}
        return {only.metadata.name: wanted}
    if new is not None and _is_saturated(deployment, new):
        return {each.metadata.name: 0 for each in old if replicas_of(each)}
    if strategy_of(deployment) != "RollingUpdate":
        return {}
    return _in_proportion(deployment, sets)


def _newest(sets: Sequence[Workload]) -> Workload | None:
    return in_age_order(sets)[-1] if sets else None


def _is_saturated(deployment: Workload, new: Workload) -> bool:
    wanted = replicas_of(deployment)
    desired = new.metadata.annotations.get(DESIRED, "")
    return replicas_of(new) == wanted and desired == str(wanted) and _available(new) == wanted


def _in_proportion(deployment: Workload, sets: Sequence[Workload]) -> Scaling:
    wanted, total = replicas_of(deployment), sum(map(replicas_of, sets))
    most = wanted + bounds_of(deployment)[0] if wanted else 0
    to_add = most - total
    is_up = to_add > 0
    # The largest first; among equals the newest on the way up, and the oldest on the way down.
    ordered = in_age_order(sets)
    if is_up:
        ordered.reverse()
    ordered.sort(key=replicas_of, reverse=True)
    sizes: Scaling = {}
    added = 0
    for each in ordered:
        share = 0
        if to_add:
            size = replicas_of(each)
            before = max(integer_of(each.metadata.annotations.get(MAX, "")) or 0, 0)
            former = before or sum(map(replicas_of, sets)) or 1
            # Halves are rounded up, where Python would take the even number.
            share = (2 * size * most + former) // (2 * former) - size
            rest = to_add - added
            share = max(min(share, rest), 0) if is_up else min(max(share, rest), 0)
        added += share
        sizes[each.metadata.name] = max(replicas_of(each) + share, 0)
    if ordered and to_add:
        name = ordered[0].metadata.name
        sizes[name] = max(sizes[name] + to_add - added, 0)
    return {
        each.metadata.name: sizes[each.metadata.name] for each in sets if sizes[each.metadata.name] != replicas_of(each)
    }
