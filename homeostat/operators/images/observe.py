"""Observes what a pass over one group depends on: the tags that are due, the files, and the images that differ.

Each question is asked once a pass, whoever needs the answer: one `ls-remote` for a repository, one request for an
image. A question that fails is a `Problem` of the Deployments that asked it, and of no others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import Final, Protocol, TypeVar

import msgspec

from homeostat.client.base import Client
from homeostat.edge.turn import Turn, map_concurrently
from homeostat.external.git.access import Remote, without_password
from homeostat.external.git.errors import GitError
from homeostat.external.git.repository import Repository
from homeostat.operators.images.batching.group import Group
from homeostat.operators.images.batching.memory import Memory
from homeostat.operators.images.decide import Due, Verdict, survey
from homeostat.operators.images.engine.annotations import DEFAULT_NAMESPACE, Tracked
from homeostat.operators.images.engine.path import check_path
from homeostat.operators.images.engine.places import ManifestError
from homeostat.operators.images.engine.policy import CommitPolicy
from homeostat.operators.images.engine.rules import Rules, RulesError, rules_of
from homeostat.operators.images.settings import ImageSettings
from homeostat.operators.images.sources.builds import Builds
from homeostat.operators.images.sources.guard import Guard
from homeostat.operators.images.sources.images import Images
from homeostat.operators.images.sources.repositories import Repositories, git_problem, read_files
from homeostat.operators.images.sources.secrets import MissingSecretError, SecretName, Secrets, secret_problem
from homeostat.operators.images.world import (
    Absent,
    ImageState,
    Present,
    Problem,
    Record,
    Subject,
    Unchecked,
    Wanted,
    World,
)

T = TypeVar("T")
R = TypeVar("R")
_AT_ONCE: Final = 16
"""Questions of one pass that are under way together."""


class Remembered(Protocol):
    def of(self, tracked: Tracked) -> Record: ...


class Observer:
    def __init__(
        self,
        client: Client,
        repositories: Repositories,
        *,
        images: Images,
        builds: Builds,
        records: Remembered,
        settings: ImageSettings,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._client, self._repositories, self._images = client, repositories, images
        self._builds, self._records, self._settings, self.now = builds, records, settings, now
        self._guard = Guard(settings)
        self._turn = Turn()

    def secrets(self, memory: Memory) -> Secrets:
        return Secrets(self._client, memory)

    async def admit(
        self, members: Sequence[Tracked], memory: Memory
    ) -> tuple[list[Tracked], list[tuple[Tracked, Problem]]]:
        """Those that may use what their annotations name, and those that may not."""
        secrets = self.secrets(memory)
        found = await self._each(lambda one: self._guard.refusal(one, secrets), members)
        pairs = list(zip(members, found, strict=True))
        return (
            [each for each, problem in pairs if problem is None],
            [(each, problem) for each, problem in pairs if problem is not None],
        )

    async def remote(self, group: Group, memory: Memory) -> Remote | Problem:
        """The manifests repository. The Secret is read first: without it nothing else is asked."""
        try:
            return await self._remote(group, group.repository, memory)
        except MissingSecretError as error:
            return secret_problem(error)

    async def subjects(self, group: Group, members: Sequence[Tracked], memory: Memory) -> tuple[Subject, ...]:
        return tuple(await self._each(lambda one: self._subject(group, one, memory), members))

    async def world(self, group: Group, subjects: tuple[Subject, ...], repository: Repository) -> tuple[World, str]:
        """With the commit of the manifests repository; empty if it cannot be read."""
        try:
            commit = await self._repositories.fetch(repository, group.branch)
            files = await read_files(repository.at(commit), _paths(each.tracked for each in subjects))
        except GitError as error:
            return World(self.now(), subjects, manifests=self._unreadable(error, repository, group)), ""
        return World(self.now(), subjects, files), commit

    async def survey(self, world: World) -> tuple[Verdict, ...]:
        # Parsing hundreds of files would block the event loop.
        return await asyncio.to_thread(survey, world)

    async def states(self, verdicts: Iterable[Verdict], memory: Memory) -> dict[str, ImageState]:
        """The images of all that are due, by `NAMESPACE/NAME`."""
        due = [each for each in verdicts if isinstance(each, Due)]
        found = await self._each(lambda one: self._state(one, memory), due)
        return {each.tracked.key: state for each, state in zip(due, found, strict=True)}

    async def _each(self, ask: Callable[[T], Awaitable[R]], items: Sequence[T]) -> list[R]:
        return await map_concurrently(ask, items, at_once=_AT_ONCE, turn=self._turn)

    def _unreadable(self, error: GitError, repository: Repository, group: Group) -> Problem:
        return git_problem(error, "manifest_repository", repository.git.remote, group.branch)

    async def _remote(self, group: Group, url: str, memory: Memory) -> Remote:
        name = SecretName(group.secret_namespace, group.secret_name)
        return await self.secrets(memory).remote(name, url, self._settings.known_hosts)

    async def _subject(self, group: Group, tracked: Tracked, memory: Memory) -> Subject:
        record = self._records.of(tracked)
        try:
            rules = rules_of(tracked.annotations)
        except RulesError as error:
            problem = Problem(str(error), "InvalidAnnotation")
            return Subject(tracked, problem, problem, record)
        try:
            wanted = await self._wanted(group, tracked, rules, memory)
        except MissingSecretError as error:
            wanted = secret_problem(error)
        except GitError as error:
            wanted = Problem(
                f"app_repository {without_password(tracked.settings.app_repository)}: {error}", error.reason
            )
        return Subject(tracked, rules, wanted, record)

    async def _wanted(self, group: Group, tracked: Tracked, rules: Rules, memory: Memory) -> Wanted | Problem:
        settings, secrets = tracked.settings, self.secrets(memory)
        if isinstance(rules.policy, CommitPolicy):
            remote = await self._remote(group, settings.app_repository, memory)
            head = await self._repositories.head(remote, settings.observe_branch, memory)
            if isinstance(head, Problem):
                return head
            wanted = Wanted(settings.tag_of(head), head)
        else:
            tag = await self._images.tag(settings, rules.policy, secrets, memory)
            if isinstance(tag, Problem):
                return tag
            wanted = Wanted(tag)
        if not rules.pins_digest:
            return wanted
        state = await self._images.state(settings, wanted.tag, rules.platforms, secrets, memory)
        return msgspec.structs.replace(wanted, digest=state.digest) if isinstance(state, Present) else wanted

    async def _state(self, due: Due, memory: Memory) -> ImageState:
        settings, secrets = due.tracked.settings, self.secrets(memory)
        found = await self._images.state(settings, due.target.tag, due.rules.platforms, secrets, memory)
        if due.rules.cosign_secret_name and isinstance(found, Present | Unchecked):
            return await self._signed(due, found, secrets, memory)
        if not isinstance(found, Absent) or not due.commit:
            return found
        return await self._builds.state(settings, due.rules, due.commit, secrets, memory)

    async def _signed(self, due: Due, found: Present | Unchecked, secrets: Secrets, memory: Memory) -> ImageState:
        if isinstance(found, Unchecked):
            text = f"cannot verify the signature of {due.image}: {found.why}; set gitops.operator.registry_secret_url"
            return Problem(text, "SignatureUnverified")
        key = SecretName(due.rules.cosign_secret_namespace or DEFAULT_NAMESPACE, due.rules.cosign_secret_name)
        return await self._images.signed(due.tracked.settings, due.target.tag, found, key, secrets, memory)


def _paths(members: Iterable[Tracked]) -> set[str]:
    found = set[str]()
    for each in members:
        try:
            found.add(check_path(each.settings.deployment_path))
        except ManifestError:
            # Reported by the survey.
            continue
    return found
