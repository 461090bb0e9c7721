"""`/dashboard/objects`: the kinds of the server by group, with the number of objects of each.

A number costs a request for one object: the server says how many remain. Numbers are kept for some seconds, so that a
page that reloads itself does not count again and again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Annotated, Final
from weakref import WeakKeyDictionary

import msgspec
from msgspec import Meta

from homeostat.client.base import Client, UnreachableError
from homeostat.edge.turn import map_concurrently
from homeostat.objects.errors import ApiError, ForbiddenError
from homeostat.objects.kind import Kind
from homeostat.web.dashboard.html.components import many
from homeostat.web.dashboard.html.layout import Page
from homeostat.web.dashboard.html.markup import Markup, Node, el
from homeostat.web.dashboard.html.paging import place
from homeostat.web.dashboard.namespaces import namespace_field
from homeostat.web.dashboard.objects.access import may_create_any
from homeostat.web.dashboard.objects.commands import command_lines
from homeostat.web.dashboard.objects.kinds import CORE, HERE, ServedKinds, kind_path
from homeostat.web.dashboard.objects.table import ACCEPT_METADATA, read_names
from homeostat.web.dashboard.visit import Visit
from homeostat.web.kit.form import read_query

TITLE: Final = "Objects"
_KEPT_S: Final = 5.0
_MOST_KEPT: Final = 16
_AT_ONCE: Final = 16
_COUNTED_WITHIN_S: Final = 3.0
_NOT_ALLOWED: Final = "not allowed"
Count = int | str
"""A number, or why there is none."""


class Wanted(msgspec.Struct, frozen=True):
    q: Annotated[str, Meta(max_length=200)] = ""
    namespace: Annotated[str, Meta(max_length=253)] = ""


class Index:
    def __init__(self, client: Client, kinds: ServedKinds) -> None:
        self._client, self._kinds = client, kinds
        self._counted: WeakKeyDictionary[Client, dict[str, tuple[float, dict[Kind, Count]]]] = WeakKeyDictionary()
        self._counting: WeakKeyDictionary[Client, asyncio.Lock] = WeakKeyDictionary()

    async def show(self, visit: Visit) -> Page:
        wanted = read_query(visit.request, Wanted)
        every = [each for each in await self._kinds.listed() if each.is_namespaced or not wanted.namespace]
        client = visit.client(self._client)
        # One visit counts for all of the same visitor that arrive meanwhile.
        async with self._counting.setdefault(client, asyncio.Lock()):
            counts = await self._counts(client, every, wanted.namespace)
        shown = [each for each in every if _matches(each, wanted.q.strip().lower())]
        total = sum(count for count in counts.values() if isinstance(count, int))
        hidden = [each for each in shown if counts.get(each) == _NOT_ALLOWED]
        allowed = [each for each in shown if counts.get(each) != _NOT_ALLOWED]
        create = await _create_link(client, wanted.namespace)
        content: list[Node] = [
            el(
                "div",
                el("h1", TITLE),
                el(
                    "div",
                    command_lines("homeostat api-resources"),
                    create,
                    class_="choices",
                ),
                class_="title",
            ),
            _form(wanted, await namespace_field(client, visit)),
            el("p", f"{many(len(allowed), 'kind')}; {many(total, 'object')} of all kinds", class_="summary")
            if allowed or not visit.reachable
            else None,
            _groups(allowed, counts, wanted.namespace) if allowed else _nothing(visit, hidden),
            _not_allowed(hidden, wanted.namespace) if allowed or wanted.namespace or not visit.reachable else None,
        ]
        return Page(TITLE, content, TITLE)

    async def _counts(self, client: Client, kinds: Sequence[Kind], namespace: str) -> Mapping[Kind, Count]:
        kept = self._counted.setdefault(client, {})
        until, known = kept.get(namespace, (0.0, {}))
        if time.monotonic() < until and known.keys() >= set(kinds):
            return known
        found: dict[Kind, Count] = dict.fromkeys(kinds, "no answer yet")

        async def ask(kind: Kind) -> None:
            found[kind] = await _count(client, kind, namespace)

        try:
            async with asyncio.timeout(_COUNTED_WITHIN_S):
                await map_concurrently(ask, kinds, at_once=_AT_ONCE)
        except TimeoutError:
            pass
        if len(kept) >= _MOST_KEPT:
            kept.clear()
        kept[namespace] = (time.monotonic() + _KEPT_S, found)
        return found


async def _count(client: Client, kind: Kind, namespace: str) -> Count:
    try:
        page = read_names(await client.fetch("GET", kind.path(namespace), {"limit": 1}, accept=ACCEPT_METADATA))
    except ForbiddenError:
        return _NOT_ALLOWED
    except (ApiError, UnreachableError, msgspec.DecodeError):
        return "unavailable"
    shown = len(page.items or ())
    if page.metadata.token and page.metadata.remaining is None:
        return "many"
    return shown + (page.metadata.remaining or 0)


def _matches(kind: Kind, word: str) -> bool:
    return not word or any(word in each for each in (*kind.words(), kind.group, *kind.categories))


def _form(wanted: Wanted, namespaces: Markup) -> Markup:
    entry = el("input", type="search", id="q", name="q", value=wanted.q, maxlength=200, placeholder="kind or group")
    field = el("div", el("label", "Search", for_="q"), entry, class_="field")
    button = el("button", "Filter", type="submit")
    clear = el("a", "Clear", href=HERE, class_="clear") if wanted.q or wanted.namespace else None
    return el("form", field, namespaces, button, clear, method="get", action=HERE, class_="filter", role="search")


def _groups(kinds: Iterable[Kind], counts: Mapping[Kind, Count], namespace: str) -> Markup:
    """Groups of custom kinds first: they are what somebody installed."""
    ordered = sorted(kinds, key=lambda each: (_is_built_in(each.group), each.group, each.plural))
    cards = [
        _card(group, list(each), counts, namespace) for group, each in groupby(ordered, key=lambda each: each.group)
    ]
    return el("div", cards, class_="groups")


async def _create_link(client: Client, namespace: str) -> Node:
    """For who may create some object there."""
    if not await may_create_any(client, namespace):
        return None
    return el("a", "Create object", href=place(f"{HERE}/create", {"namespace": namespace}), class_="button")


def _nothing(visit: Visit, hidden: Sequence[Kind]) -> Markup:
    if not hidden:
        return el("div", el("p", "No kind matches."), class_="empty")
    if visit.namespace:
        text = f"You are not allowed to list objects in the namespace {visit.namespace}."
        return el("div", el("p", text), class_="empty")
    if visit.reachable:
        links = [[", " if at else "", _in_namespace(each)] for at, each in enumerate(visit.reachable)]
        return el("div", el("p", "Choose a namespace: ", links, "."), class_="empty")
    text = "You are not allowed to list objects in all namespaces. Enter a namespace that you may see, above."
    return el("div", el("p", text), class_="empty")


def _in_namespace(namespace: str) -> Markup:
    return el("a", namespace, href=place(HERE, {"namespace": namespace}))


def _not_allowed(kinds: Sequence[Kind], namespace: str) -> Node:
    """The kinds that the visitor may not list; an object of them may still be readable by its name."""
    if not kinds:
        return None
    where = f"in {namespace}" if namespace else "in all namespaces"
    links = [[", " if at else "", _kind_link(each, namespace)] for at, each in enumerate(kinds)]
    title = el("summary", f"{many(len(kinds), 'kind')} that you are not allowed to list {where}")
    return el("details", title, el("p", links, class_="note"), class_="fold", id="not-allowed")


def _kind_link(kind: Kind, namespace: str) -> Markup:
    return el("a", kind.kind, href=kind_path(kind, namespace=namespace))


def _is_built_in(group: str) -> bool:
    return "." not in group or group.endswith(".k8s.io")


def _card(group: str, kinds: Sequence[Kind], counts: Mapping[Kind, Count], namespace: str) -> Markup:
    items = [_item(each, counts.get(each, "no answer yet"), namespace) for each in kinds]
    versions = ", ".join(dict.fromkeys(each.version for each in kinds))
    head = el("h2", group or CORE, " ", el("span", versions, class_="note"))
    return el("section", head, el("ul", items), class_="group", id=f"group-{group or CORE}")


def _item(kind: Kind, count: Count, namespace: str) -> Markup:
    number: Node = el("span", f"{count:,}" if isinstance(count, int) else count, class_="count" if count else "quiet")
    words = " ".join(kind.short_names)
    name = [
        _kind_link(kind, namespace),
        el("span", words, class_="note") if words else None,
    ]
    return el("li", el("span", name, class_="kind"), number, class_="" if count else "none", id=f"kind-{kind.title}")
