"""Lists in pages, with a `Link` header that leads to the next page. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Annotated, Protocol, TypeVar
from urllib.parse import parse_qsl, urlencode

import msgspec
from msgspec import Meta

from homeostat.edge.reply import Fields
from homeostat.edge.request import Request

AFTER = "after"


class PageQuery(msgspec.Struct, frozen=True, kw_only=True):
    """The query of a list that is ordered by number."""

    limit: Annotated[int, Meta(ge=1, le=1000)] = 100
    after: Annotated[int, Meta(ge=0, le=2**53)] = 0


class Numbered(Protocol):
    @property
    def number(self) -> int: ...


N = TypeVar("N", bound=Numbered)


def page_of(request: Request, query: PageQuery, found: Iterable[N]) -> tuple[list[N], Fields]:
    """The requested page, and the header that leads to the next one."""
    some = list(islice((each for each in found if each.number > query.after), query.limit + 1))
    page = some[: query.limit]
    return page, next_page(request, page[-1].number) if len(some) > len(page) else ()


def next_page(request: Request, after: int | str) -> Fields:
    """A `Link` header with the same query, continued after this object."""
    query = [(name, value) for name, value in parse_qsl(request.query) if name != AFTER]
    return (("Link", f'<{request.path}?{urlencode([*query, (AFTER, after)])}>; rel="next"'),)
