"""Access to the dashboard: a login for a cookie, and the permissions of the REST API."""

from __future__ import annotations

import shlex
from functools import partial

import msgspec
from click.testing import CliRunner

from homeostat.cli.plane.token import command as token_command
from homeostat.plane import Plane
from homeostat.testing.eventually import eventually
from tests.web.dashboard.conftest import NOTE_TYPE
from tests.web.dashboard.site import Page, Site, note

PASSWORD = "correct horse"


async def sign_in(site: Site, username: str = "admin", password: str = PASSWORD) -> str:
    """The cookie."""
    page = await site.send("/login", {"username": username, "password": password, "next": "/dashboard/resources"})
    assert (page.status, page.headers["Location"]) == (303, "/dashboard/resources"), page
    return page.headers["Set-Cookie"].partition(";")[0]


async def test_a_visitor_without_credentials_is_redirected_to_the_login_and_back(guarded: Site) -> None:
    page = await guarded.open("/resources?phase=failed")
    assert page.status == 303
    assert page.headers["Location"] == "/dashboard/login?next=%2Fdashboard%2Fresources%3Fphase%3Dfailed"
    login = await guarded.open("/login?next=%2Fdashboard%2Fresources%3Fphase%3Dfailed")
    assert login.document.one("input", name="next").attributes["value"] == "/dashboard/resources?phase=failed"
    assert login.document.all("nav") == []


async def test_a_password_is_given_for_a_cookie(guarded: Site) -> None:
    page = await guarded.send("/login", {"username": "admin", "password": PASSWORD})
    assert page.status == 303
    assert page.headers["Set-Cookie"].endswith("; Path=/dashboard; HttpOnly; SameSite=Strict")
    shown = await guarded.open(Cookie=page.headers["Set-Cookie"].partition(";")[0])
    assert shown.status == 200
    assert "admin" in shown.document.one("header").text


async def test_a_token_is_given_for_a_cookie(guarded: Site) -> None:
    token = (await guarded.bearer("admin", PASSWORD)).removeprefix("Bearer ")
    page = await guarded.send("/login", {"username": "", "password": "", "token": f" {token}\n"})
    assert page.status == 303
    # The form counts, and not what the browser sends beside it.
    assert (await guarded.send("/login", {"token": token}, Authorization="Bearer nobodys")).status == 303
    other = await guarded.send("/login", {"token": "nobodys"}, Authorization=f"Bearer {token}")
    assert (other.status, "Set-Cookie" in other.headers) == (401, False)


async def test_a_login_ends_the_session_before_it(guarded: Site) -> None:
    earlier = await sign_in(guarded)
    form = {"username": "admin", "password": PASSWORD}
    assert (await guarded.send("/login", {**form, "password": "wrong"}, Cookie=earlier)).status == 401
    assert (await guarded.open(Cookie=earlier)).status == 200
    page = await guarded.send("/login", form, Cookie=earlier)
    assert (await guarded.open(Cookie=page.headers["Set-Cookie"].partition(";")[0])).status == 200
    assert (await guarded.open(Cookie=earlier)).status == 303


async def test_a_large_form_is_refused_unread(guarded: Site) -> None:
    assert (await guarded.send("/login", {"token": "é" * 20_000})).status == 413


async def test_whoever_is_unknown_stays_at_the_login(guarded: Site) -> None:
    for form in (
        {"username": "admin", "password": "wrong"},
        {"username": "<script>", "password": "x"},
        {"token": "nobody's"},
        {"token": "nobodys"},
        {},
    ):
        page = await guarded.send("/login", form)
        assert (page.status, "Set-Cookie" in page.headers) == (401, False), form
        assert page.document.one("p", role="alert").text, form


async def test_another_site_cannot_sign_somebody_in(guarded: Site) -> None:
    form = {"username": "admin", "password": PASSWORD}
    assert (await guarded.send("/login", form, Origin="https://evil.example")).status == 403


async def test_signing_out_ends_the_session_of_a_copied_cookie(guarded: Site) -> None:
    other = await sign_in(guarded)
    cookie = await sign_in(guarded)
    proof = (await guarded.open(Cookie=cookie)).document.one("input", name="proof").attributes["value"]
    assert (await guarded.send("/logout", {"proof": ""}, Cookie=cookie)).status == 403
    page = await guarded.send("/logout", {"proof": proof}, Cookie=cookie)
    assert (page.status, "Max-Age=0" in page.headers["Set-Cookie"]) == (303, True)
    copied = await guarded.open(Cookie=cookie)
    assert (copied.status, copied.headers["Location"]) == (303, "/dashboard/login?next=%2Fdashboard&ended=session")
    assert "Your session has ended." in (await guarded.open("/login?next=%2Fdashboard&ended=session")).text
    form = f"{guarded.url}/dashboard/resources?q=a"
    sent = await guarded.send("/resources/1/reconcile", {"proof": proof}, Cookie=cookie, Referer=form)
    assert (sent.status, sent.headers["Location"]) == (
        303,
        "/dashboard/login?next=%2Fdashboard%2Fresources%3Fq%3Da&ended=form",
    )
    assert "nothing was changed" in (await guarded.open("/login?ended=form")).text
    sent = await guarded.send("/resources/1/reconcile", {}, Cookie=cookie, Referer="https://evil.example/x")
    assert sent.headers["Location"] == "/dashboard/login?next=%2Fdashboard&ended=form"
    assert (await guarded.open("/find?q=a", Cookie=cookie)).status == 401
    assert (await guarded.open(Cookie=other)).status == 200


