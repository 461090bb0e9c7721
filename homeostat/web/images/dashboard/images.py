"""`/dashboard/images`: which image each tracked workload runs, which is due, and what the last pass did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from homeostat.web.dashboard.html.command import command, nothing
from homeostat.web.dashboard.html.components import Row, chip, moment, one_line, path_text, row, table
from homeostat.web.dashboard.html.layout import Page
from homeostat.web.dashboard.html.markup import Markup, Node, el
from homeostat.web.dashboard.html.paging import ListQuery, cut, filter_form, pager, place, summary
from homeostat.web.dashboard.link import several_note
from homeostat.web.dashboard.root import ROOT
from homeostat.web.dashboard.visit import Visit
from homeostat.web.images.dashboard.update import NOT_APPLIED, ROLLING_OUT, STATES, Update, short_tag
from homeostat.web.images.dashboard.updates import TrackedUpdates
from homeostat.web.kit.form import read_query

HERE: Final = f"{ROOT}/images"
TITLE: Final = "Images"
LOOKS: Final = {
    "failed": "bad",
    "pinned": "plain",
    NOT_APPLIED: "warn",
    ROLLING_OUT: "phase-reconciling",
    "proposed": "phase-reconciling",
    "behind": "phase-reconciling",
    "pending": "phase-pending",
    "disabled": "plain",
    "up to date": "good",
}
_TILES: Final = {
    "failed": "bad",
    NOT_APPLIED: "warn",
    ROLLING_OUT: "busy",
    "proposed": "busy",
    "behind": "busy",
    "up to date": "good",
}


def image_path(update: Update) -> str:
    return f"{HERE}/{update.tracked.namespace}/{update.tracked.record}"


def state_chip(update: Update) -> Markup:
    # As on Home: a pin that keeps it from a newer tag needs attention, any other is as somebody wants it.
    return chip(update.state, "warn" if update.is_held_back else LOOKS[update.state])


class Images:
    def __init__(self, updates: TrackedUpdates) -> None:
        self._updates = updates

    async def show(self, visit: Visit) -> Page:
        query = read_query(visit.request, ListQuery)
        updates = await self._updates.all(visit)
        shown = cut([each for each in updates if _matches(each, query)], query.page)
        counts = Counter(each.state for each in updates)
        body: Node = nothing("No workloads match.") if updates else _none()
        if shown.items:
            body = [image_table(shown.items), pager(HERE, query.fields, shown)]
        namespaces = sorted({each.tracked.namespace for each in updates})
        content: list[Node] = [
            el("h1", TITLE),
            _tiles(counts, len(updates)) if updates else None,
            filter_form(HERE, query, states=STATES, namespaces=namespaces, word="workload, image or tag")
            if updates
            else None,
            summary(shown, "workload") if updates else None,
            body,
            el("p", "To check all of them now: ", command("homeostat image update"), class_="note")
            if updates
            else None,
            await several_note(visit, *dict.fromkeys(each.tracked.kind for each in shown.items)),
        ]
        return Page(TITLE, content, TITLE)


def _none() -> Markup:
    return nothing(
        "No workload is tracked. Give one the annotations that name its repositories, and this one last:",
        "homeostat annotate deployment NAME -n NAMESPACE gitops.operator.enabled=true",
        "homeostat image status",
    )


def _tiles(counts: Counter[str], total: int) -> Markup:
    tiles = [_tile("workload" if total == 1 else "workloads", total, HERE, "all")]
    tiles += [
        _tile(each, counts[each], place(HERE, {"state": each}), f"state-{_TILES.get(each, 'plain')}")
        for each in STATES
        if counts[each]
    ]
    return el("ul", tiles, class_="tiles", aria_label="Workloads by state")


def _tile(word: str, count: int, where: str, look: str) -> Markup:
    inside = (el("span", f"{count:,}", class_="number"), el("span", word, class_=f"word {look}"))
    return el("li", el("a", inside, href=where, class_="tile"), id=f"tile-{word.replace(' ', '-')}")


def image_table(updates: Sequence[Update]) -> Markup:
    headings = (
        "Workload",
        "State",
        "Image",
        "Newest",
        "In Git",
        "In the cluster",
        "Last change",
        "Message",
    )
    return table("Tracked workloads", headings, [_row(each) for each in updates], class_="images")


def _row(each: Update) -> Row:
    tracked, status = each.tracked, each.status
    last, result = status.history[0] if status.history else None, status.result
    return row(
        f"image-{tracked.uid}",
        [el("a", tracked.label, href=image_path(each)), el("span", tracked.namespace, class_="note")],
        state_chip(each),
        path_text(tracked.container),
        tag_text(status.wanted or ""),
        tag_text(status.tag or ""),
        tag_text(tracked.version),
        moment(last.time if last is not None else result.time if result is not None else None, "never"),
        el("span", one_line(each.brief), class_="why"),
    )


def tag_text(tag: str) -> Markup:
    """Commits are long; their first digits are shown."""
    if not tag:
        return el("span", "–", class_="quiet")
    return el("code", short_tag(tag), title=tag)


def _matches(each: Update, query: ListQuery) -> bool:
    tracked, word = each.tracked, query.q.strip().lower()
    texts = (tracked.label, tracked.container, tracked.version, each.status.tag or "", each.status.wanted or "")
    return (
        query.state in ("", each.state)
        and query.namespace in ("", tracked.namespace)
        and (not word or any(word in one.lower() for one in texts))
    )
