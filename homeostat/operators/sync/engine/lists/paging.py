"""Where the next page of a list is: by a link in its header or body, or by parameters that metadata names. Pure.

A link must lead to the same origin. A page that was there before, or one page too many, is an error: a part of a list
is not the list.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import parse_qsl, urljoin, urlsplit

from homeostat.objects.json import Json
from homeostat.operators.sync.engine.errors import ValidationError
from homeostat.operators.sync.engine.metadata.rules import Pagination
from homeostat.operators.sync.engine.payload import pointer
from homeostat.operators.sync.engine.payload.value import text_of

MOST_PAGES: Final = 10_000
_LINKS: Final = ("/next", "/links/next", "/_links/next", "/_links/next/href", "/nextLink")


@dataclass(frozen=True, slots=True)
class Page:
    """The address of one page: its URL without query, and its query."""

    url: str
    query: Mapping[str, str]

    @property
    def key(self) -> tuple[str, tuple[tuple[str, str], ...]]:
        return self.url, tuple(sorted(self.query.items()))


def first_page(page: Page, paging: Pagination | None) -> Page:
    if paging is None or not paging.size or not paging.size_parameter:
        return page
    return replace(page, query={**page.query, paging.size_parameter: str(paging.size)})


def next_page(page: Page, body: Json, count: int, link: str | None, paging: Pagination | None) -> Page | None:
    """`count` is the number of items on this page, `link` the header's `rel="next"`; None at the end."""
    if paging is not None:
        return _by_parameters(page, body, count, paging)
    target = link or _link_in(body)
    return _followed(page, target) if target else None


def _link_in(body: Json) -> str | None:
    if not isinstance(body, dict):
        return None
    for each in _LINKS:
        found = pointer.get(body, each)
        if isinstance(found, str) and (found.startswith(("/", "?")) or "://" in found):
            return found
    return None


def _followed(page: Page, target: str) -> Page:
    url = urljoin(page.url, target)
    here, there = urlsplit(page.url), urlsplit(url)
    if (here.scheme, here.netloc) != (there.scheme, there.netloc):
        raise ValidationError("the next page of the list is on another server; only the same origin is followed")
    return Page(there._replace(query="", fragment="").geturl(), dict(parse_qsl(there.query, keep_blank_values=True)))


def _by_parameters(page: Page, body: Json, count: int, paging: Pagination) -> Page | None:
    if paging.mode == "cursor":
        found = pointer.get(body, paging.cursor)
        cursor = text_of(found) if found is not pointer.MISSING else None
        return replace(page, query={**page.query, paging.parameter: cursor}) if cursor else None
    if not count or (paging.size and count < paging.size):
        return None
    start = 1 if paging.mode == "page" else 0
    given = page.query.get(paging.parameter, str(start))
    now = int(given) if given.isdecimal() else start
    following = now + (1 if paging.mode == "page" else count)
    return replace(page, query={**page.query, paging.parameter: str(following)})


def check_new(seen: set[object], page: Page) -> None:
    """`ValidationError` for a page that was there before, or for one too many."""
    if page.key in seen:
        raise ValidationError("the pages of the list form a loop: a page leads back to one that was read before")
    if len(seen) >= MOST_PAGES:
        raise ValidationError(f"the list has more than {MOST_PAGES} pages")
    seen.add(page.key)
