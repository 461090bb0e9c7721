"""`/dashboard/login`: logs in with a token, or with a user name and a password, and sets the session cookie.

A name and a password go through the login of the REST API, with its limits and its log. The page shows the same errors
as that API. Where no REST API is served beside it, it takes tokens only.
"""

from __future__ import annotations

import ipaddress
import logging
import shlex
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, urlencode, urlsplit

import msgspec

from homeostat.client.base import UnreachableError
from homeostat.edge.loopback import host_is_loopback
from homeostat.edge.reply import Reply
from homeostat.edge.request import Request
from homeostat.objects.errors import ApiError
from homeostat.objects.json import encode
from homeostat.web.dashboard.form import read_form
from homeostat.web.dashboard.html.command import command
from homeostat.web.dashboard.html.layout import Page, Viewer, page_reply, redirect
from homeostat.web.dashboard.html.markup import Markup, el
from homeostat.web.dashboard.root import COOKIE, ROOT
from homeostat.web.dashboard.static import Static
from homeostat.web.kit.gate import Caller
from homeostat.web.kit.refusal import RefusalError, forbidden, unauthorized
from homeostat.web.kit.sessions.cookie import is_own_page, is_token, with_token
from homeostat.web.kit.sessions.sessions import Sessions

log = logging.getLogger(__name__)

HERE: Final = f"{ROOT}/login"
LogIn = Callable[[Request, Mapping[str, str]], Awaitable[Reply]]
"""`/api/v1/auth/login` of the REST API."""
Identify = Callable[[Request], Awaitable[Caller]]
_ACCOUNT_TOKEN: Final = "homeostat auth token NAME -n NAMESPACE"  # noqa: S105
_ADMIN_TOKEN: Final = "homeostat token create me --group system:masters --ttl 12h"  # noqa: S105
_USUAL_DATA: Final = "~/.homeostat"
_LONGEST_NAME: Final = 253
_ENDED: Final = {
    "session": "Your session has ended. Sign in to go on.",
    "form": "Your session has ended, and nothing was changed. Sign in, and send the form again.",
}


class _Granted(msgspec.Struct, frozen=True):
    access_token: str


class LoginForm:
    """The page with the form, which `first.py` shows before the dashboard is open. `has_users` asks for a name and a
    password, too.
    """

    def __init__(self, static: Static, *, has_users: bool, is_plane: bool, data: Path | None = None) -> None:
        self._static, self._has_users, self._is_plane, self._data = static, has_users, is_plane, data

    async def show(self, request: Request, captured: Mapping[str, str]) -> Reply:
        query = dict(parse_qsl(request.query))
        return self.page(request, COOKIE.place_of(query.get("next", "")), note=_ENDED.get(query.get("ended", ""), ""))

    def page(
        self, request: Request, place: str, error: RefusalError | None = None, username: str = "", note: str = ""
    ) -> Reply:
        token = admin_token(self._data, request) if self._is_plane else ""
        problem = str(error) if error is not None else ""
        content = _content(place, problem, token, username, note, has_users=self._has_users)
        page = Page("Sign in", content, is_live=False)
        if error is not None:
            page = msgspec.structs.replace(page, status=error.status)
        return page_reply(request, page, Viewer(), self._static)


class LoginPage:
    """Takes what `form` sends."""

    def __init__(self, form: LoginForm, identify: Identify, log_in: LogIn | None, sessions: Sessions) -> None:
        self._form, self._identify, self._log_in, self._sessions = form, identify, log_in, sessions

    async def take(self, request: Request, captured: Mapping[str, str]) -> Reply:
        form = read_form(request)
        place = COOKIE.place_of(form.get("next", ""))
        try:
            if not is_own_page(request):
                raise forbidden("this form was sent by another site")
            kept = await started(request, await self._granted(request, form), self._identify, self._sessions)
        except RefusalError as error:
            if error.status not in (401, 403, 422, 429, 503):
                raise
            return self._form.page(request, place, error, form.get("username", ""))
        return redirect(place, COOKIE.keeping(request, kept))

    async def _granted(self, request: Request, form: Mapping[str, str]) -> str:
        token = form.get("token", "").strip()
        if not token and self._log_in is None:
            raise unauthorized("enter a token")
        if not token and self._log_in is not None:
            body = encode({"username": form.get("username", ""), "password": form.get("password", "")})
            answer = await self._log_in(msgspec.structs.replace(request, body=body), {})
            assert isinstance(answer.body, bytes)
            token = msgspec.json.decode(answer.body, type=_Granted).access_token
        if not is_token(token):
            raise unauthorized("the token is not valid")
        return token


