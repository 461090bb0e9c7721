"""One repository of a registry, as one credential sees it: its tags, their digests, and the contracts behind them.

    repository.want("")            # the highest version; or a tag, or a digest
    await repository.refresh()     # one list of tags, one digest a tag, and what is new is pulled
    repository.content("")

All Pactos of a repository share it, so that its registry is asked once in an interval, whatever the number of
Pactos and of changes. What they follow is read first (`on_ready`), then the other versions, newest first.

A fault that may pass does not replace what was read before: the registry cannot be reached, does not have yet what it
lists, or has no signature yet of what was pushed within the last minute. Who follows the highest version keeps the
version in use until the new one can be read.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Final

import msgspec

from homeostat.edge.threads import in_thread
from homeostat.objects.versions.semver import versions_of
from homeostat.operators.contracts.engine.checks.evaluate import Failure
from homeostat.operators.contracts.loading.content import Content, Version, read_bundle
from homeostat.operators.contracts.sources.errors import NotFoundError, SourceError, UnreachableError, UnsignedError
from homeostat.operators.contracts.sources.registry import RegistrySource, Resolved

log = logging.getLogger(__name__)

SIGN_WITHIN_S: Final = 60.0
"""How long a bundle without a signature is expected to be signed; then it is not trusted."""
LATEST: Final = ""
"""The reference that stands for the highest version."""
_USER: Final = "contracts"
_FALLBACK_TAG: Final = "latest"
_WANTED_S: Final = 7200.0
"""How long a reference stays wanted without another `want`; the longest sensible interval is shorter."""


class _Seen(msgspec.Struct):
    """The newest state of a tag or digest."""

    content: Content
    digest: str = ""


class _Fault(msgspec.Struct, frozen=True):
    message: str
    may_pass: bool


class Repository:
    def __init__(self, name: str, source: RegistrySource, *, most_versions: int, seconds: Callable[[], float]) -> None:
        self.name = name
        self.refreshed_at: float | None = None
        self.has_failed = False
        """Whether something that is wanted could not be read at the last refresh."""
        self.faults_in_row = 0
        """Refreshes in a row with a fault that may pass."""
        self.ready = asyncio.Event()
        self.reading: frozenset[str] = frozenset()
        """The references that a refresh is reading."""
        self._source, self._most_versions, self._seconds = source, most_versions, seconds
        self._wanted: dict[str, float] = {}
        self._seen: dict[str, _Seen] = {}
        self._best = ""
        self._listed: frozenset[str] = frozenset()
        self._mirrored: tuple[str, ...] = ()
        self._faults: dict[str, str] = {}
        self._unsigned: dict[str, tuple[str, float]] = {}
        """By tag: the digest that had no signature, and when that was first seen."""

    def want(self, reference: str) -> None:
        self._wanted[reference] = self._seconds()

    def content(self, reference: str) -> Content | None:
        """What is known; None before the first attempt to read it."""
        seen = self._seen.get(self._best if reference == LATEST else reference)
        return None if seen is None else seen.content

    def fault(self, reference: str) -> str:
        """Why the content may be outdated; empty if the last refresh could read it."""
        return self._faults.get(reference, "")

    def versions(self) -> tuple[Version, ...]:
        """Of all tags that are versions, newest first, as far as they were read."""
        seen = (self._seen.get(tag) for tag in self._mirrored)
        return tuple(each.content.version for each in seen if each is not None and each.content.version is not None)

    def is_used(self) -> bool:
        """Forgets references that nobody wants any more."""
        now = self._seconds()
        self._wanted = {reference: at for reference, at in self._wanted.items() if now - at < _WANTED_S}
        return bool(self._wanted)

    async def refresh(self, on_ready: Callable[[], None]) -> bool:
        """Read everything again; returns whether anything changed. `on_ready` is called in between."""
        self.is_used()
        self.refreshed_at, self.reading = self._seconds(), frozenset(self._wanted)
        try:
            return await self._refresh(list(self._wanted), on_ready)
        finally:
            self.reading = frozenset()
            self.ready.set()

    async def _refresh(self, wanted: list[str], on_ready: Callable[[], None]) -> bool:
        before = self._state()
        tags = await self._tags() if any(":" not in reference for reference in wanted) else []
        self._listed = frozenset(tags)
        versions = await in_thread(lambda: [tag for _, tag in versions_of(tags)], user=_USER) if tags else []
        best = next(iter(versions), _FALLBACK_TAG)
        faults = {reference: await self._read(reference) for reference in wanted if reference != LATEST}
        if LATEST in wanted:
            faults[best] = faults[best] if best in faults else await self._read(best)
            self._follow(best, faults[best])
            faults[LATEST] = faults[best]
        self.has_failed = any(faults.values())
        self._faults = {
            reference: each.message for reference, each in faults.items() if each is not None and each.may_pass
        }
        self.faults_in_row = self.faults_in_row + 1 if self._faults else 0
        self.ready.set()
        if is_changed := self._state() != before:
            on_ready()
            before = self._state()
        self._mirrored = tuple(versions[: self._most_versions]) or self._mirrored
        for tag in self._mirrored:
            if tag not in faults:
                await self._read(tag)
        kept = {*faults, self._best, *self._mirrored}
        self._seen = {name: seen for name, seen in self._seen.items() if name in kept}
        self._unsigned = {name: since for name, since in self._unsigned.items() if name in kept}
        return is_changed or self._state() != before

    def _follow(self, best: str, fault: _Fault | None) -> None:
        """Use the highest version. If a passing fault keeps it away, the one in use stays while it is listed."""
        held = self._seen.get(self._best)
        stays = fault is not None and fault.may_pass and self._best in self._listed
        if not stays or held is None or not held.digest:
            self._best = best

    def _state(self) -> tuple[object, ...]:
        seen = {name: (each.digest, each.content.version, _message(each.content)) for name, each in self._seen.items()}
        return self._best, self._mirrored, self._faults, seen

    async def _tags(self) -> list[str]:
        """None if they cannot be listed: then the tag `latest` is tried, as for a repository without versions."""
        try:
            return await self._source.tags(self.name)
        except UnreachableError as error:
            log.warning("failed to list tags", extra={"repository": self.name, "reason": str(error)})
            return list(self._mirrored)
        except SourceError:
            return []

    async def _read(self, name: str) -> _Fault | None:
        """Read a tag or digest; None if that succeeded. What was read before stays if the fault may pass."""
        is_digest = ":" in name
        ref = f"{self.name}@{name}" if is_digest else f"{self.name}:{name}"
        before = self._seen.get(name)
        if is_digest and before is not None and before.digest:
            return None
        digest = ""
        try:
            found = await self._source.resolve(ref)
            digest = found.digest
            if before is None or before.digest != found.digest:
                content = await self._pull(found, tag="" if is_digest else name)
                self._seen[name] = _Seen(content, found.digest)
        except SourceError as error:
            log.warning("failed to load contract", extra={"ref": ref, "reason": str(error)})
            fault = _Fault(str(error), self._may_pass(error, name, digest))
            if not fault.may_pass or before is None or not before.digest:
                failure = Failure(
                    f"failed to load the contract: {error}", is_transient=fault.may_pass, reason=error.reason
                )
                self._seen[name] = _Seen(Content(failure))
            return fault
        return None

    def _may_pass(self, error: SourceError, name: str, digest: str) -> bool:
        """A registry may list a tag before it can answer with what the tag names."""
        if isinstance(error, UnsignedError):
            known, since = self._unsigned.get(name, ("", 0.0))
            if known != digest:
                since = self._seconds()
                self._unsigned[name] = (digest, since)
            return self._seconds() - since < SIGN_WITHIN_S
        return isinstance(error, UnreachableError) or (isinstance(error, NotFoundError) and name in self._listed)

    async def _pull(self, found: Resolved, *, tag: str) -> Content:
        pulled = await self._source.pull(found)
        return await asyncio.to_thread(read_bundle, pulled.files, ref=found.ref, tag=tag, digest=found.digest)


def _message(content: Content) -> str:
    return content.loaded.message if isinstance(content.loaded, Failure) else ""
