"""`/dashboard`: is everything as declared? What is wrong now, what changed last, what comes next.

Each section reports its own objects (`report.py`). A section that cannot read them in time says so and hides no other:
what is unknown is not called healthy.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple, TypeVar

import msgspec

from homeostat.client.base import Client, UnreachableError
from homeostat.objects.errors import ApiError, ForbiddenError
from homeostat.objects.time.timestamp import format_time
from homeostat.web.dashboard.home.report import Change, Problem, Report, Upcoming
from homeostat.web.dashboard.html.components import Row, chip, heading, many, moment, one_line, row, shares, table
from homeostat.web.dashboard.html.layout import Page
from homeostat.web.dashboard.html.markup import Markup, Node, el
from homeostat.web.dashboard.html.paging import place
from homeostat.web.dashboard.link import joined, may_read
from homeostat.web.dashboard.namespaces import namespace_field, part_note
from homeostat.web.dashboard.objects.kinds import HERE as OBJECTS
from homeostat.web.dashboard.objects.kinds import object_path
from homeostat.web.dashboard.root import ROOT
from homeostat.web.dashboard.section import Section
from homeostat.web.dashboard.visit import Visit
from homeostat.web.kit.refusal import RefusalError

TITLE: Final = "Home"
MOST_PROBLEMS: Final = 25
MOST_CHANGES: Final = 15
MOST_UPCOMING: Final = 12
_REPORTED_WITHIN_S: Final = 3.0
_SEVERITIES: Final = ("bad", "warn")
_WORDS: Final = {"bad": "not as declared", "warn": "unknown or in progress", "good": "as declared"}
T = TypeVar("T")
Changes = Callable[[Visit], Awaitable[list[Change]]]


class Reported(NamedTuple):
    """What a section said: a report, or why there is none."""

    section: Section
    report: Report | None
    trouble: str = ""


class Home:
    """`changes` are those of all operators, from Events. `client` is the one of this server."""

    def __init__(
        self, sections: Sequence[Section], changes: Changes | None = None, client: Client | None = None
    ) -> None:
        self._sections, self._changes, self._client = sections, changes, client

    async def show(self, visit: Visit) -> Page:
        scopes = [await each.scope(visit.caller, visit.reachable) for each in self._sections]
        seen = {
            section.title: msgspec.structs.replace(visit, scope=scope)
            for section, scope in zip(self._sections, scopes, strict=True)
            if scope is None or (scope if not visit.namespace else visit.namespace in scope)
        }
        shown = [each for each in self._sections if each.title in seen]
        # At once, so that a slow section does not let the others say different things above and below.
        reported, summaries = await asyncio.gather(
            asyncio.gather(*(_reported(each, seen[each.title]) for each in shown if each.report is not None)),
            asyncio.gather(*(_summary(each, seen[each.title]) for each in shown if each.summary is not None)),
        )
        known = [each for each in reported if each.report is not None or each.trouble]
        changes, trouble = await self._all_changes(visit, known)
        namespaces, _ = await _within_time(self._namespaces(visit))
        hidden = [each for each in self._sections if each.report is not None and each.title not in seen]
        places = frozenset[str]().union(*(each.scope or () for each in seen.values()))
        content: list[Node] = [
            el("div", _verdict(known, hidden, is_part=bool(places)), namespaces, class_="top"),
            part_note(places) if not visit.namespace else None,
            _hidden(hidden, visit, is_part=bool(places)),
            _numbers(known, visit.namespace) or _start(shown, hidden),
        ]
        beside = [_upcoming(known), _timeline(changes, trouble)]
        wrong = await _problems(visit, known)
        content.append(el("div", el("div", wrong), el("div", beside), el("div", *summaries), class_="halves"))
        return Page(TITLE, content, TITLE)

    async def _namespaces(self, visit: Visit) -> Node:
        """For who may see objects of the Kubernetes API."""
        if self._client is None or not (visit.caller.is_admin or visit.caller.is_cluster_user):
            return None
        chosen = await namespace_field(visit.client(self._client), visit, "all that you may read")
        clear = el("a", "Clear", href=ROOT, class_="clear") if visit.namespace else None
        button = el("button", "Filter", type="submit")
        return el("form", chosen, button, clear, method="get", action=ROOT, class_="filter", role="search")

    async def _all_changes(self, visit: Visit, reported: Sequence[Reported]) -> tuple[list[Change], str]:
        """The newest ones, and why some of them may be missing."""
        found = [change for each in reported if each.report is not None for change in each.report.changes]
        trouble = ""
        if self._changes is not None:
            more, trouble = await _within_time(self._changes(visit))
            found += more or []
        return sorted(found, key=lambda each: each.at, reverse=True)[:MOST_CHANGES], trouble


async def _within_time(part: Awaitable[T]) -> tuple[T | None, str]:
    """A part of Home, or why there is none: a part that fails or is slow hides no other."""
    try:
        async with asyncio.timeout(_REPORTED_WITHIN_S):
            return await part, ""
    except ForbiddenError as error:
        # With a cluster, this server may be allowed to read resources and nothing else.
        return None, f"this server is not allowed to read it: {error}"
    except TimeoutError:
        return None, f"no answer within {_REPORTED_WITHIN_S:g} s"
    except (ApiError, RefusalError, UnreachableError, msgspec.MsgspecError) as error:
        return None, str(error)


async def _reported(section: Section, visit: Visit) -> Reported:
    assert section.report is not None
    return Reported(section, *await _within_time(section.report(visit)))


async def _summary(section: Section, visit: Visit) -> Node:
    assert section.summary is not None
    summary, trouble = await _within_time(section.summary(visit))
    if not trouble:
        return summary
    return el("section", heading(section.title), el("p", f"Unknown: {one_line(trouble)}", class_="trouble"))


def _verdict(reported: Sequence[Reported], hidden: Sequence[Section], *, is_part: bool) -> Markup:
    """The answer to the first question, in one line. `is_part` says that the visitor does not see all namespaces."""
    reports = [each.report for each in reported if each.report is not None]
    total, good = sum(each.total for each in reports), sum(each.as_declared for each in reports)
    failed, paused = sum(each.failed for each in reports), sum(each.paused for each in reports)
    unsettled = max(total - good - failed - paused, 0)
    unread = [each.section.title for each in reported if each.trouble]
    if failed:
        look, text = (
            "bad",
            f"{many(failed, 'object')} of {total:,} {_are(failed)} not as declared{_rest(unsettled, paused)}",
        )
    elif unread:
        look, text = "warn", f"Unknown: cannot read {', '.join(unread).lower()}"
    elif unsettled:
        text = f"{many(unsettled, 'object')} of {total:,} {_are(unsettled)} unknown or in progress{_rest(0, paused)}"
        look = "warn"
    elif paused:
        is_late = any(each.problems for each in reports)
        look, text = "warn" if is_late else "plain", f"{good:,} of {total:,} objects are as declared{_rest(0, paused)}"
    elif total:
        which = "Everything that you may read" if is_part or hidden else "Everything"
        look, text = "good", f"{which} is as declared: {many(good, 'object')}"
    else:
        look, text = "plain", "You see nothing that is declared" if hidden or is_part else "Nothing is declared yet"
    return el("h1", text, class_=f"verdict {look}")


def _hidden(sections: Sequence[Section], visit: Visit, *, is_part: bool) -> Node:
    """What a visitor may not see must not look as if it did not exist. Each of the pages says what would allow it."""
    if not sections:
        return None
    where = f"in the namespace {visit.namespace}" if visit.namespace else "there" if is_part else "in all namespaces"
    text = f"Not shown, because you are not allowed to list their objects {where}: "
    here = {"namespace": visit.namespace}
    links = joined([el("a", each.title, href=place(each.path, here)) for each in sections])
    objects = el("a", "Objects", href=place(OBJECTS, here))
    has_objects = visit.caller.is_cluster_user and not (is_part or visit.namespace)
    more: Node = [" What you are allowed to see in one namespace is on the page ", objects, "."]
    return el("p", text, links, ".", more if has_objects else None, class_="note hidden-sections")


def _rest(unsettled: int, paused: int) -> str:
    """The objects that the tiles count as neither as declared nor failed."""
    counts = ((unsettled, "unknown or in progress"), (paused, "pinned or paused"))
    return "".join(f"; {count:,} {_are(count)} {word}" for count, word in counts if count)


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _numbers(reported: Sequence[Reported], namespace: str) -> Node:
    tiles = [
        _tile(each, namespace) for each in reported if each.trouble or (each.report is not None and each.report.total)
    ]
    return el("ul", tiles, class_="tiles", aria_label="Objects as declared, by section") if tiles else None


def _tile(reported: Reported, namespace: str) -> Markup:
    section, report = reported.section, reported.report
    if report is None:
        inside: Node = [
            el("span", "?", class_="number"),
            el("span", section.title, class_="word all"),
            el("span", one_line(reported.trouble), class_="note"),
        ]
        return _linked(section, inside, "warn", namespace)
    counts = {"good": report.as_declared, "bad": report.failed, "plain": report.paused}
    counts["warn"] = max(report.total - sum(counts.values()), 0)
    look = "bad" if report.failed else "warn" if counts["warn"] else "plain" if report.paused else "good"
    paused = el("span", f"{report.paused:,} {report.paused_word}", class_="note") if report.paused else None
    return _linked(
        section,
        [
            el("span", f"{report.as_declared:,}", el("small", f" of {report.total:,}"), class_="number"),
            el("span", f"{section.title} as declared", class_="word all"),
            shares(counts, ("bad", "warn", "plain", "good"), "look", {**_WORDS, "plain": report.paused_word}),
            paused,
        ],
        look,
        namespace,
    )


def _linked(section: Section, inside: Node, look: str, namespace: str) -> Markup:
    path = place(section.path, {"namespace": namespace})
    return el("li", el("a", inside, href=path, class_=f"tile {look}"), id=f"home-{_key(section.title)}")


def _key(title: str) -> str:
    return title.lower().replace(" ", "-")


def _start(sections: Sequence[Section], hidden: Sequence[Section]) -> Node:
    """What there is to declare: each section says how. None for who does not see all that may be declared."""
    tiles = [
        _linked(each, [el("span", each.title, class_="start"), el("span", each.purpose, class_="note")], "", "")
        for each in sections
        if each.purpose and not hidden
    ]
    if not tiles:
        return None
    text = el("p", "Declare something, and this page says whether it is so. Where to begin:", class_="summary")
    return [text, el("ul", tiles, class_="tiles begin", aria_label="Where to begin")]


async def _problems(visit: Visit, reported: Sequence[Reported]) -> Node:
    found = [
        (problem, each.section) for each in reported if each.report is not None for problem in each.report.problems
    ]
    count = sum(each.report.failed for each in reported if each.report is not None)
    if not found:
        if not reported:
            return None
        text = "Nothing that is known." if any(each.trouble for each in reported) else "Nothing is wrong."
        return el("section", heading("Wrong now"), el("div", el("p", text), class_="empty"))
    found.sort(key=lambda each: _how_bad(each[0]))
    groups: dict[tuple[str, str], list[tuple[Problem, Section]]] = {}
    for problem, section in found:
        # Many objects often fail for one reason, which should be read once.
        groups.setdefault((section.title, _reason(problem)), []).append((problem, section))
    shown = list(groups.values())[:MOST_PROBLEMS]
    rows = [
        _problem(at, *each[0], alike=len(each) - 1, own=await _object(visit, each[0][0]))
        for at, each in enumerate(shown)
    ]
    rest = max(count, len(found)) - sum(map(len, shown))
    note = el("p", f"and {rest:,} more, on the pages of the sections", class_="summary") if rest > 0 else None
    body = table("Wrong now", ("Object", "State", "Why", "Since"), rows, class_="problems")
    return el("section", heading("Wrong now"), body, note)


def _reason(problem: Problem) -> str:
    """The text without the object's own name: objects that fail alike often name themselves in it."""
    own = re.escape(problem.name.rpartition("/")[2])
    return re.sub(rf"(?<![\w.-]){own}(?![\w-])", "…", problem.text) or problem.name


