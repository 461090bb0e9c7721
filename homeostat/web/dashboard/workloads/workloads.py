"""`/dashboard/workloads`: the workloads that a controller runs: which are ready, which are not, and why."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from homeostat.client.base import Client
from homeostat.objects.errors import ForbiddenError
from homeostat.objects.kind import Kind
from homeostat.web.dashboard.html.command import nothing
from homeostat.web.dashboard.html.components import Row, chip, moment, one_line, row, table
from homeostat.web.dashboard.html.layout import Page
from homeostat.web.dashboard.html.markup import Markup, Node, el
from homeostat.web.dashboard.html.paging import ListQuery, cut, filter_form, pager, summary
from homeostat.web.dashboard.objects.kinds import object_path
from homeostat.web.dashboard.root import ROOT
from homeostat.web.dashboard.visit import Visit, is_in
from homeostat.web.dashboard.workloads.pods import PodTroubles, Trouble
from homeostat.web.dashboard.workloads.workload import KINDS, RunningWorkload, WorkloadRow, row_of
from homeostat.web.kit.form import read_query
from homeostat.web.kit.watched import Derived, Watched

HERE: Final = f"{ROOT}/workloads"
TITLE: Final = "Workloads"
STATES: Final = ("failed", "in progress", "ready")
LOOKS: Final = {"failed": "bad", "in progress": "phase-reconciling", "ready": "good"}


class Judged(NamedTuple):
    """A workload and what is wrong with it; without trouble it is settled or in progress."""

    row: WorkloadRow
    trouble: Trouble | None

    @property
    def state(self) -> str:
        if self.row.overdue is not None or (self.trouble is not None and self.trouble.is_certain):
            return "failed"
        return "ready" if self.row.is_settled else "in progress"

    @property
    def text(self) -> str:
        """Why; empty for a workload that is ready or just rolls out."""
        overdue = self.row.overdue
        said = self.trouble.text if self.trouble is not None else ""
        if overdue is None:
            return said
        return f"{overdue.reason}: {said or overdue.message}"

    @property
    def since(self) -> str:
        overdue = self.row.overdue
        if self.trouble is not None:
            return self.trouble.since
        return (overdue.last_transition_time or "") if overdue is not None else ""

    @property
    def path(self) -> str:
        """The page of the object."""
        return object_path(self.row.kind, self.row.workload.metadata.namespace, self.row.workload.metadata.name)


class Workloads:
    def __init__(self, client: Client, watched: Watched) -> None:
        self._watched, self._troubles = watched, PodTroubles(client)
        self._derived: dict[str, Derived[RunningWorkload, WorkloadRow | None]] = {
            each.kind: Derived(_deriver(each)) for each in KINDS
        }

    async def worst(self, visit: Visit) -> list[Judged]:
        """Those of the kinds that the visitor may list and of the chosen namespace, the worst state first.
        `ForbiddenError` if this server may list none of these kinds.
        """
        rows: list[WorkloadRow] = []
        refused: list[ForbiddenError] = []
        for kind in KINDS:
            places = await visit.listable(kind)
            if places is not None and not places:
                continue
            try:
                cache = await self._watched.all(kind, RunningWorkload)
            except ForbiddenError as error:
                # Those of other kinds are still worth showing.
                refused.append(error)
                continue
            every = [each for each in self._derived[kind.kind].of(cache or ()) if each is not None]
            rows += [each for each in every if is_in(places, each.workload.metadata.namespace)]
        if len(refused) == len(KINDS):
            raise refused[0]
        self._troubles.forget_others([each for each in rows if not each.is_settled])
        rows = [each for each in rows if visit.namespace in ("", each.workload.metadata.namespace)]
        unsettled = [each for each in rows if not each.is_settled]
        troubles = dict(zip((each.key for each in unsettled), await self._troubles.of(unsettled), strict=True))
        judged = [Judged(each, troubles.get(each.key)) for each in rows]
        return sorted(judged, key=lambda each: (STATES.index(each.state), each.row.key))

    async def one(self, visit: Visit, kind: Kind, namespace: str, name: str) -> Judged | None:
        """Its Pods are read now, however many other workloads are not ready. None if no controller runs it, or the
        visitor may not list such workloads.
        """
        if not is_in(await visit.listable(kind), namespace):
            return None
        cache = await self._watched.all(kind, RunningWorkload)
        workload = cache.readable(namespace, name) if cache is not None else None
        found = row_of(workload, kind) if workload is not None else None
        if found is None:
            return None
        troubles = [None] if found.is_settled else await self._troubles.of([found])
        return Judged(found, troubles[0])

    async def show(self, visit: Visit) -> Page:
        query = read_query(visit.request, ListQuery)
        found = await self.worst(visit)
        shown = cut([each for each in found if _matches(each, query)], query.page)
        body: Node = nothing("No workloads match.") if found else _none()
        if shown.items:
            body = [workload_table(shown.items), pager(HERE, query.fields, shown)]
        namespaces = sorted({each.row.workload.metadata.namespace for each in found})
        content: list[Node] = [
            el("h1", TITLE),
            filter_form(HERE, query, states=STATES, namespaces=namespaces) if found or query.fields else None,
            summary(shown, "workload") if found else None,
            body,
        ]
        return Page(TITLE, content, TITLE)


def _deriver(kind: Kind) -> Callable[[RunningWorkload], WorkloadRow | None]:
    return lambda workload: row_of(workload, kind)


def _none() -> Markup:
    return nothing(
        "No controller runs workloads here. On a cluster its own do; a plane simulates them, without containers:",
        "homeostat up --workloads simulated",
    )


def _matches(each: Judged, query: ListQuery) -> bool:
    return query.state in ("", each.state) and query.q.strip().lower() in each.row.workload.metadata.name


def workload_table(judged: Sequence[Judged]) -> Markup:
    headings = ("Workload", "State", "Ready", "Up to date", "Why", "Since", "Created")
    return table("Workloads", headings, [_row(each) for each in judged], class_="workloads")


def _row(each: Judged) -> Row:
    where, progress = each.row.workload.metadata, each.row.progress
    return row(
        f"workload-{where.uid}",
        [el("a", where.name, href=each.path), el("span", f"{each.row.kind.kind} · {where.namespace}", class_="note")],
        chip(each.state, LOOKS[each.state]),
        f"{progress.ready:,} of {progress.wanted:,}",
        f"{progress.updated:,}",
        el("span", one_line(each.text), class_="why"),
        moment(each.since) if each.since else "–",
        moment(where.creation_timestamp),
    )
