"""`/dashboard/access/who`: who may do something, and by which binding, with the permissions of the visitor.

Roles and bindings are read for each question, in pages, and the page does not reload itself. The page beside it asks
the server about one user; here only RBAC is evaluated, the other way round.
"""

from __future__ import annotations

from typing import Annotated, Final

import msgspec
from msgspec import Meta

from homeostat.client.base import Client
from homeostat.client.who_can import KINDS, who_can
from homeostat.objects.access.who_can import Grant, Wanted
from homeostat.web.dashboard.access.asked import no_kind, wanted_of
from homeostat.web.dashboard.access.people import HERE as PERMISSIONS
from homeostat.web.dashboard.access.people import TITLE, WHO, access_tabs
from homeostat.web.dashboard.access.review import VERBS
from homeostat.web.dashboard.html.command import command, nothing, shell
from homeostat.web.dashboard.html.components import Row, row, table
from homeostat.web.dashboard.html.layout import Page
from homeostat.web.dashboard.html.markup import Markup, Node, el
from homeostat.web.dashboard.html.paging import cut, field, pager, place, summary
from homeostat.web.dashboard.objects.kinds import ServedKinds, object_path
from homeostat.web.dashboard.visit import Visit
from homeostat.web.kit.form import read_query

_ACCOUNT: Final = "system:serviceaccount"


class WhoQuery(msgspec.Struct, frozen=True):
    """`resource` is `pods`, `deploy`, `deployments.apps`, `pods/log` or `/metrics`; `q` a part of a subject's name."""

    verb: Annotated[str, Meta(max_length=63)] = "get"
    resource: Annotated[str, Meta(max_length=300)] = ""
    namespace: Annotated[str, Meta(max_length=253)] = ""
    name: Annotated[str, Meta(max_length=253)] = ""
    q: Annotated[str, Meta(max_length=200)] = ""
    page: Annotated[int, Meta(ge=1, le=10**6)] = 1

    @property
    def fields(self) -> dict[str, str]:
        given = {"verb": self.verb, "resource": self.resource, "namespace": self.namespace, "name": self.name}
        return given | {"q": self.q}


class WhoPage:
    def __init__(self, client: Client) -> None:
        self._client, self._kinds = client, ServedKinds(client)

    async def show(self, visit: Visit) -> Page:
        query = read_query(visit.request, WhoQuery)
        answer: Node = nothing(
            "List the users, groups and service accounts that may do something. The same on the command line:",
            "homeostat auth who-can delete deploy -n shop",
        )
        if query.verb.strip() and query.resource.strip():
            answer = await self._answer(visit, query)
        return Page("Who can", [el("h1", TITLE), access_tabs("Who can"), _form(query), answer], TITLE, is_live=False)

    async def _answer(self, visit: Visit, query: WhoQuery) -> Node:
        where = {"namespace": query.namespace, "name": query.name}
        wanted = await wanted_of(self._kinds, query.verb, query.resource, **where)
        if wanted is None:
            return no_kind(query.resource)
        found = await who_can(visit.client(self._client), wanted)
        word = query.q.strip().lower()
        shown = cut([each for each in found.grants if word in each.subject.title.lower()], query.page)
        headings = ("Subject", "Kind", "Where", "Binding", "Role", "Only")
        missing = f"Some may be missing: you are not allowed to list {', '.join(found.unread)}."
        return [
            el("p", missing, class_="trouble") if found.unread else None,
            summary(shown, "grant"),
            table("Who can", headings, [_row(at, each, wanted) for at, each in enumerate(shown.items)], class_="who"),
            pager(WHO, query.fields, shown),
            el(
                "p",
                "Only RBAC is evaluated; other authorizers of a cluster may allow more. ",
                _same(wanted, query),
                class_="note",
            ),
        ]


def _same(wanted: Wanted, query: WhoQuery) -> Node:
    name = [wanted.name] if wanted.name else []
    where = ["-n", wanted.namespace] if wanted.namespace else ["-A"] if wanted.is_namespaced else []
    same = shell("homeostat", "auth", "who-can", wanted.verb, query.resource.strip(), *name, *where)
    return ["The same on the command line: ", command(same)]


def _form(query: WhoQuery) -> Markup:
    def entry(name: str, value: str, placeholder: str) -> Markup:
        text = el("input", type="text", id=name, name=name, value=value, placeholder=placeholder, autocomplete="off")
        return field(name.capitalize(), name, text)

    verbs = [
        el("option", each, value=each, selected=each == query.verb) for each in dict.fromkeys((*VERBS, query.verb))
    ]
    return el(
        "form",
        field("Verb", "verb", el("select", verbs, name="verb", id="verb")),
        entry("resource", query.resource, "deploy, pods/log"),
        entry("namespace", query.namespace, "any"),
        entry("name", query.name, "any"),
        field(
            "Search",
            "q",
            el("input", type="search", id="q", name="q", value=query.q, placeholder="user, group, account"),
        ),
        el("button", "List", type="submit", class_="primary"),
        method="get",
        action=WHO,
        class_="filter review",
    )


def _row(at: int, grant: Grant, wanted: Wanted) -> Row:
    subject = grant.subject
    if not grant.binding:
        by: tuple[Node, Node] = (el("span", "none", class_="quiet"), "needs no role")
    else:
        kind = KINDS[grant.binding_kind]
        role = KINDS.get(grant.role_kind)
        role_place = object_path(role, grant.namespace if role.is_namespaced else "", grant.role) if role else ""
        by = (
            el("a", grant.binding, href=object_path(kind, grant.namespace, grant.binding)),
            [el("a", grant.role, href=role_place), el("span", grant.role_kind, class_="note")],
        )
    return row(
        str(at),
        [
            subject.title if wanted.path else el("a", subject.title, href=_review(grant, wanted)),
            el("span", subject.note, class_="note") if subject.note else None,
        ],
        subject.kind,
        grant.namespace or "all namespaces",
        *by,
        ", ".join(grant.names) or "–",
    )


def _review(grant: Grant, wanted: Wanted) -> str:
    """The page that asks the server about this subject."""
    subject = grant.subject
    who = {"user": subject.name}
    if subject.kind == "Group":
        who = {"groups": subject.name}
    elif subject.kind == "ServiceAccount":
        who = {"user": f"{_ACCOUNT}:{subject.namespace}:{subject.name}"}
    full_name = f"{wanted.resource}.{wanted.group}" if wanted.group and wanted.group != "*" else wanted.resource
    resource = f"{full_name}/{wanted.subresource}" if wanted.subresource else full_name
    name = wanted.name or next(iter(grant.names), "")
    namespace = wanted.namespace or grant.namespace
    return place(PERMISSIONS, {**who, "verb": wanted.verb, "resource": resource, "namespace": namespace, "name": name})