def _how_bad(problem: Problem) -> tuple[int, str]:
    """The worst first, and of these the oldest; an unknown age comes last."""
    return _SEVERITIES.index(problem.severity), problem.since or "~"


async def _object(visit: Visit, problem: Problem) -> Node:
    """None for who may not read the object; the page of the section says more."""
    if problem.object is None or not await may_read(visit, *problem.object):
        return None
    kind, namespace, name = problem.object
    return [" · ", el("a", kind.kind, href=object_path(kind, namespace, name), title=f"{kind.kind} {name}")]


def _problem(at: int, problem: Problem, section: Section, *, alike: int, own: Node) -> Row:
    word = problem.word or ("failed" if problem.severity == "bad" else "warning")
    more = [el("a", f"and {alike} more for this reason", href=section.path), " · "] if alike else None
    return row(
        f"problem-{_key(section.title)}-{problem.name}-{at}",
        [el("a", problem.name, href=problem.path), el("span", more, section.title, own, class_="note")],
        chip(word, problem.severity),
        el("span", one_line(problem.text), class_="why"),
        moment(problem.since, "unknown"),
    )


def _timeline(changes: Sequence[Change], trouble: str) -> Node:
    if not changes and not trouble:
        return None
    note = el("p", f"Events are missing: {one_line(trouble)}", class_="trouble") if trouble else None
    items = [
        _moment_item(
            each.look,
            el("a", each.name, href=each.path) if each.path else el("strong", each.name),
            el("span", " failed" if each.look == "bad" else "", class_="unseen"),
            " ",
            moment(each.at),
            el("span", one_line(each.text), class_="why"),
        )
        for each in changes
    ]
    return el("section", heading("Last changes"), note, el("ol", items, class_="timeline") if items else None)


def _upcoming(reported: Sequence[Reported]) -> Node:
    found: list[Upcoming] = [
        upcoming for each in reported if each.report is not None for upcoming in each.report.upcoming
    ]
    if not found:
        return None
    # Without a time it is frozen until somebody acts: that must be seen first, and leaves room for what is due.
    frozen = [each for each in found if not each.at]
    due = sorted((each for each in found if each.at), key=lambda each: each.at)
    now = format_time(datetime.now(UTC))
    shown = frozen[: max(MOST_UPCOMING - len(due), MOST_UPCOMING // 2)]
    shown += due[: MOST_UPCOMING - len(shown)]
    items = [
        _moment_item(
            each.look,
            el("a", each.name, href=each.path),
            f" {one_line(each.text)}{', due ' if each.at and each.at < now else ' '}",
            moment(each.at, each.otherwise) if each.at or each.otherwise else None,
        )
        for each in shown
    ]
    rest = len(found) - len(items)
    more = el("p", f"and {rest:,} more", class_="summary") if rest > 0 else None
    return el("section", heading("Next"), el("ol", items, class_="timeline next"), more)


def _moment_item(look: str, *content: Node) -> Node:
    return el("li", el("span", class_=f"dot {look}", aria_hidden="true"), el("div", *content))
