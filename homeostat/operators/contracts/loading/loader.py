"""Loads the contracts of Pactos from registries, in the background.

    found = await loader.load("registry.example.org/port/quay", credential=None, max_age_s=300.0)

Promises, each with a test: a registry is asked once in an interval for each repository, whatever changes in the
cluster; a reconciliation waits only a moment, and only for what was never loaded; an error is retried after half a
minute, and sooner if it may pass; what was fetched with the credential of one Pacto is not given to another that has a
different one, nor to one that trusts other keys.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from homeostat.external.oci.auth import Keychain
from homeostat.operators.contracts.engine.checks.evaluate import Failure
from homeostat.operators.contracts.engine.reference import (
    InvalidReferenceError,
    parse_oci,
    parse_parts,
    registry_reference,
)
from homeostat.operators.contracts.live.pull_secrets import Credential
from homeostat.operators.contracts.live.trust import Trust
from homeostat.operators.contracts.loading.content import Content, Version
from homeostat.operators.contracts.loading.repository import LATEST, Repository
from homeostat.operators.contracts.sources.registry import RegistrySource
from homeostat.runtime.control.queue import WorkQueue
from homeostat.runtime.control.workers import Workers

WORKERS: Final = 16
RETRY_FAILED_S: Final = 30.0
_SOON_S: Final = 2.0
_EARLY: Final = 0.9
"""Of an interval: what is due right after a reconciliation is refreshed by it."""
_PATIENCE_S: Final = 2.0
_MOST_WAITING: Final = 8
"""Reconciliations that wait for a registry at the same time; others end, and are repeated when it has answered."""
_SWEEP_S: Final = 600.0

Key = tuple[str, str, str]
"""A repository, and the identities of the credential and of the trusted keys."""
NewSource = Callable[[Keychain | None, Trust | None], RegistrySource]


class Load(msgspec.Struct, frozen=True):
    content: Content
    versions: tuple[Version, ...] = ()
    """All versions of the repository; empty for a pinned digest."""
    due_in_s: float | None = None
    """When to ask the registry again; None for a pinned digest."""
    fault: str = ""
    """Why the contract, which was read before, may be outdated."""


class Loader:
    """`on_change` gets the repository whose contracts changed."""

    def __init__(
        self,
        new_source: NewSource,
        on_change: Callable[[str], None],
        *,
        most_versions: int,
        seconds: Callable[[], float],
        try_again: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._new_source, self._on_change, self._try_again = new_source, on_change, try_again
        self._most_versions, self._seconds = most_versions, seconds
        self._repositories: dict[Key, Repository] = {}
        self._queue: WorkQueue[Key] | None = None
        self._swept_at = 0.0
        self._waiting = 0

    @property
    def repositories(self) -> Mapping[Key, Repository]:
        return self._repositories

    async def load(
        self, oci: str, credential: Credential | None, max_age_s: float, trust: Trust | None = None
    ) -> Load | None:
        """None if it takes longer than a moment: then `on_change` follows."""
        ref = registry_reference(oci)
        try:
            parse_oci(ref)
        except InvalidReferenceError as error:
            return Load(Content(Failure(f"spec.contractRef.oci is invalid: {error}")))
        parts = parse_parts(ref)
        reference = parts.digest or parts.tag or LATEST
        key = (parts.name, "" if credential is None else credential.identity, "" if trust is None else trust.identity)
        repository = self._repository(key, None if credential is None else credential.keychain, trust)
        repository.want(reference)
        due_in_s = self._due_in_s(repository, reference, max_age_s)
        if due_in_s <= 0 and reference not in repository.reading:
            repository.ready.clear()
            self._request(key)
        content = repository.content(reference)
        if content is None:
            content = await self._awaited(repository, reference)
        if content is None:
            return None
        if parts.digest:
            return Load(content, due_in_s=RETRY_FAILED_S if repository.has_failed else None)
        due_in_s = due_in_s if due_in_s > 0 else self._life_s(repository, max_age_s)
        fault = "" if isinstance(content.loaded, Failure) else repository.fault(reference)
        return Load(content, repository.versions(), due_in_s, fault)

    def refresh(self, name: str) -> None:
        """Ask the registry for this repository now, also if it failed before: something was pushed to it."""
        self._try_again(name)
        for key in self._repositories:
            if key[0] == name:
                self._request(key)

    async def run(self) -> None:
        self._queue = WorkQueue()
        for key in self._repositories:
            self._queue.add(key)
        try:
            await Workers(self._queue, self._refresh, name="contract registries", count=WORKERS).run()
        finally:
            self._queue.close()
            self._queue = None
            self._repositories.clear()

    def _repository(self, key: Key, keychain: Keychain | None, trust: Trust | None) -> Repository:
        found = self._repositories.get(key)
        if found is None:
            self._sweep()
            source = self._new_source(keychain, trust)
            found = Repository(key[0], source, most_versions=self._most_versions, seconds=self._seconds)
            self._repositories[key] = found
        return found

    def _due_in_s(self, repository: Repository, reference: str, max_age_s: float) -> float:
        if repository.refreshed_at is None or repository.content(reference) is None:
            return 0.0
        return repository.refreshed_at + self._life_s(repository, max_age_s) - self._seconds()

    def _life_s(self, repository: Repository, max_age_s: float) -> float:
        if not repository.has_failed:
            return max_age_s * _EARLY
        # A fault that may pass is retried soon, and then more and more seldom.
        soon_s = _SOON_S * 2 ** min(repository.faults_in_row - 1, 10) if repository.faults_in_row else RETRY_FAILED_S
        return min(max_age_s * _EARLY, RETRY_FAILED_S, soon_s)

    def _request(self, key: Key) -> None:
        if self._queue is not None:
            self._queue.add(key)

    async def _awaited(self, repository: Repository, reference: str) -> Content | None:
        if self._waiting >= _MOST_WAITING:
            return None
        self._waiting += 1
        try:
            async with asyncio.timeout(_PATIENCE_S):
                await repository.ready.wait()
        except TimeoutError:
            return None
        finally:
            self._waiting -= 1
        return repository.content(reference)

    async def _refresh(self, key: Key) -> None:
        repository = self._repositories.get(key)
        if repository is not None and await repository.refresh(lambda: self._on_change(key[0])):
            self._on_change(key[0])

    def _sweep(self) -> None:
        """Forget repositories that no Pacto refers to any more."""
        if self._seconds() - self._swept_at > _SWEEP_S:
            self._swept_at = self._seconds()
            self._repositories = {key: each for key, each in self._repositories.items() if each.is_used()}
