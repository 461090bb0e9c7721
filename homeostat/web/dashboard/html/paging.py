"""Long lists in pages: a form that filters them, and links to the pages. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Final, Generic, NamedTuple, TypeVar
from urllib.parse import urlencode

import msgspec
from msgspec import Meta

from homeostat.web.dashboard.html.components import many
from homeostat.web.dashboard.html.markup import Markup, Node, el

PAGE: Final = 50
T = TypeVar("T")


class ListQuery(msgspec.Struct, frozen=True):
    """The query of a list: a word, a state, a namespace, and the page."""

    q: Annotated[str, Meta(max_length=200)] = ""
    state: Annotated[str, Meta(max_length=100)] = ""
    namespace: Annotated[str, Meta(max_length=253)] = ""
    page: Annotated[int, Meta(ge=1, le=10**6)] = 1

    @property
    def fields(self) -> dict[str, str]:
        """Without the page, and without empty fields."""
        given = {"q": self.q, "state": self.state, "namespace": self.namespace}
        return {name: value for name, value in given.items() if value}


class Shown(NamedTuple, Generic[T]):
    """One page of a list."""

    items: Sequence[T]
    total: int
    page: int
    pages: int


def cut(found: Sequence[T], page: int, size: int = PAGE) -> Shown[T]:
    """A page that does not exist is the last one."""
    pages = max(-(-len(found) // size), 1)
    at = min(page, pages)
    return Shown(found[(at - 1) * size : at * size], len(found), at, pages)


def place(here: str, fields: Mapping[str, str]) -> str:
    query = urlencode({name: value for name, value in fields.items() if value})
    return f"{here}?{query}" if query else here


def summary(shown: Shown[T], noun: str, plural: str = "") -> Markup:
    text = many(shown.total, noun, plural)
    return el(
        "p",
        text if shown.pages == 1 else f"{text}, page {shown.page:,} of {shown.pages:,}",
        class_="summary",
        id="summary",
    )


def pager(here: str, fields: Mapping[str, str], shown: Shown[T]) -> Node:
    """None for a list of one page."""
    at, pages = shown.page, shown.pages
    if pages == 1:
        return None

    def where(page: int) -> str:
        return place(here, {**fields, "page": str(page) if page > 1 else ""})

    near = sorted({1, pages, *(each for each in range(at - 2, at + 3) if 1 <= each <= pages)})
    items: list[Markup] = []
    for former, each in zip((0, *near), near, strict=False):
        if each > former + 1:
            items.append(el("li", "…", class_="gap", aria_hidden="true"))
        current = "page" if each == at else None
        items.append(el("li", el("a", f"{each:,}", href=where(each), aria_current=current, aria_label=f"Page {each}")))
    before = el("a", "Previous", href=where(at - 1), rel="prev") if at > 1 else None
    after = el("a", "Next", href=where(at + 1), rel="next") if at < pages else None
    return el("nav", before, el("ul", items), after, class_="pager", aria_label="Pages")


def filter_form(
    here: str, query: ListQuery, *, states: Sequence[str] = (), namespaces: Sequence[str] = (), word: str = "name"
) -> Markup:
    """A select is left out where there is nothing to choose."""
    entry = el("input", type="search", id="q", name="q", value=query.q, maxlength=200, placeholder=word)
    return el(
        "form",
        field("Search", "q", entry),
        field("State", "state", select("state", "all states", states, query.state)) if states else None,
        field("Namespace", "namespace", select("namespace", "all namespaces", namespaces, query.namespace))
        if len(namespaces) > 1 or query.namespace
        else None,
        el("button", "Filter", type="submit"),
        el("a", "Clear", href=here, class_="clear") if query.fields else None,
        method="get",
        action=here,
        class_="filter",
        role="search",
    )


def field(label: str, name: str, inside: Node) -> Markup:
    return el("div", el("label", label, for_=name), inside, class_="field")


def select(name: str, every: str, values: Sequence[str], chosen: str) -> Markup:
    """`every` is the choice of none."""
    known = list(dict.fromkeys([*values, *([chosen] if chosen else [])]))
    options = [el("option", each, value=each, selected=each == chosen) for each in known]
    return el("select", el("option", every, value=""), options, name=name, id=name)


def tabs(label: str, items: Sequence[tuple[str, str]], current: str) -> Markup:
    """Links to the pages of one section."""
    shown = [
        el("li", el("a", title, href=path, aria_current="page" if title == current else None)) for title, path in items
    ]
    return el("nav", el("ul", shown), class_="tabs", aria_label=label)
