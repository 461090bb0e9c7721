"""A section of the dashboard: its title, its pages and forms, and what it reports to Home.

Operators declare sections as `SECTIONS`. The dashboard shows those of all our operators, whether they run in this
process or elsewhere: a section whose kinds are not installed is empty.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Never

import msgspec

from homeostat.client.base import Client
from homeostat.runtime.background import background
from homeostat.runtime.faces.face import load_reference
from homeostat.runtime.faces.section import DeclaredSection
from homeostat.web.dashboard.finding import FindAbout
from homeostat.web.dashboard.form import FORM_BYTES
from homeostat.web.dashboard.home.report import Report
from homeostat.web.dashboard.html.command import shell
from homeostat.web.dashboard.html.layout import Page
from homeostat.web.dashboard.html.markup import Node
from homeostat.web.dashboard.origin import FindOrigin
from homeostat.web.dashboard.place import Find
from homeostat.web.dashboard.trigger import Triggers
from homeostat.web.dashboard.visit import Scope, View, Visit
from homeostat.web.kit.gate import Caller, Question
from homeostat.web.kit.refusal import RefusalError

Effect = Callable[[Visit], Awaitable[str | Page]]
"""Carries out a form, and returns the path of the page to show next, or that page itself: a preview, or the form again
with what is wrong in it.
"""


class HiddenSectionError(RefusalError):
    """The visitor may not see a section, or a namespace in it; `grants` are the commands that would allow it, and
    `allowed` are title and path of what the visitor sees of the section.
    """

    def __init__(self, detail: str, grants: tuple[str, ...] = (), allowed: tuple[str, str] | None = None) -> None:
        super().__init__(403, detail)
        self.grants, self.allowed = grants, allowed


class Section(msgspec.Struct, frozen=True, kw_only=True):
    purpose: str = ""
    """What it is for, in a sentence: shown on Home as long as nothing is declared."""
    title: str
    """Of its link, and the `section` of its pages."""
    path: str
    """The path of its first page."""
    views: Mapping[str, View]
    """Pages by path."""
    pages: tuple[tuple[str, str], ...] = ()
    """Titles and paths of further pages that the palette finds."""
    forms: Mapping[str, Effect] = msgspec.field(default_factory=dict)
    report: Callable[[Visit], Awaitable[Report | None]] | None = None
    """What it contributes to Home (`home/report.py`); None if it has no objects. It is called every few seconds, so it
    counts from a watch (`run`) or reads a page, and never all objects.
    """
    groups: tuple[str, ...] = ()
    """The API groups of its objects: Home shows their Events."""
    triggers: Triggers = msgspec.field(default_factory=dict)
    """How its objects are reconciled now (`trigger.py`)."""
    summary: Callable[[Visit], Awaitable[Node]] | None = None
    """Further parts of Home, below the reports of all sections."""
    find: Find | None = None
    """What the palette finds of it for who sees no objects (`found.py`)."""
    findings: FindAbout | None = None
    """Its pages about an object of any kind, for the page of that object (`finding.py`)."""
    origin: FindOrigin | None = None
    """Who else declares a workload, for the page that rolls it back (`origin.py`). Whoever may change the workload sees
    the answer, not only those who see the section.
    """
    run: Callable[[], Awaitable[object]] | None = None
    """Runs as long as the dashboard is served: the watches of its pages, for instance."""
    largest_form: int = FORM_BYTES
    """The largest body of its forms, in bytes."""
    most_fields: Mapping[str, int] = msgspec.field(default_factory=dict)
    """How many fields a form may have, by path, where it needs more than others."""
    is_for_administrators: bool = False
    questions: tuple[Question, ...] = ()
    """With `is_for_administrators`: whoever the Kubernetes API allows all of these sees the section, too."""
    local_questions: tuple[Question, ...] = ()
    """Whoever is allowed all of these in some namespaces sees what there is in those (`visit.scope`), and no other
    page than those of an object in one of them (`{namespace}` in the path) and `local_lists`.
    """
    local_lists: tuple[str, ...] = ()
    """The paths of pages that show only what `visit.sees`."""
    is_for_cluster_users: bool = False
    """For administrators and for users of the Kubernetes API: `visit.client(own)` has their permissions."""

    async def is_visible(self, caller: Caller) -> bool:
        if caller.is_admin or not (self.is_for_administrators or self.is_for_cluster_users):
            return True
        if self.is_for_cluster_users:
            return caller.is_cluster_user
        return bool(self.questions) and all([await caller.allows(each) for each in self.questions])

    async def scope(self, caller: Caller, namespaces: Iterable[str]) -> Scope:
        """Of which of the namespaces the visitor sees the objects: None for all there are, empty for none."""
        if await self.is_visible(caller):
            return None
        if not (self.local_questions and caller.is_cluster_user):
            return frozenset()
        asked = list(dict.fromkeys(namespaces))
        allowed = await asyncio.gather(*(self._is_local(caller, each) for each in asked))
        return frozenset([each for each, is_allowed in zip(asked, allowed, strict=True) if is_allowed])

    async def _is_local(self, caller: Caller, namespace: str) -> bool:
        return all([await caller.allows(each._replace(namespace=namespace)) for each in self.local_questions])

    async def enter(self, visit: Visit, path: str) -> Visit:
        """The visit of a page with this pattern, with what it may show. `HiddenSectionError` if that is nothing."""
        scope = await self.scope(visit.caller, visit.reachable)
        if scope is None:
            return visit
        named = visit.captured.get("namespace", "") or visit.namespace
        is_local = "{namespace}" in path or path in self.local_lists
        if not scope or not is_local or (named and named not in scope):
            await self._refuse(visit.caller, named if is_local else "", sees_some=bool(scope))
        return msgspec.structs.replace(visit, scope=scope)

    async def _refuse(self, caller: Caller, namespace: str, *, sees_some: bool) -> Never:
        text = f"{self.title} is for administrators"
        if self.is_for_cluster_users:
            raise HiddenSectionError(f"{text} and users of the Kubernetes API. Sign in with a token to see it.")
        if not (self.questions and caller.is_cluster_user):
            raise HiddenSectionError(f"{text}.")
        is_local = bool(namespace and self.local_questions)
        questions = self.questions
        if is_local:
            questions = tuple(each._replace(namespace=namespace) for each in self.local_questions)
        lacking = [each for each in questions if not await caller.allows(each)]
        needed = " and ".join(f"{each.verb} {each.resource}" for each in lacking)
        text = f"{text}, and for users who may {needed} in all namespaces."
        if is_local:
            text = f"You are not allowed to {needed} in the namespace {namespace}."
        grants = tuple(_grant(each, caller.username) for each in lacking)
        raise HiddenSectionError(text, grants, (self.title, self.path) if sees_some else None)


def _grant(question: Question, username: str) -> str:
    where = ("-n", question.namespace) if question.namespace else ("-A",)
    resource = f"{question.resource}.{question.group}" if question.group else question.resource
    account = username.removeprefix("system:serviceaccount:")
    to = ("--user", username) if account == username else ("--serviceaccount", account)
    return shell("homeostat", "auth", "grant", question.verb, resource, *to, *where)


@asynccontextmanager
async def running(sections: Iterable[Section]) -> AsyncIterator[None]:
    """Runs the jobs of the sections inside the block."""
    async with background(*(_run(each.run) for each in sections if each.run is not None)):
        yield


async def _run(job: Callable[[], Awaitable[object]]) -> None:
    await job()


async def open_sections(declared: Iterable[DeclaredSection], client: Client, within: str = "") -> list[Section]:
    """Imports the sections in a thread: that takes some tenths of a second."""
    openers = await asyncio.to_thread(lambda: [_opener(each) for each in declared])
    return [each(client, within) for each in openers]


def _opener(declared: DeclaredSection) -> Callable[[Client, str], Section]:
    found: Callable[[Client, str], Section] = load_reference(declared.open)
    return found
