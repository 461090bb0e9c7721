"""One repository of a registry, as one credential sees it: its tags, their digests, and the contracts behind them.

    repository.want("")            # the highest version; or a tag, or a digest
    await repository.refresh()     # one list of tags, one digest a tag, and what is new is pulled
    repository.content("")

All Pactos of a repository share it, so that its registry is asked once in an interval, whatever the number of
Pactos and of changes. What they follow is read first (`on_ready`), then the other versions, newest first. If the
registry cannot be reached, what was read before stays.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Final

import msgspec

from homeostat.operators.contracts.engine.checks.evaluate import Failure
from homeostat.operators.contracts.engine.constraint import best_tag
from homeostat.operators.contracts.engine.semver import versions_of
from homeostat.operators.contracts.loading.content import Content, Version, read_bundle
from homeostat.operators.contracts.sources.errors import SourceError, UnreachableError
from homeostat.operators.contracts.sources.registry import RegistrySource, Resolved

log = logging.getLogger(__name__)

LATEST: Final = ""
"""The wish for the highest version."""
_FALLBACK_TAG: Final = "latest"
_WISH_S: Final = 7200.0
"""How long a wish counts that nobody repeats; the longest sensible interval is shorter."""


class _Seen(msgspec.Struct):
    """The newest state of a tag or digest."""

    content: Content
    digest: str = ""


class Repository:
    def __init__(self, name: str, source: RegistrySource, *, most_versions: int, seconds: Callable[[], float]) -> None:
        self.name = name
        self.refreshed_at: float | None = None
        self.has_failed = False
        """Whether something that is wished for could not be read at the last refresh."""
        self.ready = asyncio.Event()
        self.reading: frozenset[str] = frozenset()
        """The wishes that a refresh is reading."""
        self._source, self._most_versions, self._seconds = source, most_versions, seconds
        self._wishes: dict[str, float] = {}
        self._seen: dict[str, _Seen] = {}
        self._best = ""
        self._mirrored: tuple[str, ...] = ()

    def want(self, wish: str) -> None:
        self._wishes[wish] = self._seconds()

    def content(self, wish: str) -> Content | None:
        """What is known; None before the first attempt to read it."""
        seen = self._seen.get(self._best if wish == LATEST else wish)
        return None if seen is None else seen.content

    def versions(self) -> tuple[Version, ...]:
        """Of all tags that are versions, newest first, as far as they were read."""
        seen = (self._seen.get(tag) for tag in self._mirrored)
        return tuple(each.content.version for each in seen if each is not None and each.content.version is not None)

    def is_used(self) -> bool:
        """Forgets wishes that nobody repeats."""
        now = self._seconds()
        self._wishes = {wish: at for wish, at in self._wishes.items() if now - at < _WISH_S}
        return bool(self._wishes)

    async def refresh(self, on_ready: Callable[[], None]) -> bool:
        """Read everything anew; returns whether anything changed. `on_ready` is called in between."""
        self.is_used()
        self.refreshed_at, self.reading = self._seconds(), frozenset(self._wishes)
        try:
            return await self._refresh(list(self._wishes), on_ready)
        finally:
            self.reading = frozenset()
            self.ready.set()

    async def _refresh(self, wishes: list[str], on_ready: Callable[[], None]) -> bool:
        before = self._state()
        digests = {wish for wish in wishes if ":" in wish}
        tags = await self._tags() if any(wish not in digests for wish in wishes) else ()
        self._best = best_tag(tags) or _FALLBACK_TAG
        followed = [self._best if wish == LATEST else wish for wish in wishes]
        self.has_failed = False
        for name in dict.fromkeys(followed):
            self.has_failed |= not await self._read(name)
        self.ready.set()
        if is_changed := self._state() != before:
            on_ready()
            before = self._state()
        self._mirrored = tuple(tag for _, tag in versions_of(tags)[: self._most_versions]) or self._mirrored
        for tag in self._mirrored:
            if tag not in followed:
                await self._read(tag)
        self._seen = {name: seen for name, seen in self._seen.items() if name in {*followed, *self._mirrored}}
        return is_changed or self._state() != before

    def _state(self) -> tuple[object, ...]:
        seen = {name: (each.digest, each.content.version, _message(each.content)) for name, each in self._seen.items()}
        return self._best, self._mirrored, seen

    async def _tags(self) -> list[str]:
        """None if they cannot be listed: then the tag `latest` is tried, as for a repository without versions."""
        try:
            return await self._source.tags(self.name)
        except UnreachableError as error:
            log.warning("failed to list tags", extra={"repository": self.name, "reason": str(error)})
            return list(self._mirrored)
        except SourceError:
            return []

    async def _read(self, name: str) -> bool:
        """Whether the tag or digest could be read; what was read before stays if the registry is unreachable."""
        is_digest = ":" in name
        ref = f"{self.name}@{name}" if is_digest else f"{self.name}:{name}"
        before = self._seen.get(name)
        if is_digest and before is not None and before.digest:
            return True
        try:
            found = await self._source.resolve(ref)
            if before is None or before.digest != found.digest:
                content = await self._pull(found, tag="" if is_digest else name)
                self._seen[name] = _Seen(content, found.digest)
        except SourceError as error:
            if not isinstance(error, UnreachableError) or before is None or not before.digest:
                self._seen[name] = _Seen(Content(Failure(f"failed to load the contract: {error}")))
            log.warning("failed to load contract", extra={"ref": ref, "reason": str(error)})
            return False
        return True

    async def _pull(self, found: Resolved, *, tag: str) -> Content:
        pulled = await self._source.pull(found)
        return await asyncio.to_thread(read_bundle, pulled.files, ref=found.ref, tag=tag, digest=found.digest)


def _message(content: Content) -> str:
    return content.loaded.message if isinstance(content.loaded, Failure) else ""
