"""Lists in pages: by the `Link` header (RFC 8288), or by a function that finds the next page.

    async for page in pages(client, Request("GET", url), by_link):
        found += page.decode(list[Item])

The number of pages is bounded. More pages are an error, because a part of a list is not the list.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Protocol
from urllib.parse import urljoin

from homeostat.external.rest.errors import TooManyPagesError
from homeostat.external.rest.redirects import moved
from homeostat.external.rest.request import Request, Response, origin_of

# Possessive quantifiers and atomic groups throughout, so that the time is linear in the length of a hostile header.
_PARAMETER = r';\s*+([\w!#$&+.^`|~*-]++)\s*+(?>(?:=\s*+(?:"((?>(?:[^"\\]|\\.)*))"|([^\s",;]*+))\s*+)?)'
_parameter = re.compile(_PARAMETER)
_link = re.compile(rf"\s*+<([^<>]*+)>\s*+((?>(?:{_PARAMETER})*))(?:,|$)")
_LONGEST_HEADER = 16 << 10

NextPage = Callable[[Request, Response], Request | None]


class Sender(Protocol):
    async def send(self, request: Request) -> Response: ...


async def pages(
    client: Sender, request: Request, next_page: NextPage | None = None, *, most: int = 100
) -> AsyncIterator[Response]:
    """Each page as it arrives, and the first response that is not a success, for the caller to handle."""
    for _ in range(most):
        response = await client.send(request)
        yield response
        following = (next_page or by_link)(request, response) if response.is_success else None
        if following is None:
            return
        request = following
    problem = f"expected at most {most} pages, and there are more"
    raise TooManyPagesError(problem, host=request.host, advice="narrow the query")


def by_link(request: Request, response: Response) -> Request | None:
    target = parse_links(response.headers.get("link", "")).get("next")
    if target is None:
        return None
    url = urljoin(request.url, target)
    try:
        is_same = origin_of(url) == origin_of(request.url)
    except ValueError:
        return None
    return replace(request, url=url) if is_same else moved(request, url)


def parse_links(header: str) -> dict[str, str]:
    """Targets by relation, the first one for each. Unreadable parts are skipped."""
    links: dict[str, str] = {}
    at = 0
    while at < min(len(header), _LONGEST_HEADER) and (found := _link.match(header, at)) is not None:
        for name, quoted, bare in _parameter.findall(found[2]):
            if name.lower() == "rel":
                for relation in (quoted or bare).lower().split():
                    links.setdefault(relation, found[1])
        at = found.end()
    return links
