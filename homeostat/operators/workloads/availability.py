"""Which Pods are ready for long enough, and in which order a controller deletes them. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

from homeostat.objects.time.timestamp import TimestampError, parse_time
from homeostat.operators.workloads.api import Pod
from homeostat.operators.workloads.sizes import integer_of

DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
_PHASES: Final = {"Pending": 0, "Unknown": 1, "Running": 2}


def seconds_until_available(pod: Pod, min_ready_s: int, now: datetime) -> float | None:
    """0 if the Pod is available; None while it is not ready."""
    condition = pod.condition("Ready")
    if condition is None or condition.status != "True":
        return None
    if not min_ready_s:
        return 0.0
    elapsed_s = (now - time_of(condition.last_transition_time, now)).total_seconds()
    return max(0.0, min_ready_s - elapsed_s)


def count_available(pods: Iterable[Pod], min_ready_s: int, now: datetime) -> tuple[int, int, float | None]:
    """How many are ready, how many are available, and when the next one is."""
    ready = available = 0
    next_s: float | None = None
    for pod in pods:
        left_s = seconds_until_available(pod, min_ready_s, now)
        if left_s is None:
            continue
        ready += 1
        if left_s <= 0:
            available += 1
        elif next_s is None or left_s < next_s:
            next_s = left_s
    return ready, available, next_s


def time_of(text: str, otherwise: datetime) -> datetime:
    try:
        return parse_time(text)
    except TimestampError:
        return otherwise


def age_s(pod: Pod, now: datetime) -> float:
    return (now - time_of(pod.metadata.creation_timestamp, now)).total_seconds()


def in_deletion_order(pods: Sequence[Pod], related: Iterable[Pod] = ()) -> list[Pod]:
    """Those that are least missed first: without a Node, not ready, cheap, crowded, new. `related` are further Pods of
    the same workload, which crowd Nodes, too.
    """
    crowd = Counter(each.spec.node_name for each in (*pods, *related))

    def rank(pod: Pod) -> tuple[object, ...]:
        return (*_stage(pod), _cost(pod), -crowd[pod.spec.node_name], *_age(pod))

    return sorted(pods, key=rank)


def youngest_first(pods: Iterable[Pod]) -> list[Pod]:
    """The same without costs and crowds, as Jobs delete their Pods."""
    return sorted(pods, key=lambda each: (*_stage(each), *_age(each)))


def _stage(pod: Pod) -> tuple[object, ...]:
    return bool(pod.spec.node_name), _PHASES.get(pod.status.phase, 1), pod.is_ready


def _age(pod: Pod) -> tuple[object, ...]:
    ready = pod.condition("Ready")
    return (
        _Descending(ready.last_transition_time if ready is not None and pod.is_ready else ""),
        -pod.restarts,
        _Descending(pod.metadata.creation_timestamp),
    )


class _Descending(str):
    __slots__ = ()

    def __lt__(self, other: str) -> bool:
        return str.__gt__(self, other)


def _cost(pod: Pod) -> int:
    text = pod.metadata.annotations.get(DELETION_COST, "0")
    return integer_of(text) or 0
