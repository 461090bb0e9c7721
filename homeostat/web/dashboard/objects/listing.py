"""`/dashboard/objects/{group}/{plural}`: the objects of a kind in the server's own columns, in pages.

A page is one request with a limit: it costs the same with ten objects and with ten thousand. The search by name reads
a bounded number of objects, and says so where there are more. The server knows no order but its own, so a whole list is
sorted only up to `MOST_SORTED` objects; beyond that, the page is.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Annotated, Final, Literal, NamedTuple

import msgspec
from msgspec import Meta

from homeostat.client.base import Client
from homeostat.edge.turn import Turn
from homeostat.objects.errors import ApiError, ExpiredError, ForbiddenError
from homeostat.objects.json import Json
from homeostat.objects.kind import Kind
from homeostat.web.dashboard.html.components import chip, many, moment, one_line
from homeostat.web.dashboard.html.layout import Page
from homeostat.web.dashboard.html.markup import Markup, Node, el
from homeostat.web.dashboard.namespaces import namespace_field
from homeostat.web.dashboard.objects.bulk.operation import Operation
from homeostat.web.dashboard.objects.bulk.selection import box, head, selection_form
from homeostat.web.dashboard.objects.cell import cell, text_of_cell
from homeostat.web.dashboard.objects.commands import command_lines, on_list
from homeostat.web.dashboard.objects.forms.create import create_link
from homeostat.web.dashboard.objects.index import TITLE
from homeostat.web.dashboard.objects.kinds import HERE, ServedKinds, kind_path, object_path
from homeostat.web.dashboard.objects.table import (
    ACCEPT,
    Column,
    Row,
    Table,
    read_table,
    shown_columns,
    sorted_rows,
)
from homeostat.web.dashboard.visit import Visit
from homeostat.web.kit.form import read_query

LIMITS: Final = (50, 100, 200)
MOST_SORTED: Final = 2000
MOST_SEARCHED: Final = 5000
_SEARCHED_AT_ONCE: Final = 500
_LONG_CELL: Final = 40
_MOST_LIVE: Final = 1000
"""Objects that a page may read if it reloads itself."""
_is_name = re.compile(r"[a-z0-9]([a-z0-9.:_-]*[a-z0-9])?").fullmatch
Text = Annotated[str, Meta(max_length=1000)]
Offer = Callable[[Client, Kind, str], Awaitable[Sequence[Operation]]]


class Filter(msgspec.Struct, frozen=True, kw_only=True):
    """`after` is the server's token of the next page, `start` the first row of a sorted list."""

    q: Annotated[str, Meta(max_length=253)] = ""
    labels: Text = ""
    fields: Text = ""
    namespace: Annotated[str, Meta(max_length=253)] = ""
    sort: Annotated[str, Meta(max_length=100)] = ""
    limit: Literal[50, 100, 200] = 50
    after: Annotated[str, Meta(max_length=4000)] = ""
    start: Annotated[int, Meta(ge=0, le=MOST_SORTED)] = 0
    version: Annotated[str, Meta(max_length=63)] = ""

    @property
    def is_narrowed(self) -> bool:
        return bool(self.q or self.labels or self.fields or self.namespace)

    def query(self) -> dict[str, object]:
        return {"labelSelector": self.labels, "fieldSelector": self.fields}

    def at(self, kind: Kind, **changes: object) -> str:
        """The URL of the same list with changes, from its beginning."""
        changed = msgspec.structs.replace(self, **{"after": "", "start": 0, **changes})
        given = msgspec.structs.asdict(changed)
        return kind_path(kind, **{name: value for name, value in given.items() if value != _DEFAULTS[name]})


_DEFAULTS: Final = msgspec.structs.asdict(Filter())


class Found(NamedTuple):
    """The rows to show. `total` is None where the server does not say it; `next` is the path of the next page."""

    columns: Sequence[Column]
    rows: Sequence[Row]
    total: int | None = None
    next: str = ""
    note: str = ""
    read: int = 0
    """How many objects were read for it."""


