"""The dashboard: the HTML pages of its sections, with the permissions of who looks.

    dashboard = Dashboard(sections, client=client, identify=face.identify, log_in=identity.log_in, sessions=sessions)
    async with dashboard.running():
        rest_app(face, more=[dashboard.add_routes])

Promises, each tested: all text is escaped; no secret is shown; only a form that one of these pages made for the same
user changes anything; everything works without JavaScript.
"""

from __future__ import annotations

import hmac
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Final
from urllib.parse import quote

import msgspec

from homeostat.client.base import Client, UnreachableError
from homeostat.edge.handler import Answer
from homeostat.edge.reply import Reply
from homeostat.edge.request import Request
from homeostat.edge.turn import Turn
from homeostat.objects.errors import ApiError
from homeostat.runtime.background import background
from homeostat.runtime.faces.face import Redeem
from homeostat.web.dashboard.access.reach import Reach, keeping
from homeostat.web.dashboard.form import MOST_FIELDS, read_form
from homeostat.web.dashboard.home.home import TITLE as HOME
from homeostat.web.dashboard.home.home import Home
from homeostat.web.dashboard.home.report import Change
from homeostat.web.dashboard.home.timeline import EVENTS, Timeline
from homeostat.web.dashboard.html.command import command
from homeostat.web.dashboard.html.layout import Page, Viewer, json_reply, page_reply, redirect
from homeostat.web.dashboard.html.markup import Markup, Node, el
from homeostat.web.dashboard.html.paging import place
from homeostat.web.dashboard.login.once import OnceLoginForm, OnceLoginPage
from homeostat.web.dashboard.login.page import Identify, LogIn, LoginForm, LoginPage, login_place
from homeostat.web.dashboard.namespaces import part_note
from homeostat.web.dashboard.objects.access import may_list
from homeostat.web.dashboard.objects.kinds import HERE as OBJECTS
from homeostat.web.dashboard.objects.kinds import NO_NAMESPACE, ServedKinds
from homeostat.web.dashboard.objects.large import computed
from homeostat.web.dashboard.objects.section import objects_section
from homeostat.web.dashboard.palette import Palette
from homeostat.web.dashboard.root import COOKIE, ROOT
from homeostat.web.dashboard.section import Effect, HiddenSectionError, Section, running
from homeostat.web.dashboard.static import Static, static_of
from homeostat.web.dashboard.visit import View, Visit, is_in
from homeostat.web.kit.refusal import RefusalError, forbidden, refusal_of, unknown
from homeostat.web.kit.routing import Add
from homeostat.web.kit.routing import Page as Handle
from homeostat.web.kit.sessions.cookie import is_own_page, with_token
from homeostat.web.kit.sessions.sessions import Sessions

_OBJECT_PARTS: Final = 4
"""Of the path of an object: group, plural, namespace, name."""
_TITLES: Final = {403: "Not allowed", 404: "Not found", 422: "Invalid request", 503: "Unavailable"}


class _Shown:
    """A handler whose unexpected errors are a page, too."""

    def __init__(self, handle: Handle, static: Static) -> None:
        self._handle, self._static = handle, static

    async def __call__(self, request: Request, captured: Mapping[str, str]) -> Answer:
        return await self._handle(request, captured)

    def failed(self, request_id: str) -> Reply:
        text = "This page failed. For the cause, search the log of this server for the request "
        more = el("p", "Go back, or ", el("a", "go to Home", href=ROOT), ".", class_="further")
        parts = (el("h1", "Internal error"), el("p", text, el("code", request_id), "."), more)
        page = Page("Internal error", el("div", *parts, class_="empty", role="alert"), status=500, is_live=False)
        return page_reply(None, page, Viewer(), self._static)


