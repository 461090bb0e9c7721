"""Where a login leads, which forms are ours, and what a cookie may hold."""

from __future__ import annotations

import pytest

from homeostat.edge.request import Headers, Peer, Request
from homeostat.web.dashboard.root import COOKIE
from homeostat.web.kit.sessions.cookie import is_own_page, with_token


def request(**headers: str) -> Request:
    given = Headers()
    for name, value in headers.items():
        given.add(name.replace("_", "-"), value)
    return Request("GET", "/dashboard", "", given, b"", Peer("127.0.0.1"), {})


@pytest.mark.parametrize(
    ("asked", "place"),
    [
        ("/dashboard/resources?q=a&page=2", "/dashboard/resources?q=a&page=2"),
        ("/dashboard", "/dashboard"),
        ("", "/dashboard"),
        ("https://evil.example/dashboard", "/dashboard"),
        ("//evil.example", "/dashboard"),
        ("/dashboard//evil.example", "/dashboard"),
        ("/dashboardevil", "/dashboard"),
        ("/dashboard/../api/v1/users", "/dashboard"),
        ("/dashboard/%2E./x", "/dashboard"),
        ("/dashboard/resources?q=1.5", "/dashboard/resources?q=1.5"),
        ("/dashboard/\\evil.example", "/dashboard"),
        ("/dashboard\r\nSet-Cookie: a=b", "/dashboard"),
    ],
)
def test_a_login_leads_to_pages_of_ours_only(asked: str, place: str) -> None:
    assert COOKIE.place_of(asked) == place


@pytest.mark.parametrize(
    ("headers", "is_ours"),
    [
        ({"host": "a:1"}, True),
        ({"host": "a:1", "origin": "http://a:1"}, True),
        ({"host": "a:1", "origin": "https://a:1"}, True),
        ({"host": "a:1", "origin": "http://a:2"}, False),
        ({"host": "a:1", "origin": "http://b"}, False),
        ({"host": "a:1", "origin": "null"}, False),
        ({"host": "a:1", "sec_fetch_site": "cross-site"}, False),
        ({"host": "a:1", "sec_fetch_site": "same-origin"}, True),
    ],
)
def test_forms_of_other_sites_are_not_ours(headers: dict[str, str], is_ours: bool) -> None:
    assert is_own_page(request(**headers)) is is_ours


@pytest.mark.parametrize(
    ("cookie", "value"),
    [
        (f"{COOKIE.name}=abc.def-_", "abc.def-_"),
        (f"other=1; {COOKIE.name}=abc; more=2", "abc"),
        (f"{COOKIE.name}=a b", ""),
        (f"{COOKIE.name}=", ""),
        (f"{COOKIE.name}={'a' * 5000}", ""),
        ("", ""),
    ],
)
def test_the_value_that_a_browser_keeps(cookie: str, value: str) -> None:
    assert COOKIE.value(request(cookie=cookie)) == value


def test_a_kept_token_is_used_as_callers_of_the_api_use_it() -> None:
    assert with_token(request(), "abc").headers["authorization"] == "Bearer abc"
    assert with_token(request(authorization="Bearer own"), "abc").headers["authorization"] == "Bearer own"
    replaced = with_token(request(authorization="Bearer own"), "abc", replaces=True)
    assert replaced.headers["authorization"] == "Bearer abc"


def test_a_cookie_is_for_the_dashboard_and_not_for_scripts() -> None:
    assert COOKIE.keeping(request(), "abc")[1] == f"{COOKIE.name}=abc; Path=/dashboard; HttpOnly; SameSite=Strict"
    assert COOKIE.keeping(request(), "")[1].endswith("Max-Age=0")


def test_a_proof_is_of_one_token_or_of_this_process() -> None:
    assert COOKIE.form_proof(b"one", "abc") == COOKIE.form_proof(b"two", "abc") != COOKIE.form_proof(b"two", "abd")
    assert COOKIE.form_proof(b"one", "") != COOKIE.form_proof(b"two", "")