class Listing:
    """`offered` finds the operations on selected objects of a kind in a namespace, or in all."""

    def __init__(self, client: Client, kinds: ServedKinds, offered: Offer) -> None:
        self._client, self._kinds, self._offered = client, kinds, offered
        self._turn: Turn | None = None

    async def show(self, visit: Visit) -> Page:
        # Shared by all visits: their answers may arrive in the same turn of the event loop.
        turn = self._turn = self._turn or Turn()
        wanted = read_query(visit.request, Filter)
        kind = await self._kinds.find(visit.captured["group"], visit.captured["plural"], wanted.version)
        client = visit.client(self._client)
        problem, found, forbidden = "", Found((), ()), list[Node]()
        try:
            found = await _found(client, kind, wanted, turn)
        except ExpiredError:
            problem = "This page of the list has expired on the server. Start again from its beginning."
        except ForbiddenError as error:
            problem, forbidden = error.message, _forbidden(kind, wanted.namespace)
        except ApiError as error:
            if error.code not in (400, 422):
                raise
            problem = error.message
        offered = await self._offered(client, kind, wanted.namespace) if found.rows else []
        create = await create_link(client, kind, wanted.namespace, wanted.version)
        await turn.pause()
        content: list[Node] = [
            el("p", el("a", TITLE, href=HERE), class_="crumbs"),
            _head(kind, wanted, await self._kinds.versions(kind), create),
            await _form(client, visit, kind, wanted),
            el("p", problem, class_="trouble", role="alert") if problem else _summary(wanted, found),
            forbidden,
            _rows(
                kind, wanted, found, await self._kinds.by_word() if _is_event(kind) else {}, is_selectable=bool(offered)
            )
            if found.rows
            else None
            if problem
            else _nothing(kind, wanted),
            _pager(kind, wanted, found),
            selection_form(visit.viewer.proof, kind, offered, wanted.version, wanted.namespace) if offered else None,
        ]
        # A later page is one of the list as it was when its first page was read.
        return Page(kind.kind, content, TITLE, is_live=not wanted.after and found.read <= _MOST_LIVE)


async def _found(client: Client, kind: Kind, wanted: Filter, turn: Turn) -> Found:
    if wanted.q.strip():
        return await _search(client, kind, wanted, turn)
    column, is_reversed = _order(wanted.sort)
    limit = MOST_SORTED if column and not wanted.after else wanted.limit
    table = await _read(client, kind, wanted, limit, wanted.after, turn)
    rows, columns = table.rows or [], table.column_definitions
    total = None if wanted.after else _total(table)
    if not column:
        following = wanted.at(kind, after=table.metadata.token) if table.metadata.token else ""
        return Found(columns, rows, total, following)
    if not wanted.after and not table.metadata.token:
        ordered = sorted_rows(rows, columns, column, is_reversed=is_reversed)
        end = wanted.start + wanted.limit
        following = wanted.at(kind, start=end) if end < len(ordered) else ""
        return Found(columns, ordered[wanted.start : end], len(ordered), following, read=len(ordered))
    if not wanted.after:
        table = await _read(client, kind, wanted, wanted.limit, "", turn)
    rows = sorted_rows(table.rows or [], columns, column, is_reversed=is_reversed)
    following = wanted.at(kind, after=table.metadata.token) if table.metadata.token else ""
    note = f"Only this page is sorted: the list has more than {MOST_SORTED:,} objects, or large ones."
    return Found(columns, rows, total, following, note, read=limit)


