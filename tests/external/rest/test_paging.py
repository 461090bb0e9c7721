"""A list in pages is whole, or an error."""

from __future__ import annotations

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from homeostat.external.rest.client import RestClient
from homeostat.external.rest.errors import TooManyPagesError
from homeostat.external.rest.paging import by_link, pages, parse_links
from homeostat.external.rest.request import Request, Response
from homeostat.external.secrets.credentials import BearerToken
from tests.external.servers import serving


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("", {}),
        ('<https://a/?p=2>; rel="next"', {"next": "https://a/?p=2"}),
        ('<https://a/?p=2>; rel="next", <https://a/?p=9>; rel="last"', {"next": "https://a/?p=2", "last": "https://a/?p=9"}),
        ("</v2/_catalog?last=b&n=2>; rel=next", {"next": "/v2/_catalog?last=b&n=2"}),
        ('<a,b;c>; title="x, <y>; rel=\\"z\\""; rel="Next prev"', {"next": "a,b;c", "prev": "a,b;c"}),
        ("<a>;rel=next,<b>;rel=next", {"next": "a"}),
        ("<a>; crossorigin; rel=next", {"next": "a"}),
        ("<a>", {}),
        ("nonsense", {}),
        ("<a>; rel=next, nonsense", {"next": "a"}),
        ("<a>; rel=next; , <b>; rel=last", {}),
    ],
)  # fmt: skip
def test_links_are_read_by_their_relation(header: str, expected: dict[str, str]) -> None:
    assert parse_links(header) == expected


@given(st.text(st.sampled_from('<>;,="\\ relnxt*'), max_size=200))
def test_any_header_is_read_or_passed_over(header: str) -> None:
    parse_links(header)


def test_a_hostile_header_takes_no_longer_than_its_length() -> None:
    assert parse_links("<a>; x=" + " " * 16_000 + "!") == {}
    assert parse_links("<a>" + "; x" * 5_000 + ' ="') == {}


def test_the_next_page_of_another_host_gets_no_credentials() -> None:
    request = Request("GET", "https://a.example/list", {"X-Key": "s3cret"}, auth=BearerToken("s3cret"))
    same = by_link(request, Response(200, {"link": "</list?p=2>; rel=next"}, b""))
    other = by_link(request, Response(200, {"link": "<https://b.example/list>; rel=next"}, b""))
    assert same is not None
    assert other is not None
    assert (same.url, same.auth) == ("https://a.example/list?p=2", BearerToken("s3cret"))
    assert (other.url, other.auth, dict(other.headers)) == ("https://b.example/list", None, {})


async def numbered(request: web.Request) -> web.Response:
    at = int(request.query.get("p", "1"))
    headers = {"Link": f'</list?p={at + 1}>; rel="next"'} if at < 5 else {}
    return web.json_response({"item": at, "next": at + 1 if at < 5 else None}, headers=headers)


async def test_all_pages_come_in_order() -> None:
    async with RestClient() as client, serving(numbered) as url:
        found = [page.decode(dict[str, int | None])["item"] async for page in pages(client, Request("GET", url))]
    assert found == [1, 2, 3, 4, 5]


async def test_the_next_page_may_come_from_the_body() -> None:
    def by_number(request: Request, response: Response) -> Request | None:
        following = response.decode(dict[str, int | None])["next"]
        return None if following is None else Request("GET", f"{request.url.partition('?')[0]}?p={following}")

    async with RestClient() as client, serving(numbered) as url:
        found = [page async for page in pages(client, Request("GET", url), by_number)]
    assert len(found) == 5


async def test_more_pages_than_allowed_are_an_error_and_no_shorter_list() -> None:
    async with RestClient() as client, serving(numbered) as url:
        with pytest.raises(TooManyPagesError, match="at most 3 pages"):
            [page async for page in pages(client, Request("GET", url), most=3)]
        assert len([page async for page in pages(client, Request("GET", url), most=5)]) == 5


async def test_a_page_that_is_refused_ends_the_list_and_is_shown() -> None:
    async def refuse(request: web.Request) -> web.Response:
        return web.Response(status=403, headers={"Link": "</more>; rel=next"})

    async with RestClient() as client, serving(refuse) as url:
        assert [page.status async for page in pages(client, Request("GET", url))] == [403]
