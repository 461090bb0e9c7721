"""`/dashboard/login/once`: signs in with the one-time link that `homeostat up` prints.

The link shows a button, and only the button uses the code up: a browser or a program that fetches links beforehand
does not. If the login fails, the link stays valid. Requests from other machines are refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl

from homeostat.edge.reply import Reply
from homeostat.edge.request import Request
from homeostat.runtime.faces.face import Redeem
from homeostat.web.dashboard.form import read_form
from homeostat.web.dashboard.html.command import command
from homeostat.web.dashboard.html.layout import Page, Viewer, page_reply, redirect
from homeostat.web.dashboard.html.markup import Markup, el
from homeostat.web.dashboard.login.page import HERE as LOGIN
from homeostat.web.dashboard.login.page import Identify, admin_token, is_local, started
from homeostat.web.dashboard.root import COOKIE, ROOT
from homeostat.web.dashboard.static import Static
from homeostat.web.kit.refusal import RefusalError, forbidden
from homeostat.web.kit.sessions.cookie import is_own_page
from homeostat.web.kit.sessions.sessions import Sessions

HERE: Final = f"{LOGIN}/once"


class OnceLoginForm:
    """The page with the button, which `first.py` shows before the dashboard is open."""

    def __init__(self, static: Static, data: Path | None = None) -> None:
        self._static, self._data = static, data

    async def show(self, request: Request, captured: Mapping[str, str]) -> Reply:
        try:
            _check_local(request)
        except RefusalError as error:
            return self.refusal(request, error)
        code = dict(parse_qsl(request.query)).get("code", "")
        form = el(
            "form",
            el("input", type="hidden", name="code", value=code),
            el("button", "Sign in as administrator", type="submit", class_="primary"),
            method="post",
            action=HERE,
        )
        note = el("p", "This link works once. The session ends after twelve hours.", class_="note")
        return self._page(request, el("h1", "Sign in"), form, note)

    def refusal(self, request: Request, error: RefusalError) -> Reply:
        more = (
            el("p", "To sign in otherwise, create a token on the machine of the control plane:"),
            el("p", command(admin_token(self._data, request))),
            el("p", el("a", "Sign in", href=LOGIN)),
        )
        problem = el("p", str(error), class_="trouble", role="alert")
        return self._page(request, el("h1", "Sign in"), problem, *more, status=error.status)

    def _page(self, request: Request, *content: Markup, status: int = 200) -> Reply:
        page = Page("Sign in", el("div", *content, class_="login"), is_live=False, status=status)
        return page_reply(request, page, Viewer(), self._static)


class OnceLoginPage:
    """Takes the code that `form` sends."""

    def __init__(self, form: OnceLoginForm, redeem: Redeem, identify: Identify, sessions: Sessions) -> None:
        self._form, self._redeem, self._identify, self._sessions = form, redeem, identify, sessions

    async def take(self, request: Request, captured: Mapping[str, str]) -> Reply:
        try:
            _check_local(request)
            if not is_own_page(request):
                raise forbidden("This form was sent by another site.")
            async with self._redeem(read_form(request).get("code", "")) as token:
                if not token:
                    raise forbidden("This link was used before, or has expired.")
                kept = await started(request, token, self._identify, self._sessions)
        except RefusalError as error:
            return self._form.refusal(request, error)
        return redirect(ROOT, COOKIE.keeping(request, kept))


def _check_local(request: Request) -> None:
    if not is_local(request):
        raise forbidden("One-time links work on the machine of the control plane only.")
