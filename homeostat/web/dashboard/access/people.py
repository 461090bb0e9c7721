"""`/dashboard/access/users` and `/dashboard/access/tokens`: who can sign in. For administrators; no secret is shown."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated, Final, Protocol

import msgspec
from msgspec import Meta

from homeostat.objects.time.timestamp import format_time
from homeostat.runtime.faces.face import TokenFacts
from homeostat.web.dashboard.html.command import command, nothing
from homeostat.web.dashboard.html.components import Row, chip, heading, moment, one_line, row, table
from homeostat.web.dashboard.html.layout import Page
from homeostat.web.dashboard.html.markup import Markup, Node, el
from homeostat.web.dashboard.html.paging import cut, pager, summary, tabs
from homeostat.web.dashboard.root import ROOT
from homeostat.web.dashboard.visit import Visit
from homeostat.web.kit.form import read_query
from homeostat.web.kit.refusal import forbidden

TITLE: Final = "Access"
HERE: Final = f"{ROOT}/access"
WHO: Final = f"{HERE}/who"
USERS: Final = f"{HERE}/users"
TOKENS: Final = f"{HERE}/tokens"
_SOON_S: Final = 7 * 86400


class UserFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A user of the REST API."""

    number: int
    name: str
    display_name: str = ""
    source: str = ""
    role: str = ""
    is_admin: bool = False
    is_suspended: bool = False
    created: str = ""


class RoleFacts(msgspec.Struct, frozen=True, kw_only=True):
    number: int
    name: str
    description: str = ""
    permissions: tuple[str, ...] = ()


class People(Protocol):
    async def users(self) -> list[UserFacts] | None:
        """None if this process serves no REST API."""

    async def roles(self) -> list[RoleFacts]: ...
    def tokens(self) -> list[TokenFacts] | None:
        """None if this process is not the control plane."""


class Nobody:
    """Without the REST API: only tokens, those of the control plane if this process is one."""

    def __init__(self, tokens: Callable[[], list[TokenFacts]] | None) -> None:
        self._tokens = tokens

    async def users(self) -> list[UserFacts] | None:
        return None

    async def roles(self) -> list[RoleFacts]:
        return []

    def tokens(self) -> list[TokenFacts] | None:
        return None if self._tokens is None else self._tokens()


class PageQuery(msgspec.Struct, frozen=True):
    page: Annotated[int, Meta(ge=1, le=10**6)] = 1


def access_tabs(current: str) -> Markup:
    return tabs(
        TITLE, (("Permissions", HERE), ("Who can", WHO), ("Users and roles", USERS), ("Tokens", TOKENS)), current
    )


class PeoplePages:
    def __init__(self, people: People, now: Callable[[], float] = time.time) -> None:
        self._people, self._now = people, now

    async def users(self, visit: Visit) -> Page:
        _check(visit)
        users = await self._people.users()
        if users is None:
            none = "No REST API is served here, so nobody has a password: whoever signs in has a token. To issue one:"
            issue = "homeostat auth token NAME -n NAMESPACE"
            return Page(
                "Users and roles", [el("h1", TITLE), access_tabs("Users and roles"), nothing(none, issue)], TITLE
            )
        shown = cut(users, read_query(visit.request, PageQuery).page)
        roles = await self._people.roles()
        user_list: Node = nothing(
            "The REST API has no users: whoever signs in has a token. To add the first one, start with:",
            "INITIAL_ADMIN_USERNAME=admin INITIAL_ADMIN_PASSWORD=... homeostat up",
        )
        if shown.items:
            headings = ("User", "State", "Role", "Source", "Since")
            user_list = [
                summary(shown, "user"),
                table("Users", headings, list(map(_user, shown.items))),
                pager(USERS, {}, shown),
            ]
        role_list: Node = nothing(
            "No roles are declared. A role allows its users operations on types of resources. To see its fields:",
            "homeostat explain restrole.spec",
        )
        if roles:
            role_list = table("Roles", ("Role", "Description", "Allows"), list(map(_role, roles[:200])))
        content: list[Node] = [
            el("h1", TITLE),
            access_tabs("Users and roles"),
            el("section", heading("Users of the REST API"), user_list),
            el("section", heading("Roles of the REST API"), role_list),
        ]
        return Page("Users and roles", content, TITLE)

    async def tokens(self, visit: Visit) -> Page:
        _check(visit)
        found = self._people.tokens()
        body: Node
        if found is None:
            body = nothing(
                "Tokens are issued by the cluster. For one of a service account:",
                "homeostat auth token NAME -n NAMESPACE",
            )
        elif not found:
            body = nothing("No tokens were issued. To issue one for a user:", "homeostat token create NAME --ttl 30d")
        else:
            ordered = sorted(found, key=lambda each: (each.expires or 1 << 62, each.user))
            shown = cut(ordered, read_query(visit.request, PageQuery).page)
            headings = ("Token", "User", "Groups", "Created", "Expires", "Revoke")
            rows = [_token(each, self._now()) for each in shown.items]
            body = [summary(shown, "token"), table("Tokens", headings, rows), pager(TOKENS, {}, shown)]
        note = el("p", "Only a hash of a token is stored, so it cannot be shown again.", class_="note")
        return Page("Tokens", [el("h1", TITLE), access_tabs("Tokens"), body, note], TITLE)


def _check(visit: Visit) -> None:
    if not visit.caller.is_admin:
        raise forbidden("only administrators may see users, roles and tokens")


def _user(each: UserFacts) -> Row:
    state = chip("suspended", "bad") if each.is_suspended else chip("active", "good")
    role = chip("administrator", "warn") if each.is_admin else each.role or el("span", "none", class_="quiet")
    return row(
        f"user-{each.number}",
        [each.name, el("span", each.display_name, class_="note") if each.display_name else None],
        state,
        role,
        each.source,
        moment(each.created),
    )


def _role(each: RoleFacts) -> Row:
    return row(
        f"role-{each.number}",
        each.name,
        el("span", one_line(each.description), class_="why"),
        "; ".join(each.permissions[:20]) or "nothing",
    )


def _token(each: TokenFacts, now: float) -> Row:
    return row(
        f"token-{each.id}",
        el("code", each.id),
        each.user,
        ", ".join(each.groups) or "–",
        moment(_time(each.created)),
        _end(each, now),
        command(f"homeostat token revoke {each.id}"),
    )


def _end(each: TokenFacts, now: float) -> Node:
    if not each.expires:
        return chip("never", "warn")
    if each.expires <= now:
        return [chip("expired", "bad"), " ", moment(_time(each.expires))]
    is_soon = each.expires - now < _SOON_S
    return [chip("expires soon", "warn") if is_soon else chip("valid", "good"), " ", moment(_time(each.expires))]


def _time(seconds: int) -> str:
    return format_time(datetime.fromtimestamp(seconds, UTC))
