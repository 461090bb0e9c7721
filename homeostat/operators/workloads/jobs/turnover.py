"""Which Pods of a Job come and go next, and how long new ones wait after failures. Pure."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import islice
from typing import Final

from homeostat.operators.workloads.api import Pod, Workload
from homeostat.operators.workloads.availability import youngest_first
from homeostat.operators.workloads.jobs.counts import Counts, index_of
from homeostat.operators.workloads.jobs.indexes import free_indexes, merged

MOST_AT_ONCE: Final = 500
_LONGEST_BACK_OFF_S: Final = 600.0


def wanted(job: Workload, counts: Counts) -> tuple[tuple[int | None, ...], tuple[Pod, ...]]:
    parallelism, completions = job.spec.get("parallelism", 1), job.spec.get("completions")
    # With this policy a Pod is replaced when it has stopped, and not when it begins to.
    leaving = counts.terminating if job.spec.get("podReplacementPolicy") == "Failed" else 0
    active = len(counts.active) + leaving
    size = active if completions is None and counts.succeeded else parallelism
    if completions is not None:
        size = max(min(completions - counts.succeeded, parallelism), 0)
    delete = _surplus(counts, completions, max(len(counts.active) - size, 0))
    room = max(min(size - active, MOST_AT_ONCE), 0)
    if not counts.is_indexed or completions is None:
        return (None,) * room, delete
    taken = {index_of(each) for each in counts.active}
    free = free_indexes(merged([*counts.done, *counts.failed_indexes]), taken, completions)
    return tuple(islice(free, room)), delete


def _surplus(counts: Counts, completions: int | None, least: int) -> tuple[Pod, ...]:
    """At least so many Pods; of an indexed Job those without an index of it, and of several with one index all but the
    oldest, come before others.
    """
    if not counts.is_indexed or completions is None:
        return tuple(youngest_first(counts.active)[:least]) if least else ()
    taken = {index for each in counts.active if (index := index_of(each)) is not None and index < completions}
    if not least and len(taken) == len(counts.active):
        return ()
    surplus, left = list[Pod](), list[Pod]()
    for pod in reversed(youngest_first(counts.active)):
        index = index_of(pod)
        if index in taken:
            taken.discard(index)
            left.append(pod)
        else:
            surplus.append(pod)
    return (*surplus, *left[::-1][: max(least - len(surplus), 0)])


def due(
    job: Workload, counts: Counts, create: tuple[int | None, ...], first_s: float, now: datetime
) -> tuple[tuple[int | None, ...], float]:
    """Those of the Pods to create that need not wait after failures, and how long the others do if there are none. With
    a limit for each index, each waits for itself.
    """
    if job.spec.get("backoffLimitPerIndex") is None:
        streak = counts.tally.streak
        left_s = _back_off_left(streak.count, streak.last, first_s, now) if create else 0.0
        return ((), left_s) if left_s > 0 else (create, 0.0)
    ends = counts.tally.index_failed_at
    waits: dict[int | None, float] = {
        each: _back_off_left(max(counts.index_failures.get(each, 0), 1), ends.get(each), first_s, now)
        for each in create
        if each is not None
    }
    ready = tuple(each for each in create if waits.get(each, 0.0) <= 0)
    return ready, min(waits.values(), default=0.0) if not ready else 0.0


def _back_off_left(failures: int, last: datetime | None, first_s: float, now: datetime) -> float:
    """After failures new Pods wait: 10 s from the last one, doubled with each, at most 10 minutes."""
    if last is None or not failures:
        return 0.0
    delay_s = min(first_s * 2 ** min(failures - 1, 10), _LONGEST_BACK_OFF_S)
    return max(0.0, (last + timedelta(seconds=delay_s) - now).total_seconds())
