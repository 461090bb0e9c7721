"""`/dashboard/runs`: the runs of all resources, those under way first and then the newest, also of deleted resources.

Runs that have ended are history entries. One watch, which begins when somebody first opens the page, keeps the newest
of them in memory; a visitor sees those of the types that they may read. Runs under way are known from the index.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Annotated, Final, NamedTuple, Never

import msgspec
from msgspec import Meta

from homeostat.objects.errors import NotFoundError
from homeostat.operators.actions.api import RECONCILIATION
from homeostat.operators.actions.runs.run import Changes
from homeostat.operators.actions.runs.run import Run as CurrentRun
from homeostat.runtime.cache.decoding import Projection
from homeostat.runtime.watch.source import Source
from homeostat.runtime.watch.watcher import Watcher
from homeostat.web.actions.dashboard.history import changes_text
from homeostat.web.actions.dashboard.inputs import RUNS as HERE
from homeostat.web.actions.dashboard.inputs import resource_tabs
from homeostat.web.actions.dashboard.phase_counts import PhaseCounts
from homeostat.web.actions.dashboard.resource import MOST_ENTRIES, SHOWN_ENTRIES
from homeostat.web.actions.dashboard.types import type_title
from homeostat.web.actions.face import Face
from homeostat.web.actions.index.changes import IndexedResource
from homeostat.web.actions.index.entry import Labels
from homeostat.web.dashboard.html.command import command, nothing, shell
from homeostat.web.dashboard.html.components import Row, chip, last_line, many, moment, row, seconds, table
from homeostat.web.dashboard.html.layout import Page
from homeostat.web.dashboard.html.markup import Markup, Node, el
from homeostat.web.dashboard.html.paging import ListQuery, Shown, cut, field, pager, place, select
from homeostat.web.dashboard.html.runs import Run, run_chart
from homeostat.web.dashboard.link import may_read
from homeostat.web.dashboard.objects.kinds import object_path
from homeostat.web.dashboard.root import ROOT
from homeostat.web.dashboard.visit import Visit
from homeostat.web.kit.form import read_query
from homeostat.web.kit.newest import Newest
from homeostat.web.kit.readiness import wait_ready
from homeostat.web.kit.records.ids import number_in
from homeostat.web.kit.watched import stale_reason

TITLE: Final = "Runs"
MOST_KEPT: Final = 10_000
"""Runs in memory, about 1 KiB each."""
STATES: Final = ("running", "failed", "cancelled", "success")
_RESOURCES: Final = f"{ROOT}/resources"
_LOOKS: Final = {"success": "good", "failed": "bad", "cancelled": "phase-deleting", "running": "phase-reconciling"}
_BARS: Final = {"success": "good", "failed": "bad", "cancelled": "gone"}
_MOST_RUNNING: Final = 50
_MOST_KNOWN: Final = 16


class RunMetadata(msgspec.Struct, frozen=True, rename="camel", gc=False):
    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    labels: Labels = Labels()


class RunSpec(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """The fields of a history entry that the list shows: neither plan nor output."""

    resource_kind: str
    resource_version: str
    resource_name: str
    trigger: str
    is_success: bool
    phase: str
    finished: str
    duration_seconds: float = 0.0
    resource_uid: str = ""
    is_drift: bool = False
    error: str = ""
    changes: Changes = Changes()


class RecordedRun(msgspec.Struct, frozen=True, gc=False):
    metadata: RunMetadata
    spec: RunSpec

    @property
    def type(self) -> tuple[str, str]:
        return self.spec.resource_kind, self.spec.resource_version

    @property
    def state(self) -> str:
        return "success" if self.spec.is_success else "cancelled" if self.spec.phase == "cancelled" else "failed"

    @property
    def number(self) -> int:
        """Of the resource."""
        return number_in(self.metadata.labels.number)

    @property
    def count(self) -> int:
        """Which run of the resource it was."""
        return number_in(self.metadata.name.rpartition("-")[2])


class RunQuery(ListQuery, frozen=True):
    """`type` is a name and a version as in `Page/v1`; `state` one of `STATES`; `q` a part of the resource's name."""

    type: Annotated[str, Meta(max_length=300)] = ""

    @property
    def all_fields(self) -> dict[str, str]:
        return self.fields | ({"type": self.type} if self.type else {})


class _Wanted(NamedTuple):
    types: frozenset[tuple[str, str]]
    state: str
    word: str


