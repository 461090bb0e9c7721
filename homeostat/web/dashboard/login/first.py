"""The first pages after a start, before the dashboard is open: its login, its static files, and what leads there.

The dashboard imports hundreds of modules when it is opened, and these pages need a twentieth of them. So somebody who
follows the link of a start sees the login at once, and the dashboard opens meanwhile. Afterwards it shows these pages
itself, by the same code.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from functools import partial
from typing import Final

from homeostat.edge.handler import Answer
from homeostat.edge.reply import Reply
from homeostat.edge.request import Request
from homeostat.runtime.faces.face import First, Surroundings
from homeostat.web.dashboard.html.layout import redirect
from homeostat.web.dashboard.login.once import HERE as ONCE
from homeostat.web.dashboard.login.once import OnceLoginForm
from homeostat.web.dashboard.login.page import HERE as LOGIN
from homeostat.web.dashboard.login.page import LoginForm, login_place
from homeostat.web.dashboard.root import COOKIE, ROOT
from homeostat.web.dashboard.static import static_of
from homeostat.web.kit.answering import Answering
from homeostat.web.kit.metrics import RestFigures
from homeostat.web.kit.routing import Page

STATIC: Final = f"{ROOT}/static/{{version}}/{{name}}"
_STATIC_PARTS: Final = STATIC.count("/")


class DashboardFigures(RestFigures):
    prefix = "homeostat_dashboard"
    title = "pages of the dashboard"


def open_first(given: Surroundings) -> First:
    """Of the dashboard as a face of its own."""
    return _first(given, Answering(given.figures.once(DashboardFigures)), has_users=False)


def open_first_of_rest(given: Surroundings) -> First:
    """Of the dashboard among the pages of the REST API."""
    if not given.has_dashboard:
        return partial(_answer, {})
    return _first(given, Answering(given.figures.once(RestFigures)), has_users=True)


def _first(given: Surroundings, answering: Answering, *, has_users: bool) -> First:
    static, is_plane = static_of(has_users=has_users), given.redeem is not None
    pages: dict[str, Page] = {
        LOGIN: LoginForm(static, has_users=has_users, is_plane=is_plane, data=given.data).show,
        STATIC: static.show,
    }
    if is_plane:
        pages[ONCE] = OnceLoginForm(static, given.data).show
    if not given.is_open:
        pages[ROOT] = _to_login
    return partial(_answer, {pattern: answering.page(pattern, page) for pattern, page in pages.items()})


def _answer(pages: Mapping[str, Page], request: Request) -> Awaitable[Answer] | None:
    pattern, captured = request.path, dict[str, str]()
    parts = request.path.split("/")
    if request.path.startswith(f"{ROOT}/static/") and len(parts) == _STATIC_PARTS + 1:
        pattern, captured = STATIC, {"version": parts[-2], "name": parts[-1]}
    page = pages.get(pattern)
    if page is None or request.method != "GET" or (pattern == ROOT and _has_credentials(request)):
        return None
    return page(request, captured)


def _has_credentials(request: Request) -> bool:
    return bool(COOKIE.value(request)) or "authorization" in request.headers


async def _to_login(request: Request, _: Mapping[str, str]) -> Reply:
    return redirect(login_place(request))