async def test_a_session_that_cannot_be_ended_is_over_in_the_browser_at_least(guarded: Site, plane: Plane) -> None:
    cookie = await sign_in(guarded)
    proof = (await guarded.open(Cookie=cookie)).document.one("input", name="proof").attributes["value"]
    await plane.private.create("dashboard-ended-sessions", b"damaged")
    page = await guarded.send("/logout", {"proof": proof}, Cookie=cookie)
    assert (page.status, "Max-Age=0" in page.headers["Set-Cookie"]) == (503, True)
    assert "the list of ended sessions is unreadable" in page.document.one("div", role="alert").text


async def test_a_cookie_does_not_contain_the_token(guarded: Site) -> None:
    cookie = await sign_in(guarded)
    bearer = f"Bearer {cookie.partition('=')[2]}"
    async with guarded._session.get(f"{guarded.url}/api/v1/auth/me", headers={"Authorization": bearer}) as answer:
        assert answer.status == 401
    token = (await guarded.bearer("admin", PASSWORD)).removeprefix("Bearer ")
    assert (await guarded.open(Cookie=f"homeostat_dashboard={token}")).status == 303


async def test_the_cookie_is_not_for_the_rest_api(guarded: Site) -> None:
    cookie = await sign_in(guarded)
    async with guarded._session.get(f"{guarded.url}/api/v1/resources", headers={"Cookie": cookie}) as answer:
        assert answer.status == 401


def _has_book(page: Page) -> bool:
    return "Book" in page.source


async def test_a_role_decides_what_is_seen_and_done(guarded: Site) -> None:
    admin = await sign_in(guarded)
    declare = partial(guarded.declare, Authorization=await guarded.bearer("admin", PASSWORD))
    await declare("/resource-types", NOTE_TYPE)
    await declare("/resource-types", {"name": "Book", "version": "v1", "schema": {"type": "object"}})
    await declare("/resources", note("open"))
    await declare("/resources", note("closed") | {"resource_type_name": "Book"})
    permission = {"resource_type_name": "Note", "resource_type_version": "v1", "operations": ["READ"]}
    role = await declare("/custom-roles", {"name": "readers", "permissions": [permission]})
    await declare("/users", {"username": "reader", "password": "a password", "custom_role_id": role["id"]})
    reader = await sign_in(guarded, "reader", "a password")

    async def seen(path: str) -> Page:
        return await guarded.open(path, Cookie=reader)

    assert "1 resource" in (await seen("/resources")).text
    for words, places in (
        ("open", ["/dashboard/resources/1"]),
        ("note+op", ["/dashboard/resources/1"]),
        ("note", ["/dashboard/resources?type=Note%2Fv1"]),
        ("book", []),
        ("closed", []),
        ("runs", ["/dashboard/runs"]),
    ):
        found = msgspec.json.decode((await seen(f"/find?q={words}")).source)["found"]
        assert [each["path"] for each in found] == places, words
    assert "Book" not in (await seen("")).source
    runs = await eventually(lambda: seen("/runs"), lambda page: "#run-open" in page.source)
    assert "Book" not in runs.source
    assert "closed" in (await eventually(lambda: guarded.open("/runs", Cookie=admin), _has_book)).source
    assert [(await seen(f"/resources/{number}")).status for number in (1, 2)] == [200, 403]
    assert (await seen("/policies")).status == 403
    assert (await seen("/contracts")).status == 403
    assert "Policies" not in (await seen("")).document.one("nav").text
    page = await seen("/resources/1")
    assert "Reconcile now" not in page.text
    proof = page.document.one("input", name="proof").attributes["value"]
    assert (await guarded.send("/resources/1/reconcile", {"proof": proof}, Cookie=reader)).status == 403
    assert (await guarded.send("/resources/1/reconcile", {"proof": proof}, Cookie=admin)).status == 403


async def test_the_hint_of_the_login_leads_to_a_token_that_sees_something(guarded: Site, plane: Plane) -> None:
    words = shlex.split((await guarded.open("/login")).document.one("code").text)
    assert words[:3] == ["homeostat", "token", "create"]
    done = CliRunner().invoke(token_command, ["create", *words[3:], "--data", str(plane.settings.data)])
    assert done.exit_code == 0, done.output
    form = {"token": done.stdout.strip()}
    page = await eventually(lambda: guarded.send("/login", form), lambda page: page.status == 303)
    shown = await guarded.open(Cookie=page.headers["Set-Cookie"].partition(";")[0])
    assert "Policies" in shown.document.one("nav").text


async def test_a_page_that_does_not_exist_is_a_page(site: Site) -> None:
    for path in ("/nope", "/resources/1/nope", "/static/x"):
        page = await site.open(path)
        assert (page.status, page.headers["Content-Type"]) == (404, "text/html; charset=utf-8")
        assert "There is no page /dashboard" in page.text
        assert "Home" in page.document.one("nav").text


async def test_the_path_of_a_missing_page_is_escaped(site: Site) -> None:
    page = await site.open("/%3Cscript%3Ealert(1)%3C/script%3E")
    assert page.status == 404
    assert "<script>alert" not in page.source
