"""`/dashboard/resources`: resources filtered by type, phase and name, in pages, the newest first."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from homeostat.objects.kind import Kind
from homeostat.operators.actions.api import RESOURCE_TYPE
from homeostat.operators.actions.conditions import current_message
from homeostat.web.actions.dashboard.inputs import resource_tabs
from homeostat.web.actions.dashboard.phase_counts import PHASES, PhaseCounts
from homeostat.web.actions.dashboard.types import readable_types, type_title
from homeostat.web.actions.face import Face
from homeostat.web.actions.index.changes import IndexedResource
from homeostat.web.actions.index.entry import TypeEntry
from homeostat.web.actions.type_facts import kind_of
from homeostat.web.dashboard.html.command import nothing
from homeostat.web.dashboard.html.components import Row, chip, many, moment, one_line, phase_chip, row, table
from homeostat.web.dashboard.html.layout import Page
from homeostat.web.dashboard.html.markup import Markup, Node, el
from homeostat.web.dashboard.html.paging import Shown, field, pager, place, select
from homeostat.web.dashboard.link import create_links, several_note
from homeostat.web.dashboard.root import ROOT
from homeostat.web.dashboard.visit import Visit
from homeostat.web.kit.form import read_query

PAGE: Final = 50
_MOST_KNOWN: Final = 16
_MOST_OFFERED: Final = 6
HERE: Final = f"{ROOT}/resources"


class Filter(msgspec.Struct, frozen=True):
    """`type` is a name, or a name and a version as in `Page/v1`."""

    type: str = ""
    phase: str = ""
    q: Annotated[str, Meta(max_length=200)] = ""
    namespace: Annotated[str, Meta(max_length=253)] = ""
    page: Annotated[int, Meta(ge=1, le=10**6)] = 1

    def at(self, page: int) -> str:
        """The URL of a page of the same list."""
        return place(HERE, {**self.fields, "page": str(page) if page > 1 else ""})

    @property
    def fields(self) -> dict[str, str]:
        return {"type": self.type, "phase": self.phase, "q": self.q, "namespace": self.namespace}


class Listing:
    def __init__(self, face: Face, counts: PhaseCounts) -> None:
        self._face, self._counts = face, counts
        self._found: dict[tuple[frozenset[str], str, str], tuple[int, list[IndexedResource]]] = {}

    async def show(self, visit: Visit) -> Page:
        wanted = read_query(visit.request, Filter)
        types = await readable_types(self._face, visit.caller)
        await self._counts.complete()
        is_elsewhere = wanted.namespace not in ("", self._face.namespace)
        found = [] if is_elsewhere else await self._chosen(wanted, types)
        pages = max(-(-len(found) // PAGE), 1)
        at = min(wanted.page, pages)
        shown = found[(at - 1) * PAGE : at * PAGE]
        is_empty = not shown and wanted.at(1) == HERE
        body = self._table(shown, types) if shown else self._elsewhere(wanted) if is_elsewhere else None
        content: list[Node] = [
            el("h1", "Resources"),
            await resource_tabs(visit, self._face.namespace, "Resources"),
            None if is_empty else _form(wanted, types),
            None if is_empty else el("p", _summary(len(found), at, pages), class_="summary", id="summary"),
            body or await _nothing(visit, wanted, [kind_of(each) for each in types]),
            pager(HERE, wanted.fields, Shown(shown, len(found), at, pages)),
            await several_note(visit, *list(dict.fromkeys(each.kind for each in shown))[:_MOST_OFFERED]),
        ]
        return Page("Resources", content, "Resources")

    def _elsewhere(self, wanted: Filter) -> Markup:
        own = self._face.namespace
        here = el("a", f"show those of {own}", href=msgspec.structs.replace(wanted, namespace=own).at(1))
        return nothing([f"This server has resources in the namespace {own} only: ", here, "."])

    async def _chosen(self, wanted: Filter, types: Sequence[TypeEntry]) -> list[IndexedResource]:
        """The result is cached until a resource changes: browsers reload the page regularly."""
        selected = frozenset(
            each.metadata.uid for each in types if wanted.type in ("", each.spec.name, type_title(each))
        )
        key, changes = (selected, wanted.phase, wanted.q.strip().lower()), self._counts.changes
        known = self._found.get(key)
        if known is None or known[0] != changes:
            candidates = self._face.walks.over(self._search(*key))
            known = (changes, [each async for each in candidates if each is not None])
            if len(self._found) >= _MOST_KNOWN:
                self._found.clear()
            self._found[key] = known
        return known[1]

    def _search(self, selected: Collection[str], phase: str, word: str) -> Iterator[IndexedResource | None]:
        """All resources, with None for those that were not searched for."""
        index, counts = self._face.index, self._counts
        # All of one kind and version are of one type.
        is_selected: dict[tuple[str, str], bool] = {}
        for resource in index.newest():
            entry = resource.entry
            group = resource.kind.kind, entry.metadata.labels.version
            if group not in is_selected:
                found = index.type_of(resource)
                is_selected[group] = found is not None and found.metadata.uid in selected
            has_word = not word or word in entry.metadata.name or word == entry.metadata.labels.number
            is_found = is_selected[group] and has_word and (not phase or counts.phase(resource) == phase)
            yield resource if is_found else None

    def _table(self, shown: Sequence[IndexedResource], types: Sequence[TypeEntry]) -> Markup:
        titles = {each.metadata.uid: type_title(each) for each in types}
        headings = ("Resource", "Type", "Phase", "Message", "Last run", "Next run")
        return table("Resources", headings, [self._row(each, titles) for each in shown], class_="resources")

    def _row(self, resource: IndexedResource, titles: dict[str, str]) -> Row:
        entry, status = resource.entry, resource.entry.read_status()
        resource_type = self._face.index.type_of(resource)
        return row(
            str(entry.number),
            el("a", entry.metadata.name, href=f"{HERE}/{entry.number}"),
            titles.get(resource_type.metadata.uid, "") if resource_type is not None else "",
            [phase_chip(self._counts.phase(resource)), [" ", chip("paused", "warn")] if entry.is_paused else None],
            el("span", one_line(current_message(status)), class_="why"),
            moment(status.last_run, "never"),
            "running" if status.run is not None else moment(status.next_run),
        )


def _form(wanted: Filter, types: Sequence[TypeEntry]) -> Markup:
    word = el("input", type="search", id="q", name="q", value=wanted.q, maxlength=200, placeholder="name or number")
    titles = list(dict.fromkeys([*map(type_title, types), *([wanted.type] if wanted.type else [])]))
    return el(
        "form",
        field("Search", "q", word),
        field("Type", "type", select("type", "all types", titles, wanted.type)),
        field("Phase", "phase", select("phase", "all phases", PHASES, wanted.phase)),
        el("input", type="hidden", name="namespace", value=wanted.namespace) if wanted.namespace else None,
        el("button", "Filter", type="submit"),
        el("a", "Clear", href=HERE, class_="clear") if wanted.at(1) != HERE else None,
        method="get",
        action=HERE,
        class_="filter",
        role="search",
    )


def _summary(count: int, at: int, pages: int) -> str:
    return many(count, "resource") if pages == 1 else f"{many(count, 'resource')}, page {at:,} of {pages:,}"


async def _nothing(visit: Visit, wanted: Filter, kinds: Sequence[Kind]) -> Markup:
    if wanted.at(1) != HERE:
        return nothing("No resources match.")
    if not kinds:
        text = "No resource types are declared yet, or none that you are allowed to see. A resource needs one first:"
        return nothing(text, "homeostat type add -f FILE", links=await create_links(visit, RESOURCE_TYPE.kind))
    text = "No resources are declared yet, or none that you are allowed to see. To declare one:"
    links = await create_links(visit, *kinds[:_MOST_OFFERED])
    return nothing(text, "homeostat type list", "homeostat resource apply -f FILE", links=links)
