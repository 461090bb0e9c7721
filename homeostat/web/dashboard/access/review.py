"""`/dashboard/access`: whether a user may do something, by which binding, or what would allow it.

The API server decides, by SubjectAccessReview. It says why it allows; what is missing is a role and a binding of it.
"""

from __future__ import annotations

from typing import Annotated, Final, NamedTuple

import msgspec
from msgspec import Meta

from homeostat.client.base import Client
from homeostat.objects.access.who_can import Wanted
from homeostat.objects.roles import implied_groups
from homeostat.web.dashboard.access.asked import attributes_of, no_kind, wanted_of
from homeostat.web.dashboard.access.people import HERE, TITLE, access_tabs
from homeostat.web.dashboard.html.command import command, shell
from homeostat.web.dashboard.html.components import chip
from homeostat.web.dashboard.html.layout import Page
from homeostat.web.dashboard.html.markup import Markup, Node, el
from homeostat.web.dashboard.html.paging import field
from homeostat.web.dashboard.html.redaction import plain_text
from homeostat.web.dashboard.objects.kinds import ServedKinds
from homeostat.web.dashboard.visit import Visit
from homeostat.web.kit.form import read_query

_PATH: Final = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
_ACCOUNT: Final = "system:serviceaccount:"
VERBS: Final = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "*")


class ReviewQuery(msgspec.Struct, frozen=True):
    """`resource` is `pods`, `deploy`, `deployments.apps`, `pods/log` or `/metrics`."""

    user: Annotated[str, Meta(max_length=253)] = ""
    groups: Annotated[str, Meta(max_length=1000)] = ""
    verb: Annotated[str, Meta(max_length=63)] = "get"
    resource: Annotated[str, Meta(max_length=300)] = ""
    namespace: Annotated[str, Meta(max_length=253)] = ""
    name: Annotated[str, Meta(max_length=253)] = ""

    @property
    def is_complete(self) -> bool:
        return bool((self.user or self.groups) and self.verb and self.resource)

    @property
    def given_groups(self) -> list[str]:
        return [each.strip() for each in self.groups.split(",") if each.strip()]

    @property
    def all_groups(self) -> list[str]:
        """With those that every user, and every service account, is in."""
        return list(dict.fromkeys([*self.given_groups, *implied_groups(self.user.strip())]))


class Answer(NamedTuple):
    is_allowed: bool
    reason: str
    error: str


class ReviewPage:
    def __init__(self, client: Client) -> None:
        self._client, self._kinds = client, ServedKinds(client)

    async def show(self, visit: Visit) -> Page:
        query = read_query(visit.request, ReviewQuery)
        content: list[Node] = [
            el("h1", TITLE),
            access_tabs("Permissions"),
            _form(query),
            await self._answer(query) if query.is_complete else _hint(),
        ]
        return Page(TITLE, content, TITLE)

    async def _answer(self, query: ReviewQuery) -> Markup:
        where = {"namespace": query.namespace, "name": query.name}
        wanted = await wanted_of(self._kinds, query.verb, query.resource, **where)
        return no_kind(query.resource) if wanted is None else _answer(query, wanted, await self._ask(query, wanted))

    async def _ask(self, query: ReviewQuery, wanted: Wanted) -> Answer:
        spec = {"user": query.user.strip(), "groups": query.all_groups, **attributes_of(wanted)}
        review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
        status = (await self._client.create(_PATH, review))["status"]
        return Answer(bool(status.get("allowed")), status.get("reason") or "", status.get("evaluationError") or "")


def _form(query: ReviewQuery) -> Markup:
    def entry(name: str, value: str, placeholder: str) -> Markup:
        return el("input", type="text", id=name, name=name, value=value, placeholder=placeholder, autocomplete="off")

    verbs = [
        el("option", each, value=each, selected=each == query.verb) for each in dict.fromkeys((*VERBS, query.verb))
    ]
    return el(
        "form",
        field("User", "user", entry("user", query.user, "anna")),
        field("Groups", "groups", entry("groups", query.groups, "dev, ops")),
        field("Verb", "verb", el("select", verbs, name="verb", id="verb")),
        field("Resource", "resource", entry("resource", query.resource, "deploy, pods/log")),
        field("Namespace", "namespace", entry("namespace", query.namespace, "all namespaces")),
        field("Name", "name", entry("name", query.name, "any")),
        el("button", "Check", type="submit", class_="primary"),
        method="get",
        action=HERE,
        class_="filter review",
    )


def _hint() -> Markup:
    return el(
        "div",
        el("p", "Ask whether a user, or a service account (system:serviceaccount:NAMESPACE:NAME), may do something:"),
        el("p", command("homeostat auth can-i list pods -n default --as anna")),
        class_="empty",
    )


def _answer(query: ReviewQuery, wanted: Wanted, answer: Answer) -> Markup:
    who = query.user.strip() or f"a member of {query.groups}"
    where = f"in the namespace {wanted.namespace}" if wanted.namespace else "in all namespaces"
    where = where if wanted.is_namespaced else ""
    what = f"{query.verb} {query.resource} {query.name}".strip()
    words = f"{who} {'may' if answer.is_allowed else 'may not'} {what} {where}".strip()
    look = ("allowed", "good") if answer.is_allowed else ("denied", "bad")
    groups = [word for each in query.given_groups for word in ("--as-group", each)]
    user = ["--as", query.user.strip()] if query.user.strip() else []
    same = shell("homeostat", "auth", "can-i", *_words(query, wanted), *user, *groups)
    parts: list[Node] = [
        el("h2", chip(*look), " ", words),
        el(
            "p",
            plain_text(answer.reason or ("" if answer.is_allowed else "No role that is bound to the user allows it.")),
            class_="why",
        ),
        el("p", plain_text(answer.error), class_="trouble") if answer.error else None,
    ]
    if not answer.is_allowed:
        parts += [
            el("p", "To allow exactly this, with a role and a binding of it:"),
            el("p", command(grant(query, wanted))),
        ]
    parts.append(el("p", "The same question on the command line: ", command(same), class_="note"))
    return el("section", parts, class_="answer", id="answer")


def grant(query: ReviewQuery, wanted: Wanted) -> str:
    """The command that would allow what was denied, and nothing else."""
    user = query.user.strip()
    account = user.removeprefix(_ACCOUNT)
    if account != user:
        to = ["--serviceaccount", account]
    else:
        to = ["--user", user] if user else ["--group", query.all_groups[0]]
    return shell("homeostat", "auth", "grant", *_words(query, wanted), *to)


def _words(query: ReviewQuery, wanted: Wanted) -> list[str]:
    name = [wanted.name] if wanted.name else []
    place = ["-n", wanted.namespace] if wanted.namespace else [] if wanted.path else ["-A"]
    return [query.verb, query.resource.strip(), *name, *place]