class RunsPage:
    def __init__(self, face: Face, counts: PhaseCounts) -> None:
        self._face, self._counts = face, counts
        self._kept = Newest[RecordedRun](MOST_KEPT, order=_order)
        self._wanted = asyncio.Event()
        self._watcher: Watcher[RecordedRun] = Watcher(
            face.client, Source(RECONCILIATION.kind.path(face.namespace)), Projection(RecordedRun), writer=self._kept
        )
        self._found: dict[_Wanted, tuple[int, list[RecordedRun]]] = {}

    async def run(self) -> Never:
        await self._wanted.wait()
        await self._watcher.run()

    async def show(self, visit: Visit) -> Page:
        query = read_query(visit.request, RunQuery)
        await self._open()
        types = await self._types(visit)
        is_here = query.namespace in ("", self._face.namespace)
        chosen = frozenset(each for each in types if is_here and query.type in ("", "/".join(each)))
        wanted = _Wanted(chosen, query.state, query.q.strip().lower())
        running = await self._running(wanted) if query.state in ("", "running") else []
        ended = cut(await self._ended(wanted) if query.state != "running" else [], query.page)
        rows = [_running_row(*each) for each in (running[:_MOST_RUNNING] if ended.page == 1 else ())]
        paths = [self._path(each) for each in ended.items]
        has_objects = not all(paths) and await may_read(visit, RECONCILIATION.kind, self._face.namespace)
        rows += [
            _row(each, path or (_object_path(each) if has_objects else ""))
            for each, path in zip(ended.items, paths, strict=True)
        ]
        headings = ("Resource", "State", "Type", "Trigger", "Result", "Took", "When")
        content: list[Node] = [
            el("h1", "Resources"),
            await resource_tabs(visit, self._face.namespace, TITLE),
            _form(query, types),
            el("p", f"Out of date: {reason}", class_="trouble") if (reason := self._stale()) else None,
            el("p", _summary(len(running), ended), class_="summary", id="summary"),
            _chart(ended, paths) if ended.page == 1 else None,
            table("Runs", headings, rows, class_="runs") if rows else self._nothing(visit, query, is_here=is_here),
            pager(HERE, query.all_fields, ended),
            self._note(ended),
        ]
        return Page(TITLE, content, "Resources")

    async def _open(self) -> None:
        """Begins the watch; a server without the kind has no runs."""
        if not self._wanted.is_set():
            try:
                await self._face.client.fetch("GET", self._watcher.path, {"limit": 1})
            except NotFoundError:
                return
            self._wanted.set()
        await wait_ready(self._synced(), "the server has not listed the history of resources")

    def _stale(self) -> str:
        return stale_reason(self._watcher) if self._watcher.synced.is_set() else ""

    async def _synced(self) -> None:
        await self._watcher.synced.wait()

    async def _types(self, visit: Visit) -> list[tuple[str, str]]:
        """The types of runs that the visitor may read; of deleted types, too."""
        known = {(each.spec.name, each.spec.version) for each in self._face.index.types()}
        found = sorted(known | {each.type for each in self._kept})
        return [each for each in found if await visit.caller.may(*each, "READ")]

    async def _running(self, wanted: _Wanted) -> list[tuple[IndexedResource, str, CurrentRun]]:
        """With their types, the last one to begin first."""
        await self._counts.complete()
        candidates = self._face.walks.over(self._counts.in_progress())
        found = [one async for each in candidates if (one := self._current(each, wanted)) is not None]
        return sorted(found, key=lambda each: each[2].began, reverse=True)

    def _current(self, resource: IndexedResource, wanted: _Wanted) -> tuple[IndexedResource, str, CurrentRun] | None:
        found = self._face.index.type_of(resource)
        if found is None or (found.spec.name, found.spec.version) not in wanted.types:
            return None
        run = resource.entry.read_status().run if wanted.word in resource.entry.metadata.name else None
        return (resource, type_title(found), run) if run is not None and run.outcome is None else None

    async def _ended(self, wanted: _Wanted) -> list[RecordedRun]:
        """The result is cached until a run ends: browsers reload the page regularly."""
        changes, known = self._kept.changes, self._found.get(wanted)
        if known is None or known[0] != changes:
            candidates = self._face.walks.over(self._search(wanted))
            known = changes, [each async for each in candidates if each is not None]
            if len(self._found) >= _MOST_KNOWN:
                self._found.clear()
            self._found[wanted] = known
        return known[1]

    def _search(self, wanted: _Wanted) -> Iterator[RecordedRun | None]:
        """All runs, the newest first, with None for those that were not searched for."""
        for each in self._kept.first(len(self._kept)):
            is_found = each.type in wanted.types and wanted.word in each.spec.resource_name
            yield each if is_found and wanted.state in ("", each.state) else None

    def _path(self, run: RecordedRun) -> str:
        """The run on the page of its resource, which shows the newest ones first; empty if there is no such page."""
        index, spec = self._face.index, run.spec
        # The first run of a resource may have ended before the resource had a number.
        found = index.find(run.number) if run.number else index.find_named(*run.type, spec.resource_name)
        if found is not None and found.entry.metadata.uid != spec.resource_uid:
            found = None
        number = found.entry.number if found is not None else run.number
        newest = found.entry.read_status().reconciliations if found is not None else MOST_ENTRIES
        depth = min(newest - run.count + 1, MOST_ENTRIES)
        more = f"?history={depth}" if depth > SHOWN_ENTRIES else ""
        return f"{_RESOURCES}/{number}{more}#run-{run.metadata.name}" if number else ""

    def _nothing(self, visit: Visit, query: RunQuery, *, is_here: bool) -> Markup:
        own = self._face.namespace
        if not is_here:
            here = el("a", f"show those of {own}", href=place(HERE, {**query.all_fields, "namespace": own}))
            return nothing([f"This server has resources in the namespace {own} only: ", here, "."])
        if query.all_fields:
            return nothing("No runs match.")
        part = "" if visit.caller.is_admin else ", or none that you are allowed to see"
        return nothing(f"No resource was reconciled yet{part}. To declare one:", "homeostat resource apply -f FILE")

    def _note(self, shown: Shown[RecordedRun]) -> Markup:
        is_all = not self._kept.is_cut or shown.page < shown.pages
        older = (
            None if is_all else f"These are the newest {MOST_KEPT:,}; older runs are on the pages of their resources. "
        )
        same = shell("homeostat", "get", "reconciliations", "-n", self._face.namespace)
        return el("p", older, "The same on the command line: ", command(same), class_="note")


