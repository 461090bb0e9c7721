"""How fast an autoscaler may change the number of replicas: stabilization windows and scaling policies. Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate
from math import ceil, floor
from typing import Final, Literal, NamedTuple

import msgspec

from homeostat.objects.json import JsonObject
from homeostat.objects.quantity import Quantity, QuantityError
from homeostat.operators.workloads.autoscalers.metrics import TOLERANCE, Tolerance

Direction = Literal["scaleUp", "scaleDown"]
_WINDOWS_S: Final = {"scaleUp": 0, "scaleDown": 300}
_POLICIES: Final[dict[Direction, tuple[JsonObject, ...]]] = {
    "scaleUp": (
        {"type": "Pods", "value": 4, "periodSeconds": 15},
        {"type": "Percent", "value": 100, "periodSeconds": 15},
    ),
    "scaleDown": ({"type": "Percent", "value": 100, "periodSeconds": 15},),
}
_LONGEST_S: Final = 3600
_SMALLEST_STEP: Final = 4
"""Without a behavior, so many replicas are always allowed."""
MOST_KEPT: Final = 1000
MOST_POLICIES: Final = 50
"""For each direction."""


class Moment(NamedTuple):
    """A recommendation, or the size of a change, and when that was, in seconds."""

    at_s: float
    replicas: int


class History(msgspec.Struct, frozen=True):
    """What an autoscaler has recommended and done, in memory; the oldest first."""

    recommended: tuple[Moment, ...] = ()
    """Without those that neither the lowest nor the highest of any window can be."""
    grown: tuple[Moment, ...] = ()
    shrunk: tuple[Moment, ...] = ()

    def with_change(self, before: int, after: int, now_s: float) -> History:
        if after > before:
            return msgspec.structs.replace(self, grown=_with_change(self.grown, Moment(now_s, after - before)))
        return msgspec.structs.replace(self, shrunk=_with_change(self.shrunk, Moment(now_s, before - after)))

    def with_recommendation(self, replicas: int, now_s: float) -> History:
        return msgspec.structs.replace(self, recommended=_with_extreme(self.recommended, Moment(now_s, replicas)))


class Rate(NamedTuple):
    replicas: int
    able: tuple[str, str]
    """Reason and message of AbleToScale."""
    limited: tuple[str, str] | None
    """Reason and message of ScalingLimited; None if nothing limits."""


def tolerance_of(behavior: JsonObject) -> Tolerance:
    found = []
    for direction in ("scaleUp", "scaleDown"):
        given = (behavior.get(direction) or {}).get("tolerance")
        try:
            found.append(TOLERANCE if given is None else Quantity.parse(str(given)).nanos / 1e9)
        except QuantityError:
            found.append(TOLERANCE)
    return Tolerance(*found)


def limited(
    behavior: JsonObject | None, history: History, *, current: int, wanted: int, least: int, most: int, now_s: float
) -> Rate:
    """The replicas that are allowed now. `history` has the recommendation of now already. The default policies count
    for a behavior that says nothing of a direction; without any, each step may double the replicas.
    """
    stable = _stabilized(behavior, history, current=current, wanted=wanted, now_s=now_s)
    able = ("ReadyForNewScale", "recommended size matches current size")
    if stable != wanted:
        able = _STABILIZED["scaleUp" if stable < wanted else "scaleDown"]
    if stable > current:
        doubled = max(2 * current, _SMALLEST_STEP)
        limit = doubled if behavior is None else max(_limit("scaleUp", behavior, history, current, now_s), current)
        bound = min(limit, most)
        reason = _TOO_FAST["scaleUp"] if limit < most else _TOO_MANY
        return Rate(bound, able, reason) if stable > bound else Rate(stable, able, None)
    if stable < current:
        limit = min(_limit("scaleDown", behavior or {}, history, current, now_s), current)
        bound = max(limit, least)
        reason = _TOO_FAST["scaleDown"] if limit > least else _TOO_FEW
        return Rate(bound, able, reason) if stable < bound else Rate(stable, able, None)
    return Rate(current, able, None)


_STABILIZED: Final = {
    "scaleUp": (
        "ScaleUpStabilized",
        "recent recommendations were lower than current one, applying the lowest recent recommendation",
    ),
    "scaleDown": (
        "ScaleDownStabilized",
        "recent recommendations were higher than current one, applying the highest recent recommendation",
    ),
}
_TOO_FAST: Final = {
    "scaleUp": ("ScaleUpLimit", "the desired replica count is increasing faster than the maximum scale rate"),
    "scaleDown": ("ScaleDownLimit", "the desired replica count is decreasing faster than the maximum scale rate"),
}
_TOO_MANY: Final = ("TooManyReplicas", "the desired replica count is more than the maximum replica count")
_TOO_FEW: Final = ("TooFewReplicas", "the desired replica count is less than the minimum replica count")


def _stabilized(behavior: JsonObject | None, history: History, *, current: int, wanted: int, now_s: float) -> int:
    """The current number, moved into the range of what was recommended within the windows.

    Without a behavior it is the highest recommendation, even if that is above the current number, as in Kubernetes.
    """

    def recent(direction: Direction) -> list[int]:
        window_s = ((behavior or {}).get(direction) or {}).get("stabilizationWindowSeconds")
        since_s = now_s - (_WINDOWS_S[direction] if window_s is None else window_s)
        return [wanted, *(each.replicas for each in history.recommended if each.at_s > since_s)]

    highest = max(recent("scaleDown"))
    return highest if behavior is None else min(max(current, min(recent("scaleUp"))), highest)


def _limit(direction: Direction, behavior: JsonObject, history: History, current: int, now_s: float) -> int:
    """How many replicas the policies allow; the furthest from now of several, unless `selectPolicy` is Min."""
    given = behavior.get(direction) or {}
    select = given.get("selectPolicy") or "Max"
    if select == "Disabled":
        return current
    policies = given.get("policies") or _POLICIES[direction]
    changed_since = _sums(history.grown if direction == "scaleUp" else history.shrunk)
    limits = [_allowed(direction, each, current, changed_since(now_s - each["periodSeconds"])) for each in policies]
    takes_most = (direction == "scaleUp") == (select == "Max")
    return max(limits) if takes_most else min(limits)


def _allowed(direction: Direction, policy: JsonObject, current: int, changed: int) -> int:
    """`changed` is by how much the size has changed within the period of the policy."""
    value: int = policy["value"]
    if direction == "scaleUp":
        start = current - changed
        return start + value if policy["type"] == "Pods" else ceil(start * (100 + value) / 100)
    start = current + changed
    return start - value if policy["type"] == "Pods" else floor(start * (100 - value) / 100)


def _sums(changes: Sequence[Moment]) -> Callable[[float], int]:
    """A function that says how much changed after a time, without reading all changes for each policy."""
    times, sums = [each.at_s for each in changes], [0, *accumulate(each.replicas for each in changes)]
    return lambda since_s: sums[-1] - sums[bisect_right(times, since_s)]


def _with_change(changes: Sequence[Moment], new: Moment) -> tuple[Moment, ...]:
    """Changes within one second are one, so that there are at most as many as the longest period has seconds."""
    kept = [each for each in changes if each.at_s > new.at_s - _LONGEST_S]
    if kept and int(kept[-1].at_s) == int(new.at_s):
        new = Moment(new.at_s, kept.pop().replicas + new.replicas)
    return (*kept, new)


def _with_extreme(recommended: Sequence[Moment], new: Moment) -> tuple[Moment, ...]:
    """Drops a recommendation if later ones are as low and as high: it decides no window any more."""
    kept, lowest, highest = [new], new.replicas, new.replicas
    for each in reversed(recommended):
        if each.at_s <= new.at_s - _LONGEST_S:
            break
        if not lowest <= each.replicas <= highest:
            kept.append(each)
            lowest, highest = min(lowest, each.replicas), max(highest, each.replicas)
    if len(kept) > MOST_KEPT:
        del kept[1]  # The older ones are further out: they decide until their windows have passed.
    return tuple(reversed(kept))