class Dashboard:
    """`client` is the one of this server. `log_in` is the login of the REST API, with a name and a password; None where
    that API is not served. `redeem` exchanges the code of a one-time link for a token; None if there are no such links.
    `data` is the data directory of the control plane, if this is one. `within` is the only namespace of which this
    server may read; empty for all. `notice` is shown on all pages.
    """

    def __init__(
        self,
        sections: Sequence[Section],
        *,
        client: Client,
        identify: Identify,
        log_in: LogIn | None,
        sessions: Sessions,
        redeem: Redeem | None = None,
        data: Path | None = None,
        within: str = "",
        notice: Node = None,
    ) -> None:
        self._client, self._kinds, self._within = client, ServedKinds(client), within
        self._sections = [*sections, objects_section(client, self._kinds, sections)]
        self._identify = identify
        self._static = static_of(has_users=log_in is not None)
        groups = {group for each in sections for group in each.groups}
        self._timeline = Timeline(client, groups, self._kinds.path_of, within)
        self._reach = Reach(client, self._sections, within)
        self._palette = Palette(client, self._kinds, self._sections)
        self._login_form = LoginForm(self._static, has_users=log_in is not None, is_plane=redeem is not None, data=data)
        self._login = LoginPage(self._login_form, identify, log_in, sessions)
        self._once_form = OnceLoginForm(self._static, data)
        self._once = OnceLoginPage(self._once_form, redeem, identify, sessions) if redeem is not None else None
        self._sessions, self._secret, self._notice = sessions, os.urandom(32), notice
        self._turn: Turn | None = None

    def add_routes(self, add: Add) -> None:
        def add_page(method: str, path: str, page: Handle) -> None:
            add(method, path, _Shown(page, self._static))

        add_page("GET", ROOT, self._page(Home(self._sections, self._changes, self._client).show))
        add("GET", f"{ROOT}/find", self._find)
        for section in self._sections:
            for path, view in section.views.items():
                add_page("GET", path, self._page(view, section, path))
            for path, effect in section.forms.items():
                add_page("POST", path, self._form(effect, section, path))
                if path not in section.views:
                    add("GET", path, _to_page)
        add_page("GET", f"{ROOT}/login", self._login_form.show)
        add_page("POST", f"{ROOT}/login", self._login.take)
        add_page("POST", f"{ROOT}/logout", self._log_out)
        add("GET", f"{ROOT}/logout", _to_page)
        add("GET", f"{ROOT}/static/{{version}}/{{name}}", self._static.show)
        add("GET", f"{ROOT}/{{path:path}}", self._page(_not_found))
        if self._once is not None:
            add("GET", f"{ROOT}/login/once", self._once_form.show)
            add("POST", f"{ROOT}/login/once", self._once.take)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Runs what its pages need in the background: watches, which begin when somebody first looks."""
        async with running(self._sections), background(self._timeline.run(), self._reach.bindings.watched.run()):
            yield

    async def _changes(self, visit: Visit) -> list[Change]:
        """The Events of the operators' objects, of the namespaces whose Events the visitor may list."""
        if not (visit.caller.is_admin or visit.caller.is_cluster_user):
            return []
        client, chosen = visit.client(self._client), visit.namespace
        if await may_list(client, EVENTS, self._within):
            return await self._timeline.newest(frozenset({chosen}) if chosen else None)
        places = [each for each in visit.reachable if chosen in ("", each) and await may_list(client, EVENTS, each)]
        return await self._timeline.newest(frozenset(places)) if places else []

    async def _find(self, request: Request, captured: Mapping[str, str]) -> Reply:
        try:
            visit = await self._visit(request, captured)
            await self._pause()
            return json_reply(await self._palette.find(visit))
        except (RefusalError, ApiError, UnreachableError) as error:
            refused = _refused(error)
            return json_reply({"detail": str(refused)}, refused.status)

    def _page(self, view: View, section: Section | None = None, path: str = "") -> Handle:
        async def show(request: Request, captured: Mapping[str, str]) -> Reply:
            visit: Visit | None = None
            try:
                visit = await self._visit(request, captured)
                if section is not None:
                    visit = await section.enter(visit, path)
                if narrowed := await self._reach.narrowed(visit, path):
                    return redirect(narrowed)
                await self._pause()
                page = await view(visit)
                await self._pause()
                return page_reply(request, _with_scope(page, visit), visit.viewer, self._static, *keeping(visit))
            except (RefusalError, ApiError, UnreachableError) as error:
                return self._refusal(request, _refused(error), visit)

        return show

    def _form(self, effect: Effect, section: Section, path: str) -> Handle:
        most_fields = section.most_fields.get(path, MOST_FIELDS)

        async def take(request: Request, captured: Mapping[str, str]) -> Reply:
            visit: Visit | None = None
            try:
                visit = await self._visit(request, captured)
                visit = await section.enter(visit, path)
                await self._pause()
                read = partial(read_form, request, section.largest_form, most_fields=most_fields)
                self._check_proof(request, await computed(visit, len(request.body), read))
                done = await effect(visit)
                return (
                    redirect(done) if isinstance(done, str) else page_reply(request, done, visit.viewer, self._static)
                )
            except (RefusalError, ApiError, UnreachableError) as error:
                return self._refusal(request, _refused(error), visit)

        return take

    async def _pause(self) -> None:
        """Many visits may arrive in one turn of the event loop, and most of their reads need no other turn."""
        turn = self._turn = self._turn or Turn()
        await turn.pause()

    async def _log_out(self, request: Request, captured: Mapping[str, str]) -> Reply:
        try:
            self._check_proof(request, read_form(request))
        except RefusalError as error:
            return self._refusal(request, error, None)
        deleted = COOKIE.keeping(request, "")
        try:
            await self._sessions.end(COOKIE.value(request))
        except (RefusalError, ApiError, UnreachableError) as error:
            why = _refused(error)
            told = f"Signed out in this browser, but the session could not be ended on the server: {why}"
            reply = self._refusal(request, RefusalError(503, told), None)
            return msgspec.structs.replace(reply, headers=(*reply.headers, deleted))
        return redirect(f"{ROOT}/login", deleted)

    async def _visit(self, request: Request, captured: Mapping[str, str]) -> Visit:
        kept = COOKIE.value(request)
        token = await self._sessions.token(kept)
        caller = await self._identify(with_token(request, token))
        proof = COOKIE.form_proof(self._secret, kept)
        reachable = await self._reach.of(caller, request, captured)
        scopes = [await each.scope(caller, reachable) for each in self._sections]
        shown = [(each, scope) for each, scope in zip(self._sections, scopes, strict=True) if scope is None or scope]
        visit = Visit(request, captured, caller, Viewer(), await self._reach.confirmed(caller, reachable, scopes))
        # The namespace that somebody chose stays while they go from list to list, as far as they may read it.
        chosen = visit.namespace
        fields = {each.title: {"namespace": chosen if is_in(scope, chosen) else ""} for each, scope in shown}
        links = [(HOME, place(ROOT, {"namespace": chosen}))]
        links += [(each.title, place(each.path, fields[each.title])) for each, _ in shown]
        pages = tuple((title, place(path, fields[each.title])) for each, _ in shown for title, path in each.pages)
        viewer = Viewer(
            caller.username or "somebody", tuple(links), pages, proof, has_session=bool(token), notice=self._notice
        )
        return msgspec.structs.replace(visit, viewer=viewer)

    def _check_proof(self, request: Request, form: Mapping[str, str]) -> None:
        proof = COOKIE.form_proof(self._secret, COOKIE.value(request))
        if not is_own_page(request) or not hmac.compare_digest(form.get("proof", "").encode(), proof.encode()):
            raise forbidden("this form has expired; go back, reload the page and try again")

    def _refusal(self, request: Request, error: RefusalError, visit: Visit | None) -> Reply:
        if error.status == 401:
            return redirect(login_place(request))
        title = _TITLES.get(error.status, "Internal error")
        home = _further(request, error, visit.viewer) if visit is not None else None
        grants, allowed = (error.grants, error.allowed) if isinstance(error, HiddenSectionError) else ((), None)
        ask = el("p", "An administrator can allow it:") if grants else None
        steps: list[Node] = [el("p", command(each)) for each in grants]
        if allowed is not None:
            section, path = allowed
            steps.append(el("p", el("a", f"{section} that you are allowed to read", href=path), class_="further"))
        elif grants:
            objects = el("a", "Objects", href=OBJECTS)
            steps.append(el("p", "What you are allowed to see in one namespace is on the page ", objects, "."))
        content = el("div", el("h1", title), el("p", error.text), ask, steps, home, class_="empty", role="alert")
        page = Page(title, content, status=error.status)
        headers = tuple(each for each in error.headers if each[0] == "Retry-After")
        return page_reply(request, page, visit.viewer if visit is not None else Viewer(), self._static, *headers)