def _form(query: RunQuery, types: Sequence[tuple[str, str]]) -> Markup:
    word = el("input", type="search", id="q", name="q", value=query.q, maxlength=200, placeholder="resource")
    return el(
        "form",
        field("Search", "q", word),
        field("State", "state", select("state", "all states", STATES, query.state)),
        field("Type", "type", select("type", "all types", ["/".join(each) for each in types], query.type)),
        el("input", type="hidden", name="namespace", value=query.namespace) if query.namespace else None,
        el("button", "Filter", type="submit"),
        el("a", "Clear", href=HERE, class_="clear") if query.all_fields else None,
        method="get",
        action=HERE,
        class_="filter",
        role="search",
    )


def _summary(running: int, ended: Shown[RecordedRun]) -> str:
    pages = f", page {ended.page:,} of {ended.pages:,}" if ended.pages > 1 else ""
    return f"{running:,} running, {many(ended.total, 'run')} ended{pages}"


def _chart(ended: Shown[RecordedRun], paths: Sequence[str]) -> Node:
    """The newest runs of those that were searched for. A bar leads to its run."""
    return run_chart(
        [
            Run(
                each.spec.finished,
                each.spec.duration_seconds,
                _BARS[each.state],
                each.state,
                f"{each.spec.resource_name}, {each.spec.trigger.replace('_', ' ')}",
                path or HERE,
            )
            for each, path in zip(ended.items, paths, strict=True)
        ]
    )


def _object_path(run: RecordedRun) -> str:
    """The history entry: a resource that was deleted before anybody opened the dashboard has no page of its own."""
    return object_path(RECONCILIATION.kind, run.metadata.namespace, run.metadata.name)


def _row(run: RecordedRun, path: str) -> Row:
    spec, state = run.spec, run.state
    drift = [" ", chip("drift", "warn")] if spec.is_drift else None
    return row(
        run.metadata.name,
        el("a", spec.resource_name, href=path) if path else spec.resource_name,
        [chip(state, _LOOKS[state]), drift],
        "/".join(run.type),
        spec.trigger.replace("_", " "),
        el(
            "span",
            (last_line(spec.error) if spec.error else "") or changes_text(spec.changes),
            class_="why",
        ),
        seconds(spec.duration_seconds),
        moment(spec.finished),
    )


def _running_row(resource: IndexedResource, title: str, run: CurrentRun) -> Row:
    entry = resource.entry
    what = f"{run.purpose}, will change: {changes_text(run.changes)}" if run.purpose == "apply" else run.purpose
    return row(
        f"running-{entry.metadata.uid}",
        el("a", entry.metadata.name, href=f"{_RESOURCES}/{entry.number}#run"),
        [chip("running", _LOOKS["running"]), [" ", chip("drift", "warn")] if run.is_drift else None],
        title,
        run.trigger.replace("_", " "),
        el("span", what, class_="why"),
        "–",
        ["began ", moment(run.began)],
    )


def _order(run: RecordedRun) -> tuple[str, str]:
    return run.spec.finished, run.metadata.uid
