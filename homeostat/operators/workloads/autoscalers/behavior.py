"""How fast an autoscaler may change the number of replicas: stabilization windows and scaling policies. Pure."""

from __future__ import annotations

from collections.abc import Sequence
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
MOST_KEPT: Final = 1000


class Moment(NamedTuple):
    """A recommendation, or the size of a change, and when that was, in seconds."""

    at_s: float
    replicas: int


class History(msgspec.Struct, frozen=True):
    """What an autoscaler has recommended and done, in memory."""

    recommended: tuple[Moment, ...] = ()
    grown: tuple[Moment, ...] = ()
    shrunk: tuple[Moment, ...] = ()

    def with_change(self, before: int, after: int, now_s: float) -> History:
        if after > before:
            return msgspec.structs.replace(self, grown=_kept(self.grown, Moment(now_s, after - before)))
        return msgspec.structs.replace(self, shrunk=_kept(self.shrunk, Moment(now_s, before - after)))

    def with_recommendation(self, replicas: int, now_s: float) -> History:
        return msgspec.structs.replace(self, recommended=_kept(self.recommended, Moment(now_s, replicas)))


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
    behavior: JsonObject, history: History, *, current: int, wanted: int, least: int, most: int, now_s: float
) -> Rate:
    """The replicas that are allowed now. `history` has the recommendation of now already."""
    stable = _stabilized(behavior, history, current=current, wanted=wanted, now_s=now_s)
    able = ("ReadyForNewScale", "recommended size matches current size")
    if stable != wanted:
        able = _STABILIZED["scaleUp" if stable < wanted else "scaleDown"]
    if stable > current:
        limit = max(_limit("scaleUp", behavior, history, current, now_s), current)
        bound = min(limit, most)
        reason = _TOO_FAST["scaleUp"] if limit < most else _TOO_MANY
        return Rate(bound, able, reason) if stable > bound else Rate(stable, able, None)
    if stable < current:
        limit = min(_limit("scaleDown", behavior, history, current, now_s), current)
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


def _stabilized(behavior: JsonObject, history: History, *, current: int, wanted: int, now_s: float) -> int:
    """The current number, moved into the range of what was recommended within the windows."""

    def recent(direction: Direction) -> list[int]:
        window_s = (behavior.get(direction) or {}).get("stabilizationWindowSeconds")
        since_s = now_s - (_WINDOWS_S[direction] if window_s is None else window_s)
        return [wanted, *(each.replicas for each in history.recommended if each.at_s > since_s)]

    return min(max(current, min(recent("scaleUp"))), max(recent("scaleDown")))


def _limit(direction: Direction, behavior: JsonObject, history: History, current: int, now_s: float) -> int:
    """How many replicas the policies allow; the furthest from now of several, unless `selectPolicy` is Min."""
    given = behavior.get(direction) or {}
    select = given.get("selectPolicy") or "Max"
    if select == "Disabled":
        return current
    policies = given.get("policies") or _POLICIES[direction]
    limits = [_allowed(direction, each, history, current, now_s) for each in policies]
    takes_most = (direction == "scaleUp") == (select == "Max")
    return max(limits) if takes_most else min(limits)


def _allowed(direction: Direction, policy: JsonObject, history: History, current: int, now_s: float) -> int:
    since_s = now_s - policy["periodSeconds"]
    changes = history.grown if direction == "scaleUp" else history.shrunk
    changed = sum(each.replicas for each in changes if each.at_s > since_s)
    value: int = policy["value"]
    if direction == "scaleUp":
        start = current - changed
        return start + value if policy["type"] == "Pods" else ceil(start * (100 + value) / 100)
    start = current + changed
    return start - value if policy["type"] == "Pods" else floor(start * (100 - value) / 100)


def _kept(moments: Sequence[Moment], new: Moment) -> tuple[Moment, ...]:
    return (*(each for each in moments if each.at_s > new.at_s - _LONGEST_S), new)[-MOST_KEPT:]