def admin_token(data: Path | None, request: Request) -> str:
    """The command that creates a token of an administrator. Only callers on this machine see a path of it."""
    if data is None or data == Path(_USUAL_DATA).expanduser():
        return _ADMIN_TOKEN
    return f"{_ADMIN_TOKEN} --data {shlex.quote(str(data)) if is_local(request) else 'DIRECTORY'}"


def is_local(request: Request) -> bool:
    """Whether the caller is on this machine, and not behind a proxy on it."""
    try:
        is_loopback = ipaddress.ip_address(request.peer.address.partition("%")[0]).is_loopback
    except ValueError:
        return False
    return is_loopback and host_is_loopback(request.headers.get("host", ""))


async def started(request: Request, token: str, identify: Identify, sessions: Sessions) -> str:
    """The value of the cookie of a new session, which replaces that of the request; `RefusalError` 401 if the token is
    not valid.
    """
    caller = await identify(with_token(request, token, replaces=True))
    kept = await sessions.start(token, user=caller.username)
    try:
        await sessions.end(COOKIE.value(request))
    except (RefusalError, ApiError, UnreachableError) as error:
        # The browser forgets it, and it expires.
        log.warning("failed to end the session before this login", extra={"reason": str(error)})
    return kept


def login_place(request: Request) -> str:
    """The login page, which leads back to the requested page, or to the one with the form that was sent."""
    is_form = request.method == "POST"
    here = f"{request.path}?{request.query}" if request.query else request.path
    if is_form:
        sent_from = urlsplit(request.headers.get("referer", ""))
        here = f"{sent_from.path}?{sent_from.query}" if sent_from.query else sent_from.path
    query = {"next": COOKIE.place_of(here)}
    if COOKIE.value(request):
        query["ended"] = "form" if is_form else "session"
    return f"{HERE}?{urlencode(query)}"


def _content(place: str, problem: str, admin: str, username: str, note: str, *, has_users: bool) -> Markup:
    """`admin` is the command that creates a token of an administrator; empty beside a cluster. `has_users` asks for a
    name and a password, too.
    """
    person = (
        el("h2", "With username and password"),
        _field("Name", "username", autocomplete="username", value=username[:_LONGEST_NAME], is_first=not username),
        _field("Password", "password", type_="password", autocomplete="current-password", is_first=bool(username)),
    )
    holder = (
        el("h2", "Or with a token" if has_users else "With a token"),
        _field("Token", "token", type_="password", autocomplete="off", spellcheck="false", is_first=not has_users),
    )
    hint = el(
        "div",
        el(
            "p",
            "For an administrator, on the machine of the control plane:" if admin else "Of a service account:",
        ),
        command(admin or _ACCOUNT_TOKEN),
        class_="hint",
    )
    return el(
        "div",
        el("h1", "Sign in"),
        el("p", problem, class_="trouble", role="alert") if problem else None,
        el("p", note, class_="ended", role="status") if note else None,
        el(
            "form",
            el("input", type="hidden", name="next", value=place),
            person if has_users else None,
            holder,
            el("button", "Sign in", type="submit", class_="primary"),
            method="post",
            action=HERE,
        ),
        hint,
        class_="login",
    )


def _field(
    label: str,
    name: str,
    *,
    type_: str = "text",
    autocomplete: str,
    spellcheck: str = "",
    value: str = "",
    is_first: bool = False,
) -> Markup:
    entry = el(
        "input",
        type=type_,
        id=name,
        name=name,
        value=value or None,
        autocomplete=autocomplete,
        spellcheck=spellcheck or None,
        autofocus=is_first,
    )
    return el("div", el("label", label, for_=name), entry, class_="field")
