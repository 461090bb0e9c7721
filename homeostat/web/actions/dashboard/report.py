"""What resources report to Home: how many are ready, the oldest failures, and what is due next."""

from __future__ import annotations

from homeostat.web.actions.dashboard.phase_counts import Failure, PhaseCounts
from homeostat.web.actions.dashboard.types import count_readable
from homeostat.web.actions.face import Face
from homeostat.web.actions.index.changes import IndexedResource
from homeostat.web.dashboard.home.report import MOST_REPORTED, Problem, Report, Upcoming, frozen
from homeostat.web.dashboard.root import ROOT
from homeostat.web.dashboard.visit import Visit

MOST_NEXT = 5


class ResourceReport:
    def __init__(self, face: Face, counts: PhaseCounts) -> None:
        self._face, self._counts = face, counts

    async def make(self, visit: Visit) -> Report | None:
        found = await count_readable(visit, self._face, self._counts)
        if found is None or not found.by_type:
            return None
        total, types = found.total, frozenset(found.by_type)
        failures, paused = self._counts.failed_longest(MOST_REPORTED, types), self._counts.paused(types)
        return Report(
            noun="resource",
            total=total.total(),
            as_declared=total["ready"] - paused["ready"],
            wrong=total["failed"],
            paused=paused.total() - paused["failed"],
            problems=tuple(_problem(each) for each in failures),
            upcoming=(
                *map(_frozen, self._counts.paused_first(MOST_REPORTED, types)),
                *(_retry(each) for each in _soonest(failures)),
            ),
        )


def _problem(failure: Failure) -> Problem:
    entry = failure.resource.entry
    status = entry.read_status()
    own = (failure.resource.kind, entry.metadata.namespace, entry.metadata.name)
    return Problem(_name(failure), _path(failure), status.message, since=failure.since, object=own)


def _soonest(failures: list[Failure]) -> list[Failure]:
    running = [each for each in failures if not each.resource.entry.is_paused]
    waiting = [each for each in running if each.resource.entry.read_status().next_run]
    return sorted(waiting, key=lambda each: each.resource.entry.read_status().next_run or "")[:MOST_NEXT]


def _frozen(resource: IndexedResource) -> Upcoming:
    entry = resource.entry
    return frozen(f"{entry.metadata.namespace}/{entry.metadata.name}", f"{ROOT}/resources/{entry.number}")


def _retry(failure: Failure) -> Upcoming:
    entry = failure.resource.entry
    return Upcoming(_name(failure), _path(failure), "will retry", entry.read_status().next_run or "")


def _name(failure: Failure) -> str:
    where = failure.resource.entry.metadata
    return f"{where.namespace}/{where.name}"


def _path(failure: Failure) -> str:
    return f"{ROOT}/resources/{failure.number}"
