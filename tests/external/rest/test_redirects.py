"""Redirects are followed as often as allowed, and credentials stay with the host that they are for."""

from __future__ import annotations

import pytest
from aiohttp import web

from homeostat.external.rest.auth import HeaderAuth
from homeostat.external.rest.client import RestClient
from homeostat.external.rest.errors import AddressRefusedError, ResponseLostError, TooManyRedirectsError
from homeostat.external.rest.redirects import redirected
from homeostat.external.rest.request import Request, Response
from homeostat.external.secrets.credentials import BasicAuth, BearerToken
from tests.external.servers import serving

SECRETS = {"Authorization": "Bearer s3cret", "PRIVATE-TOKEN": "s3cret", "Cookie": "s3cret", "X-Api-Key": "s3cret"}
BASE = "https://a.example/x"


@pytest.mark.parametrize(
    ("location", "is_same"),
    [
        ("/y", True),
        ("y?z=1", True),
        ("https://a.example:443/y", True),
        ("https://A.EXAMPLE/y", True),
        ("https://a.example:8443/y", False),
        ("http://a.example/y", False),
        ("//b.example/y", False),
        ("https://sub.a.example/y", False),
        ("https://a.example@b.example/y", False),
    ],
)
def test_another_scheme_host_or_port_gets_no_credentials(location: str, is_same: bool) -> None:
    request = Request("GET", BASE, {**SECRETS, "Accept": "text/plain"}, auth=BearerToken("s3cret"), redirects=1)
    found = redirected(request, 302, {"location": location})
    assert found is not None
    assert ("s3cret" in str(dict(found.headers))) is is_same
    assert (found.auth is not None, found.is_anonymous, found.headers["Accept"]) == (is_same, not is_same, "text/plain")


def test_another_origin_gets_the_same_accept_encoding() -> None:
    """A digest is of the bytes as they were asked for: a blob that comes compressed would not match it."""
    request = Request("GET", BASE, {"Accept-Encoding": "identity"}, redirects=1)
    found = redirected(request, 307, {"location": "https://b.example/y"})
    assert found is not None
    assert found.headers["Accept-Encoding"] == "identity"


def test_credentials_in_a_location_are_not_taken() -> None:
    found = redirected(Request("GET", BASE), 302, {"location": "https://user:pw@b.example/y#part"})
    assert found is not None
    assert found.url == "https://b.example/y"


@pytest.mark.parametrize(
    ("method", "status", "expected"),
    [
        ("GET", 301, "GET"),
        ("HEAD", 303, "HEAD"),
        ("POST", 302, "GET"),
        ("POST", 303, "GET"),
        ("PUT", 303, "GET"),
        ("POST", 307, "POST"),
        ("DELETE", 308, "DELETE"),
    ],
)
def test_the_status_decides_about_the_method_and_the_body(method: str, status: int, expected: str) -> None:
    body = None if method in ("GET", "HEAD") else b"x"
    request = Request(method, BASE, {"Content-Type": "text/plain"}, body, idempotent=True)
    found = redirected(request, status, {"location": "/y"})
    assert found is not None
    assert (found.method, found.body) == (expected, body if expected == method else None)
    assert ("Content-Type" in found.headers) is (expected == method)


@pytest.mark.parametrize(
    ("status", "location"),
    [(200, "/y"), (304, "/y"), (302, ""), (302, "ftp://a.example/"), (302, "http://[::1"), (302, "https://a:99999/")],
)
def test_what_is_no_redirect_is_a_response(status: int, location: str) -> None:
    assert redirected(Request("GET", BASE), status, {"location": location}) is None


def test_a_body_does_not_go_to_another_host() -> None:
    assert redirected(Request("POST", BASE, body=b"x"), 307, {"location": "https://b.example/"}) is None


async def test_a_loop_ends() -> None:
    asked = 0

    async def round_and_round(_: web.Request) -> web.Response:
        nonlocal asked
        asked += 1
        return web.Response(status=302, headers={"Location": "/again"})

    async with RestClient() as client, serving(round_and_round) as url:
        with pytest.raises(TooManyRedirectsError, match="at most 3 redirects"):
            await client.send(Request("GET", url, redirects=3))
        assert asked == 4
        assert (await client.send(Request("GET", url))).status == 302


async def test_another_host_gets_nothing_that_was_for_the_first() -> None:
    seen: list[dict[str, str]] = []

    async def elsewhere(request: web.Request) -> web.Response:
        seen.append(dict(request.headers))
        return web.Response(body=b"found")

    async with RestClient() as client, serving(elsewhere) as other:

        async def here(request: web.Request) -> web.Response:
            assert request.headers["Authorization"].startswith("Basic ")
            if request.path == "/":
                return web.Response(status=302, headers={"Location": "/second"})
            return web.Response(status=302, headers={"Location": f"{other}/third"})

        async with serving(here) as url:
            auth = BasicAuth("user", "s3cret")
            response = await client.send(Request("GET", url, {"X-Api-Key": "s3cret"}, auth=auth, redirects=5))
    assert isinstance(response, Response)
    assert (response.body, len(seen)) == (b"found", 1)
    assert "s3cret" not in str(seen)
    assert "Authorization" not in seen[0]


async def test_a_redirect_to_a_metadata_service_is_not_followed() -> None:
    async def away(_: web.Request) -> web.Response:
        return web.Response(status=302, headers={"Location": "http://169.254.169.254/latest/meta-data"})

    async with RestClient() as client, serving(away) as url:
        with pytest.raises(ResponseLostError, match="metadata service") as error:
            await client.send(Request("GET", url, redirects=1, auth=HeaderAuth({"X-Token": "s3cret"})))
    assert isinstance(error.value.__cause__, AddressRefusedError)