async def _search(client: Client, kind: Kind, wanted: Filter, turn: Turn) -> Found:
    """The object of exactly this name, and those whose names contain it."""
    word, rows, columns, seen = wanted.q.strip().lower(), list[Row](), list[Column](), 0
    if not wanted.after and not wanted.fields and _is_name(word):
        exact = msgspec.structs.replace(wanted, fields=f"metadata.name={word}")
        table = await _read(client, kind, exact, wanted.limit, "", turn)
        rows, columns = list(table.rows or ()), table.column_definitions
    known, token = {each.metadata.uid for each in rows}, wanted.after
    # A page of large objects has fewer of them, so it is the requests that are counted.
    for _ in range(MOST_SEARCHED // _SEARCHED_AT_ONCE):
        table = await _read(client, kind, wanted, _SEARCHED_AT_ONCE, token, turn)
        columns, token = table.column_definitions or columns, table.metadata.token
        seen += len(table.rows or ())
        rows += [
            each for each in table.rows or () if word in each.metadata.name.lower() and each.metadata.uid not in known
        ]
        if not token or len(rows) >= wanted.limit:
            break
    column, is_reversed = _order(wanted.sort)
    if column:
        rows = sorted_rows(rows, columns, column, is_reversed=is_reversed)
    note = f"Searched {many(seen, 'object')} so far; there are more." if token else ""
    following = wanted.at(kind, after=token) if token else ""
    return Found(columns, rows, None if token else len(rows), following, note, seen)


async def _read(client: Client, kind: Kind, wanted: Filter, limit: int, token: str, turn: Turn) -> Table:
    path = kind.path(wanted.namespace if kind.is_namespaced else "")
    query = {**wanted.query(), "limit": limit, "continue": token}
    read = await client.fetch("GET", path, query, accept=ACCEPT)
    await turn.pause()
    return read_table(read)


def _total(table: Table) -> int | None:
    if not table.metadata.token:
        return len(table.rows or ())
    return None if table.metadata.remaining is None else len(table.rows or ()) + table.metadata.remaining


def _order(sort: str) -> tuple[str, bool]:
    """A column, and whether it is reversed: `-Age`."""
    return sort.removeprefix("-"), sort.startswith("-")


def _head(kind: Kind, wanted: Filter, versions: Sequence[str], create: Node) -> Markup:
    more = [f"-l{wanted.labels}"] if wanted.labels else []
    more += [f"--field-selector={wanted.fields}"] if wanted.fields else []
    others = [el("a", each, href=wanted.at(kind, version=each)) for each in versions if each != kind.version]
    about = [kind.api_version, ", namespaced" if kind.is_namespaced else ", cluster-scoped"]
    also: Node = [", also ", *_joined(others)] if others else None
    title = el("div", el("h1", kind.kind), el("p", about, also, class_="message"))
    commands = command_lines(on_list(kind, wanted.namespace, *more))
    return el("div", title, el("div", commands, create, class_="choices"), class_="title")


def _joined(nodes: Sequence[Markup]) -> Sequence[Node]:
    return [part for each in nodes for part in (", ", each)][1:]


async def _form(client: Client, visit: Visit, kind: Kind, wanted: Filter) -> Markup:
    fields = [_entry("Name contains", "q", wanted.q)]
    if kind.is_namespaced:
        fields.append(await namespace_field(client, visit))
    fields += [
        _entry("Labels", "labels", wanted.labels, "app=web,tier!=test"),
        _entry("Fields", "fields", wanted.fields, "metadata.name=web"),
    ]
    options = [el("option", each, value=each, selected=each == wanted.limit) for each in LIMITS]
    fields.append(_labelled("Rows", "limit", el("select", options, id="limit", name="limit")))
    kept = [el("input", type="hidden", name=name, value=value) for name, value in _kept(wanted)]
    clear = (
        el("a", "Clear", href=kind_path(kind, version=wanted.version), class_="clear") if wanted.is_narrowed else None
    )
    button = el("button", "Filter", type="submit")
    return el(
        "form", fields, kept, button, clear, method="get", action=kind_path(kind), class_="filter dense", role="search"
    )


def _kept(wanted: Filter) -> list[tuple[str, str]]:
    return [(name, value) for name, value in (("sort", wanted.sort), ("version", wanted.version)) if value]


def _entry(label: str, name: str, value: str, placeholder: str = "") -> Markup:
    entry = el(
        "input",
        type="search",
        id=name,
        name=name,
        value=value,
        maxlength=253,
        placeholder=placeholder or None,
        spellcheck="false",
        autocomplete="off",
    )
    return _labelled(label, name, entry)


def _labelled(label: str, name: str, inside: Markup) -> Markup:
    return el("div", el("label", label, for_=name), inside, class_="field")


def _summary(wanted: Filter, found: Found) -> Markup:
    shown = len(found.rows)
    if found.total is None:
        text = f"{many(shown, 'object')} on this page"
    elif found.total > shown:
        text = f"{wanted.start + 1:,}–{wanted.start + shown:,} of {many(found.total, 'object')}"
    else:
        text = many(found.total, "object")
    return el("p", text, f". {found.note}" if found.note else None, class_="summary", id="summary")


def _rows(
    kind: Kind, wanted: Filter, found: Found, kinds: Mapping[str, Kind], *, is_selectable: bool = False
) -> Markup:
    """`kinds` by their names in lower case, for the objects that Events are about."""
    # Events have long messages, which leave no room for further columns.
    shown = shown_columns(found.columns, found.rows, has_wide=not _is_event(kind))
    headings = [_heading(kind, wanted, each.name, each.description, is_wide=each.is_wide) for _, each in shown]
    has_namespace = kind.is_namespaced and not wanted.namespace
    if has_namespace:
        headings.insert(1, _heading(kind, wanted, "Namespace", "The namespace of the object."))
    if is_selectable:
        headings.insert(0, head())
    rows = [
        _row(kind, each, shown, wanted, kinds, has_namespace=has_namespace, is_selectable=is_selectable)
        for each in found.rows
    ]
    titles, body = el("thead", el("tr", headings)), el("tbody", rows)
    whole = el("table", el("caption", kind.plural, class_="unseen"), titles, body, class_="objects")
    return el("div", whole, class_="scroll", role="region", aria_label=f"{kind.kind} objects", tabindex=0)


def _heading(kind: Kind, wanted: Filter, name: str, about: str, *, is_wide: bool = False) -> Markup:
    column, is_reversed = _order(wanted.sort)
    is_here = column == name
    sort = f"-{name}" if is_here and not is_reversed else name
    arrow = el("span", " ↓" if is_reversed else " ↑", aria_hidden="true") if is_here else None
    state = None if not is_here else "descending" if is_reversed else "ascending"
    link = el("a", name, arrow, href=wanted.at(kind, sort=sort), title=one_line(about) or None)
    return el("th", link, scope="col", aria_sort=state, class_="wide" if is_wide else None)


def _is_event(kind: Kind) -> bool:
    return kind.plural == "events" and kind.group in ("", "events.k8s.io")


def _subject(value: Json, namespace: str, kinds: Mapping[str, Kind]) -> Node:
    """`deployment/web` as a link, if the server has the kind."""
    text = text_of_cell(value)
    word, _, name = text.partition("/")
    found = kinds.get(word.lower())
    if found is None or not name:
        return text
    return el("a", text, href=object_path(found, namespace, name))


def _row(
    kind: Kind,
    row: Row,
    shown: Sequence[tuple[int, Column]],
    wanted: Filter,
    kinds: Mapping[str, Kind],
    *,
    has_namespace: bool,
    is_selectable: bool,
) -> Markup:
    meta = row.metadata
    path = object_path(kind, meta.namespace, meta.name, version=wanted.version)
    cells: list[Markup] = [box(meta.namespace, meta.name, meta.uid)] if is_selectable else []
    for place, (at, column) in enumerate(shown):
        value: Json = row.cells[at] if at < len(row.cells) else None
        if place == 0:
            link = el("a", text_of_cell(value) or meta.name, href=path)
            gone = [" ", chip("deleting", "phase-deleting")] if meta.deletion_timestamp else None
            cells.append(el("th", link, gone, scope="row"))
            if has_namespace:
                cells.append(el("td", meta.namespace, data_label="Namespace"))
        elif column.name == "Age" and meta.creation_timestamp:
            cells.append(el("td", moment(meta.creation_timestamp), data_label=column.name))
        elif column.name == "Object" and kinds:
            cells.append(el("td", _subject(value, meta.namespace, kinds), data_label=column.name, class_="subject"))
        else:
            text, style = text_of_cell(value), "wide" if column.is_wide else None
            style = "message" if column.name == "Message" else style
            # The end of a long text is cut off, and shown by a pointer.
            title = text if len(text) > _LONG_CELL else None
            cells.append(
                el("td", cell(column.name, text, kind.kind), data_label=column.name, class_=style, title=title)
            )
    return el("tr", cells, id=f"row-{meta.uid}")


def _nothing(kind: Kind, wanted: Filter) -> Markup:
    if wanted.is_narrowed:
        return el("div", el("p", f"No {kind.kind} matches."), class_="empty")
    if _is_event(kind):
        return el(
            "div", el("p", "There are no Events. Controllers report them; after an hour they are gone."), class_="empty"
        )
    return el(
        "div",
        el("p", f"There is no {kind.kind} yet. To create one, write its manifest and apply it:"),
        command_lines(f"homeostat explain {kind.plural}", "homeostat apply -f FILE"),
        class_="empty",
    )


def _forbidden(kind: Kind, namespace: str) -> list[Node]:
    """What somebody can do who may not list them here."""
    if kind.is_namespaced and not namespace:
        return [el("p", "If you are allowed to list them in one namespace, enter it above.")]
    return []


def _pager(kind: Kind, wanted: Filter, found: Found) -> Node:
    is_first = not wanted.after and not wanted.start
    if is_first and not found.next:
        return None
    first = None if is_first else el("a", "First page", href=wanted.at(kind))
    word = "Search further" if wanted.q else "Next"
    following = el("a", word, href=found.next, rel="next") if found.next else None
    return el("nav", first, following, class_="pager", aria_label="Pages")
