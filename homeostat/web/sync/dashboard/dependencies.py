"""`/dashboard/sync/repositories` and `/dashboard/sync/servers`: what SyncPolicies depend on, and who uses it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import msgspec

from homeostat.objects.conditions import READY, Condition, find
from homeostat.objects.crd.custom_kind import CustomKind
from homeostat.objects.declared import Declared, readable_status
from homeostat.objects.json import Json, JsonObject
from homeostat.operators.sync.api.policy import SYNC_POLICY, SyncPolicy
from homeostat.operators.sync.api.repository import RESOURCE_REPOSITORY, RepositoryStatus
from homeostat.operators.sync.api.server import MANAGED_SERVER
from homeostat.web.dashboard.html.command import actions, nothing
from homeostat.web.dashboard.html.components import Row, facts, message_text, moment, one_line, row, table
from homeostat.web.dashboard.html.conditions import conditions_table
from homeostat.web.dashboard.html.layout import Page
from homeostat.web.dashboard.html.markup import Markup, Node, el
from homeostat.web.dashboard.html.paging import ListQuery, cut, filter_form, pager, summary
from homeostat.web.dashboard.html.redaction import without_credentials
from homeostat.web.dashboard.link import create_links, edit_action, object_link
from homeostat.web.dashboard.visit import Visit
from homeostat.web.kit.form import read_query
from homeostat.web.kit.refusal import unknown
from homeostat.web.kit.watched import Derived, Watched
from homeostat.web.sync.dashboard.policies import (
    REPOSITORIES,
    SERVERS,
    TITLE,
    policy_path,
    sync_tabs,
)
from homeostat.web.sync.dashboard.state import readiness_of, row_of, state_chip

_STATES: Final = ("not ready", "pending", "ready")


class Dependency(Declared, frozen=True):
    """A repository or a server, as much of it as pages show."""

    spec: JsonObject = msgspec.field(default_factory=dict)


class _Row(NamedTuple):
    obj: Dependency
    state: str
    message: str


class _Shape(NamedTuple):
    """What differs between the two kinds."""

    kind: CustomKind
    here: str
    tab: str
    noun: str
    plural: str
    headings: tuple[str, ...]
    cells: Callable[[Dependency], tuple[Node, ...]]
    reference: Callable[[SyncPolicy], str]


def _git(obj: Dependency) -> dict[str, Json]:
    found = obj.spec.get("git")
    return found if isinstance(found, dict) else {}


def _http(obj: Dependency) -> dict[str, Json]:
    found = obj.spec.get("http")
    return found if isinstance(found, dict) else {}


def _text(value: Json) -> str:
    return without_credentials(value) if isinstance(value, str) else ""


def repository_status(obj: Dependency) -> RepositoryStatus:
    return readable_status(obj, RepositoryStatus)


def repository_url(obj: Dependency) -> str:
    """Without credentials."""
    return _text(_git(obj).get("url"))


def _repository_cells(obj: Dependency) -> tuple[Node, ...]:
    status = repository_status(obj)
    revision = status.last_fetched_revision or ""
    return (
        el("code", _text(_git(obj).get("url"))),
        _text(_git(obj).get("branch")) or "main",
        el("code", revision[:12], title=revision) if revision else "–",
        moment(status.last_fetched_time, "never"),
    )


def _server_cells(obj: Dependency) -> tuple[Node, ...]:
    return el("code", _text(_http(obj).get("baseURL"))), _text(obj.spec.get("pollInterval")) or "10m"


REPOSITORY: Final = _Shape(
    RESOURCE_REPOSITORY,
    REPOSITORIES,
    "Repositories",
    "repository",
    "repositories",
    ("URL", "Branch", "Revision", "Fetched"),
    _repository_cells,
    lambda policy: policy.spec.resource_repository_ref.name,
)
SERVER: Final = _Shape(
    MANAGED_SERVER,
    SERVERS,
    "Servers",
    "server",
    "servers",
    ("URL", "Polled every"),
    _server_cells,
    lambda policy: policy.spec.managed_server_ref.name,
)


class Dependencies:
    """The list and the pages of one of the kinds."""

    def __init__(self, watched: Watched, shape: _Shape) -> None:
        self._watched, self._shape = watched, shape
        self._derived: Derived[Dependency, _Row] = Derived(_row_of)

    async def show(self, visit: Visit) -> Page:
        shape, query = self._shape, read_query(visit.request, ListQuery)
        cache = await self._watched.all(shape.kind.kind, Dependency)
        every = self._derived.of(cache) if cache is not None else []
        rows = sorted((each for each in every if visit.sees(each.obj.metadata.namespace)), key=_order)
        found = [each for each in rows if _matches(each, query)]
        shown = cut(found, query.page)
        body: Node = nothing(
            f"No {shape.plural} match." if rows else f"No {shape.plural} are declared. To see what one consists of:",
            *(() if rows else (f"homeostat explain {shape.kind.kind.kind.lower()}.spec",)),
            links=None if rows else await create_links(visit, shape.kind.kind),
        )
        if shown.items:
            headings = (shape.noun.capitalize(), "State", *shape.headings, "Message")
            listed = [self._row(each) for each in shown.items]
            body = [table(shape.tab, headings, listed), pager(shape.here, query.fields, shown)]
        namespaces = sorted({each.obj.metadata.namespace for each in rows})
        content: list[Node] = [
            el("h1", TITLE),
            sync_tabs(shape.tab),
            filter_form(shape.here, query, states=_STATES, namespaces=namespaces) if rows else None,
            summary(shown, shape.noun, shape.plural) if rows else None,
            body,
        ]
        return Page(shape.tab, content, TITLE)

    async def show_one(self, visit: Visit) -> Page:
        shape, namespace, name = self._shape, visit.captured["namespace"], visit.captured["name"]
        cache = await self._watched.all(shape.kind.kind, Dependency)
        obj = cache.readable(namespace, name) if cache is not None else None
        if obj is None:
            raise unknown(f"{shape.kind.kind.kind} {namespace}/{name} not found")
        each = _row_of(obj)
        title = el("h1", name, " ", state_chip(each.state))
        message = message_text(each.message, "message")
        where = shape.kind.kind, namespace, name
        own = await object_link(visit, *where)
        content: list[Node] = [
            el("p", el("a", shape.tab, href=shape.here), class_="crumbs"),
            el("div", el("div", title, message), class_="title"),
            actions(visit.viewer.proof, [await edit_action(visit, *where)]),
            facts(("Namespace", namespace), ("Object", own), *zip(shape.headings, shape.cells(obj), strict=True)),
            await self._users(namespace, name),
            conditions_table(_conditions(obj)),
        ]
        return Page(name, content, TITLE)

    async def _users(self, namespace: str, name: str) -> Markup:
        cache = await self._watched.all(SYNC_POLICY.kind, SyncPolicy)
        users = [
            row_of(each)
            for each in (cache.in_namespace(namespace) if cache is not None else ())
            if self._shape.reference(each) == name
        ]
        shown = [
            row(
                f"user-{each.policy.metadata.uid}",
                el("a", each.policy.metadata.name, href=policy_path(namespace, each.policy.metadata.name)),
                state_chip(each.state),
                el("code", each.policy.spec.source.path),
                moment(each.status.last_successful_sync_time, "never"),
            )
            for each in users[:200]
        ]
        body = (
            table("Used by", ("Policy", "State", "Source", "Last sync"), shown)
            if shown
            else nothing("No policy uses it.")
        )
        return el("section", el("h2", "Used by"), body)

    def _row(self, each: _Row) -> Row:
        where = each.obj.metadata
        return row(
            f"dependency-{where.uid}",
            [
                el("a", where.name, href=f"{self._shape.here}/{where.namespace}/{where.name}"),
                el("span", where.namespace, class_="note"),
            ],
            state_chip(each.state),
            *self._shape.cells(each.obj),
            el("span", one_line(each.message), class_="why"),
        )


def _conditions(obj: Dependency) -> Sequence[Condition]:
    return repository_status(obj).conditions


def _row_of(obj: Dependency) -> _Row:
    ready = find(_conditions(obj), READY)
    return _Row(obj, readiness_of(obj), ready.message if ready is not None else "")


def _order(each: _Row) -> tuple[int, str, str]:
    return _STATES.index(each.state), each.obj.metadata.namespace, each.obj.metadata.name


def _matches(each: _Row, query: ListQuery) -> bool:
    where = each.obj.metadata
    return (
        query.state in ("", each.state)
        and query.namespace in ("", where.namespace)
        and query.q.strip().lower() in where.name
    )
