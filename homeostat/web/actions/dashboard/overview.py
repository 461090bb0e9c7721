"""The part of the overview about resources: how many by phase and by type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import urlencode

from homeostat.web.actions.dashboard.inputs import RUNS
from homeostat.web.actions.dashboard.phase_counts import PHASES, PhaseCounts
from homeostat.web.actions.dashboard.types import count_readable, type_title
from homeostat.web.actions.face import Face
from homeostat.web.actions.index.entry import TypeEntry
from homeostat.web.actions.type_facts import verdict_on
from homeostat.web.dashboard.html.components import Row, chip, heading, one_line, row, shares, table
from homeostat.web.dashboard.html.markup import Markup, Node, el
from homeostat.web.dashboard.root import ROOT
from homeostat.web.dashboard.visit import Visit


class ResourceOverview:
    def __init__(self, face: Face, counts: PhaseCounts) -> None:
        self._face, self._counts = face, counts

    async def show(self, visit: Visit) -> Node:
        found = await count_readable(visit, self._face, self._counts)
        if found is None or not (found.types or found.total.total()):
            return None
        return [_tiles(found.total), _types(found.types, found.by_type)]


def _tiles(total: Mapping[str, int]) -> Markup:
    everything = sum(total.values())
    tiles = [_tile("resource" if everything == 1 else "resources", everything, f"{ROOT}/resources", "all")]
    for phase in PHASES:
        where = f"{ROOT}/resources?{urlencode({'phase': phase})}"
        tiles.append(_tile(phase, total.get(phase, 0), where, f"phase-{phase}"))
    runs = el("a", "All runs", href=RUNS)
    shown = el("ul", tiles, class_="tiles", aria_label="Resources by phase")
    return el("section", heading("Resources", runs), shown)


def _tile(word: str, count: int, where: str, look: str) -> Markup:
    inside = (el("span", f"{count:,}", class_="number"), el("span", word, class_=f"word {look}"))
    return el("li", el("a", inside, href=where, class_="tile" if count else "tile none"), id=f"tile-{word}")


def _types(types: Sequence[TypeEntry], counts: Mapping[str, Mapping[str, int]]) -> Markup:
    rows = [_type_row(each, counts.get(each.metadata.uid, {})) for each in types]
    headings = ("Type", "Resources", "By phase", "Plugin", "State")
    return el("section", heading("Types"), table("Resource types", headings, rows, class_="types"))


def _type_row(resource_type: TypeEntry, counts: Mapping[str, int]) -> Row:
    title, spec = type_title(resource_type), resource_type.spec
    where = f"{ROOT}/resources?{urlencode({'type': title})}"
    name = [
        el("a", title, href=where),
        el("span", one_line(spec.description), class_="note") if spec.description else None,
    ]
    text = ", ".join(f"{counts[each]:,} {each}" for each in PHASES if counts.get(each))
    return row(
        f"type-{resource_type.metadata.uid}",
        name,
        el("span", f"{sum(counts.values()):,}", class_="count"),
        [shares(counts, PHASES, "phase"), el("span", text or "none yet", class_="note")],
        el("code", spec.action.plugin) if spec.action.plugin else el("span", "–", class_="quiet"),
        _state(resource_type),
    )


def _state(resource_type: TypeEntry) -> Markup:
    verdict = verdict_on(resource_type)
    if resource_type.is_terminating:
        return chip("deleting", "phase-deleting")
    if verdict is None:
        return chip("pending", "phase-pending")
    if verdict.status != "True":
        return chip(verdict.reason or "not ready", "bad", one_line(verdict.message))
    return chip("deprecated", "warn") if resource_type.spec.is_deprecated else chip("ready", "good")
