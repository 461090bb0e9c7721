"""The one-time link of the first login: it works once, for some minutes, on this machine."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from homeostat.edge.request import Headers, Peer, Request
from homeostat.plane import Plane
from homeostat.plane.sign_in import LIFE_S, OneTimeCode
from homeostat.server.access.tokens.file import Tokens
from homeostat.web.dashboard.login.once import OnceLoginForm, OnceLoginPage
from homeostat.web.dashboard.static import Static
from homeostat.web.kit.gate import Caller, OpenGate
from homeostat.web.kit.refusal import RefusalError
from homeostat.web.kit.sessions.sessions import Sessions
from tests.web.dashboard.site import Site


async def test_a_link_signs_in_an_administrator_once(guarded: Site, plane: Plane) -> None:
    code = plane.sign_in.code
    for _ in range(2):
        # To fetch the link does not use it up.
        shown = await guarded.open(f"/login/once?code={code}")
        assert shown.document.one("input", name="code").attributes["value"] == code
    page = await guarded.send("/login/once", {"code": code})
    assert (page.status, page.headers["Location"]) == (303, "/dashboard")
    assert page.headers["Set-Cookie"].endswith("; Path=/dashboard; HttpOnly; SameSite=Strict")
    cookie = page.headers["Set-Cookie"].partition(";")[0]
    overview = await guarded.open(Cookie=cookie)
    assert (overview.status, "Policies" in overview.document.one("nav").text) == (200, True)
    again = await guarded.send("/login/once", {"code": code})
    assert (again.status, "Set-Cookie" in again.headers) == (403, False)
    assert "used before, or has expired" in again.document.one("p", role="alert").text


async def test_the_command_for_a_token_names_the_data_directory_to_callers_on_this_machine(
    guarded: Site, plane: Plane
) -> None:
    """Without it, the command would create a token of the plane in the home directory."""
    command = "homeostat token create me --group system:masters --ttl 12h --data"
    for page in (await guarded.open("/login"), await guarded.send("/login/once", {"code": "used"})):
        assert page.document.one("code").text == f"{command} {plane.settings.data}"
    elsewhere = await guarded.open("/login", Host="plane.example")
    assert elsewhere.document.one("code").text == f"{command} DIRECTORY"


@pytest.mark.parametrize("code", ["", "x", "\x00", "é" * 100])
async def test_a_wrong_code_signs_nobody_in_and_uses_nothing_up(guarded: Site, plane: Plane, code: str) -> None:
    page = await guarded.send("/login/once", {"code": code})
    assert (page.status, "Set-Cookie" in page.headers) == (403, False)
    assert (await guarded.send("/login/once", {"code": plane.sign_in.code})).status == 303


async def test_another_site_cannot_use_the_link(guarded: Site, plane: Plane) -> None:
    page = await guarded.send("/login/once", {"code": plane.sign_in.code}, Origin="https://evil.example")
    assert (page.status, "Set-Cookie" in page.headers) == (403, False)


async def test_a_code_expires(tmp_path: Path) -> None:
    now = 0.0
    code = OneTimeCode(Tokens(tmp_path / "tokens.json"), clock=lambda: now)
    now = LIFE_S + 1
    async with code.redeem(code.code) as token:
        assert token == ""
    assert not (tmp_path / "tokens.json").exists()


async def test_of_many_who_use_a_code_at_once_one_gets_a_token(tmp_path: Path) -> None:
    code = OneTimeCode(Tokens(tmp_path / "tokens.json"))

    async def redeemed() -> str:
        async with code.redeem(code.code) as token:
            return token

    found = await asyncio.gather(*(redeemed() for _ in range(20)))
    assert len([each for each in found if each]) == 1


async def test_a_login_that_fails_leaves_the_link_valid(tmp_path: Path, plane: Plane) -> None:
    tokens = Tokens(tmp_path / "tokens.json")
    code = OneTimeCode(tokens)
    failing = True

    async def identify(request: Request) -> Caller:
        if failing:
            raise RefusalError(503, "cannot reach the control plane")
        return await OpenGate().identify(request)

    pages = OnceLoginPage(OnceLoginForm(Static()), code.redeem, identify, Sessions(plane.private, life_s=60))
    headers = Headers()
    headers["host"] = "127.0.0.1:8000"
    body = f"code={code.code}".encode()
    sent = Request("POST", "/dashboard/login/once", "", headers, body, Peer("127.0.0.1"), {})
    assert (await pages.take(sent, {})).status == 503
    assert tokens.list() == []
    failing = False
    assert [(await pages.take(sent, {})).status for _ in range(2)] == [303, 403]


@pytest.mark.parametrize(
    ("peer", "host"),
    [("10.0.0.7", "127.0.0.1:8000"), ("127.0.0.1", "plane.example"), ("127.0.0.1", ""), ("", "localhost")],
)
async def test_from_another_machine_the_link_does_not_work(tmp_path: Path, plane: Plane, peer: str, host: str) -> None:
    code = OneTimeCode(Tokens(tmp_path / "tokens.json"))
    form = OnceLoginForm(Static())
    page = OnceLoginPage(form, code.redeem, OpenGate().identify, Sessions(plane.private, life_s=60))
    headers = Headers()
    headers["host"] = host
    asked = Request("GET", "/dashboard/login/once", f"code={code.code}", headers, b"", Peer(peer), {})
    sent = Request("POST", "/dashboard/login/once", "", headers, f"code={code.code}".encode(), Peer(peer), {})
    assert (await form.show(asked, {})).status == 403
    assert (await page.take(sent, {})).status == 403
    async with code.redeem(code.code) as token:
        assert token != ""