def _further(request: Request, error: RefusalError, viewer: Viewer) -> Markup:
    """Where to go from a page that cannot be shown: to its section, from an object to the list of its kind."""
    home = el("a", "Go to Home", href=ROOT)
    above = [each for each in viewer.sections if request.path.startswith(f"{each[1].partition('?')[0]}/")]
    if error.status == 404 and above and above[-1][0] != HOME and not request.path.startswith(f"{OBJECTS}/"):
        title, path = above[-1]
        return el("p", el("a", f"Go to {title}", href=path), " or ", home, class_="further")
    parts = request.path.removeprefix(f"{OBJECTS}/").split("/")
    if error.status != 404 or not request.path.startswith(f"{OBJECTS}/") or len(parts) < _OBJECT_PARTS:
        return el("p", home, class_="further")
    group, plural, namespace = parts[:3]
    where = place(f"{OBJECTS}/{group}/{plural}", {"namespace": "" if namespace == NO_NAMESPACE else namespace})
    return el("p", el("a", f"Go to the list of {plural}", href=where), " or ", home, class_="further")


def _with_scope(page: Page, visit: Visit) -> Page:
    note = part_note(visit.scope) if "namespace" not in visit.captured and not visit.namespace else None
    return page if note is None else msgspec.structs.replace(page, content=[page.content, note])


async def _to_page(request: Request, _: Mapping[str, str]) -> Reply:
    """Somebody reloads the address of a form, or comes back to it: the page with its button is above it."""
    return redirect(quote(request.path.rpartition("/")[0]))


async def _not_found(visit: Visit) -> Page:
    raise unknown(f"There is no page {visit.request.path}.")


def _refused(error: RefusalError | ApiError | UnreachableError) -> RefusalError:
    match error:
        case ApiError():
            return refusal_of(error)
        case UnreachableError():
            return RefusalError(503, "cannot reach the control plane", (("Retry-After", "5"),))
    return error
