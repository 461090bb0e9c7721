"""Why the Pods of a workload are not ready: CrashLoopBackOff, ImagePullBackOff, Unschedulable and the like.

Only Pods of workloads that are not settled are read: of up to `MOST_WORKLOADS` for one page, and again if the workload
has changed or `KEPT_S` have passed. So the number of reads for a page is limited, however many workloads there are.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import msgspec

from homeostat.client.base import Client
from homeostat.objects.conditions import Condition, find
from homeostat.objects.errors import ApiError
from homeostat.objects.kind import POD
from homeostat.web.dashboard.workloads.workload import RunningWorkload, WorkloadRow, pod_selector

MOST_WORKLOADS: Final = 20
"""Of how many workloads Pods are read for one page; further ones are in progress until it is their turn."""
MOST_PODS: Final = 50
KEPT_S: Final = 5.0
_STARTING: Final = ("ContainerCreating", "PodInitializing", "")
_MOST_KEPT: Final = 1000


class _Read(msgspec.Struct, frozen=True, rename="camel"):
    """Part of an object that we only read."""


class _Waiting(_Read, frozen=True):
    reason: str = ""
    message: str = ""


class _State(_Read, frozen=True):
    waiting: _Waiting | None = None


class _Container(_Read, frozen=True):
    name: str = ""
    restart_count: int = 0
    state: _State = _State()


class _PodStatus(_Read, frozen=True):
    container_statuses: tuple[_Container, ...] | None = None
    init_container_statuses: tuple[_Container, ...] | None = None
    conditions: tuple[Condition, ...] | None = None


class _Metadata(_Read, frozen=True):
    name: str = ""
    creation_timestamp: str = ""


class _Pod(_Read, frozen=True):
    metadata: _Metadata = _Metadata()
    status: _PodStatus = _PodStatus()


class _Pods(_Read, frozen=True):
    items: list[_Pod] | None = None


_pods = msgspec.json.Decoder(_Pods)


class Trouble(NamedTuple):
    """Of one Pod of a workload; `text` starts with the reason."""

    text: str
    since: str
    is_certain: bool = True
    """False for what another controller may still resolve: a Pod without a Node."""


class PodTroubles:
    def __init__(self, client: Client, clock: Callable[[], float] = time.monotonic) -> None:
        self._client, self._clock = client, clock
        self._kept: dict[str, tuple[float, str, Trouble | None]] = {}

    async def of(self, rows: Sequence[WorkloadRow]) -> list[Trouble | None]:
        """One for each row, None where nothing is known to be wrong."""
        now = self._clock()
        stale = [each for each in rows if not self._is_fresh(each.workload, now)]
        chosen = sorted(stale, key=lambda each: self._kept.get(each.workload.metadata.uid, (0.0, "", None))[0])
        await asyncio.gather(*(self._read(each.workload, now) for each in chosen[:MOST_WORKLOADS]))
        return [self._kept.get(each.workload.metadata.uid, (0.0, "", None))[2] for each in rows]

    def forget_others(self, rows: Sequence[WorkloadRow]) -> None:
        """Drops what is kept of workloads that are not among `rows`, once it is much."""
        if len(self._kept) > _MOST_KEPT:
            known = {each.workload.metadata.uid for each in rows}
            self._kept = {uid: found for uid, found in self._kept.items() if uid in known}

    def _is_fresh(self, workload: RunningWorkload, now: float) -> bool:
        read_at, version, _ = self._kept.get(workload.metadata.uid, (0.0, "", None))
        return version == workload.metadata.resource_version and now < read_at + KEPT_S

    async def _read(self, workload: RunningWorkload, now: float) -> None:
        where, selector = workload.metadata, pod_selector(workload)
        trouble = None
        if selector:
            query = {"labelSelector": selector, "limit": MOST_PODS}
            try:
                pods = _pods.decode(await self._client.fetch("GET", POD.path(where.namespace), query)).items or []
            except (ApiError, msgspec.ValidationError):
                # The workload itself is known: it is in progress, or its deadline has passed.
                pods = []
            found = [each for pod in pods if (each := _trouble(pod)) is not None]
            trouble = next((each for each in found if each.is_certain), found[0] if found else None)
        self._kept[where.uid] = now, where.resource_version, trouble


def _trouble(pod: _Pod) -> Trouble | None:
    status, name = pod.status, pod.metadata.name
    for each in (*(status.init_container_statuses or ()), *(status.container_statuses or ())):
        waiting = each.state.waiting
        if waiting is None or waiting.reason in _STARTING:
            continue
        restarts = f" after {each.restart_count} restarts" if each.restart_count > 1 else ""
        # That of a crash loop only repeats names and a back-off.
        said = f": {waiting.message}" if waiting.message and waiting.reason != "CrashLoopBackOff" else ""
        return Trouble(f"{waiting.reason}{restarts}: Pod {name}, container {each.name}{said}", _since(pod))
    scheduled = find(status.conditions or (), "PodScheduled")
    if scheduled is not None and scheduled.status == "False" and scheduled.reason == "Unschedulable":
        since = scheduled.last_transition_time or pod.metadata.creation_timestamp
        return Trouble(f"Unschedulable: Pod {name}: {scheduled.message}", since, is_certain=False)
    return None


def _since(pod: _Pod) -> str:
    """Since when it is not ready; its age if it never was."""
    ready = find(pod.status.conditions or (), "Ready")
    since = ready.last_transition_time if ready is not None and ready.status == "False" else None
    return since or pod.metadata.creation_timestamp
