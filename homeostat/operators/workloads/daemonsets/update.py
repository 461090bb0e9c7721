"""Which Pods of a DaemonSet come and go on its Nodes: one on each, and the replacement of old ones at an update. Pure.

Without `maxSurge` an old Pod is deleted and the new one follows. With it the new Pod runs beside the old one, which is
deleted once the new one is available.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Final, Literal, NamedTuple

import msgspec

from homeostat.operators.workloads.api import Pod, Workload
from homeostat.operators.workloads.availability import seconds_until_available
from homeostat.operators.workloads.sizes import scaled

HASH: Final = "controller-revision-hash"

Role = Literal["wanted", "kept", "unsuitable"]
"""Of a Node: a Pod belongs there; one that is there may stay; none may."""


class Place(msgspec.Struct, frozen=True):
    """A Node, and the Pods of one DaemonSet there, the oldest first."""

    node: str
    role: Role
    pods: tuple[Pod, ...]

    @property
    def living(self) -> list[Pod]:
        return [each for each in self.pods if not each.metadata.is_terminating]

    def split(self, digest: str) -> tuple[list[Pod], list[Pod]]:
        """Those of the current template, and the old ones."""
        new = [each for each in self.living if is_current(each, digest)]
        return new, [each for each in self.living if not is_current(each, digest)]


class Step(NamedTuple):
    create: tuple[str, ...] = ()
    """Names of Nodes."""
    delete: tuple[Pod, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.create or self.delete)


class RollingLimits(NamedTuple):
    surge: int
    unavailable: int


def is_current(pod: Pod, digest: str) -> bool:
    return pod.metadata.labels.get(HASH) == digest


def limits_of(daemon: Workload, wanted: int) -> RollingLimits:
    """How many Nodes may have two Pods, and how many none, during an update."""
    rolling = (daemon.spec.get("updateStrategy") or {}).get("rollingUpdate") or {}
    surge = scaled(rolling.get("maxSurge", 0), wanted, rounds_up=True)
    unavailable = scaled(rolling.get("maxUnavailable", 1), wanted, rounds_up=True)
    return RollingLimits(surge, unavailable if surge or unavailable else 1)


def _surges(daemon: Workload) -> bool:
    strategy = daemon.spec.get("updateStrategy") or {}
    return strategy.get("type") != "OnDelete" and limits_of(daemon, 1).surge > 0


def _is_available(daemon: Workload, pod: Pod, now: datetime) -> bool:
    return seconds_until_available(pod, daemon.spec.get("minReadySeconds") or 0, now) == 0.0


def keep_one(daemon: Workload, places: Sequence[Place], digest: str, now: datetime, held: Collection[str] = ()) -> Step:
    """Creates what is missing, and deletes ended, surplus and misplaced Pods, but for failed ones that are held."""
    create: list[str] = []
    delete: list[Pod] = []
    for place in places:
        running = [each for each in place.living if not each.is_finished]
        if place.role == "unsuitable":
            delete += place.living
            continue
        delete += [each for each in place.living if each.is_finished and each.metadata.uid not in held]
        is_missing = not running if _surges(daemon) else not place.pods
        if is_missing and place.role == "wanted":
            create.append(place.node)
        delete += _surplus(daemon, running, digest, now)
    return Step(tuple(create), tuple(delete))


def _surplus(daemon: Workload, running: Sequence[Pod], digest: str, now: datetime) -> list[Pod]:
    if len(running) < 2 or not _surges(daemon):
        return [*running[1:]]
    new = [each for each in running if is_current(each, digest)]
    old = [each for each in running if not is_current(each, digest)]
    found = [*new[1:], *old[1:]]
    if new and old and (not old[0].is_ready or _is_available(daemon, new[0], now)):
        found.append(old[0])
    return found


def roll(daemon: Workload, places: Sequence[Place], digest: str, now: datetime) -> Step:
    """The next step of an update, where every Node has what it should have."""
    limits = limits_of(daemon, sum(1 for each in places if each.role == "wanted"))
    if limits.surge:
        return _surge(daemon, places, digest, now, most=limits.surge)
    return _replace(daemon, places, digest, now, most=limits.unavailable)


def _replace(daemon: Workload, places: Sequence[Place], digest: str, now: datetime, *, most: int) -> Step:
    """Deletes old Pods, as many as may be unavailable; those that are not available anyway."""
    down, up, unavailable = [], [], 0
    for place in places:
        new, old = place.split(digest)
        if len(new) + len(old) != 1:
            unavailable += 1
        elif old and _is_available(daemon, old[0], now):
            up.append(old[0])
        else:
            down += old
            unavailable += not _is_available(daemon, (old or new)[0], now)
    return Step(delete=(*down, *up[: max(most - unavailable, 0)]))


def _surge(daemon: Workload, places: Sequence[Place], digest: str, now: datetime, *, most: int) -> Step:
    """Creates new Pods beside old ones, as many as may surge; beside those that are not available anyway."""
    beside_down, beside_up, delete, leaving = list[str](), list[str](), list[Pod](), list[Pod]()
    surging = available = 0
    for place in places:
        new, old = place.split(digest)
        if len(new) > 1 or len(old) > 1:
            surging += 1
            continue
        is_up = any(_is_available(daemon, each, now) for each in old or new)
        available += is_up
        if not old:
            continue
        if new:
            is_done = _is_available(daemon, new[0], now)
            surging += not is_done
            delete += old if is_done else []
        elif place.role != "wanted":
            (leaving if is_up else delete).extend(old)
        else:
            (beside_up if is_up else beside_down).append(place.node)
    spare = available - sum(1 for each in places if each.role == "wanted")
    delete += leaving[: max(spare, 0)]
    return Step((*beside_down, *beside_up[: max(most - surging, 0)]), tuple(delete))
