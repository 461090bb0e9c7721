"""The bundles of registries, for details, versions and differences: pulled once, and kept in memory.

    bundle = await library.bundle(Wanted("registry.example.org/c/ledger:1.4.0", digest="sha256:..."))
    library.held(wanted)                    # only if it is in memory already

Promises, each with a test: what one credential pulled is not given to who has another, and what was verified with some
keys, or not at all, is not given to who trusts others; equal requests share one pull;
a failure is not repeated within half a minute; all bundles in memory together stay below a limit, and those used least
recently go first; a pull ends in time.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any, Final, Protocol, TypeVar, cast

import msgspec

from homeostat.edge.threads import in_thread
from homeostat.external.oci.auth import Keychain
from homeostat.objects.versions.semver import versions_of
from homeostat.operators.contracts.engine.bundle.bundle import Bundle
from homeostat.operators.contracts.engine.document.parse import ParseError
from homeostat.operators.contracts.engine.reference import has_tag_or_digest, parse_parts, registry_reference
from homeostat.operators.contracts.live.trust import Trust
from homeostat.operators.contracts.sources.errors import InvalidBundleError, SourceError, UnreachableError
from homeostat.operators.contracts.sources.registry import Pulled, RegistrySource, Resolved

LIMIT_BYTES: Final = 128 << 20
AT_ONCE: Final = 8
PULL_WITHIN_S: Final = 30.0
TAGS_LIFE_S: Final = 300.0
FAILURE_LIFE_S: Final = 30.0
_MOST_ANSWERS: Final = 4096
_USER: Final = "contracts"
_OVERHEAD: Final = 8 << 10
"""Bytes that a bundle takes beside its files."""

T = TypeVar("T")
HeldKey = tuple[tuple[str, str], str, str]
"""Pull secret, identity of the trusted keys, digest."""


class Wanted(msgspec.Struct, frozen=True):
    """A reference; with the digest, if it is known. `secret` is the pull secret to use, as namespace and name.

    With `trust`, only a bundle that one of its keys has signed is given.
    """

    ref: str
    digest: str = ""
    constraint: str = ""
    secret: tuple[str, str] = ("", "")
    trust: Trust | None = None

    def held_as(self, digest: str) -> HeldKey:
        return self.secret, "" if self.trust is None else self.trust.identity, digest


class Keychains(Protocol):
    async def __call__(self, namespace: str, name: str) -> Keychain:
        """The credentials of a pull secret. Raises `SourceError`."""


NewSource = Callable[[Keychain | None, Trust | None], RegistrySource]


class Library:
    """`seconds` is a monotonic clock."""

    def __init__(
        self,
        new_source: NewSource,
        keychains: Keychains,
        *,
        seconds: Callable[[], float],
        limit_bytes: int = LIMIT_BYTES,
    ) -> None:
        self._new_source, self._keychains, self._seconds, self._limit = new_source, keychains, seconds, limit_bytes
        self._held: OrderedDict[HeldKey, tuple[Bundle, int]] = OrderedDict()
        self._size = 0
        self._digests: dict[Wanted, str] = {}
        self._tags: dict[Wanted, tuple[float, list[str]]] = {}
        self._failures: dict[tuple[str, Wanted], tuple[float, SourceError]] = {}
        self._running: dict[tuple[str, Wanted], asyncio.Task[object]] = {}
        self._places = asyncio.Semaphore(AT_ONCE)

    def held(self, wanted: Wanted) -> Bundle | None:
        found = self._held.get(wanted.held_as(wanted.digest or self._digests.get(wanted, "")))
        return found[0] if found is not None else None

    async def bundle(self, wanted: Wanted) -> Bundle:
        """Raises `SourceError`."""
        key = wanted.held_as(wanted.digest)
        if wanted.digest and key in self._held:
            self._held.move_to_end(key)
            return self._held[key][0]
        return await self._once("bundle", wanted, lambda: self._pulled(wanted))

    async def tags(self, wanted: Wanted) -> list[str]:
        """All versions of a repository, newest first. Raises `SourceError`."""
        name = parse_parts(registry_reference(wanted.ref)).name
        key = Wanted(name, secret=wanted.secret)
        until, tags = self._tags.get(key, (0.0, []))
        if until > self._seconds():
            return tags
        return await self._once("tags", key, lambda: self._listed(key))

    def forget(self) -> None:
        """Ask the registries again. Bundles stay: the content of a digest never changes."""
        self._tags.clear()
        self._failures.clear()
        self._digests.clear()

    async def close(self) -> None:
        """End what is under way."""
        running = list(self._running.values())
        for each in running:
            each.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    async def _pulled(self, wanted: Wanted) -> Bundle:
        source = await self._source(wanted)
        if wanted.digest:
            # A tag may be overwritten since; the digest is what was recorded.
            found = Resolved(_pinned(wanted), wanted.digest)
            await source.resolve(f"{parse_parts(found.ref).name}@{wanted.digest}")
        else:
            found = await source.resolve(wanted.ref, wanted.constraint)
        _bound(self._digests)
        self._digests[wanted] = found.digest
        held = self._held.get(wanted.held_as(found.digest))
        if held is not None:
            return held[0]
        bundle = _parsed(await source.pull(found))
        self._keep(wanted.held_as(found.digest), bundle)
        return bundle

    async def _listed(self, wanted: Wanted) -> list[str]:
        source = await self._source(wanted)
        found = await source.tags(wanted.ref)
        tags = await in_thread(lambda: [tag for _, tag in versions_of(found)], user=_USER)
        _bound(self._tags)
        self._tags[wanted] = (self._seconds() + TAGS_LIFE_S, tags)
        return tags

    async def _source(self, wanted: Wanted) -> RegistrySource:
        namespace, name = wanted.secret
        return self._new_source(await self._keychains(namespace, name) if name else None, wanted.trust)

    async def _once(self, what: str, wanted: Wanted, work: Callable[[], Awaitable[T]]) -> T:
        key = (what, wanted)
        until, error = self._failures.get(key, (0.0, None))
        if error is not None and until > self._seconds():
            raise error
        running = self._running.get(key)
        if running is None:
            running = self._running[key] = asyncio.create_task(self._limited(key, work))
            running.add_done_callback(lambda done: self._done(key, done))
        # A caller that goes away does not end what others wait for.
        return cast("T", await asyncio.shield(running))

    async def _limited(self, key: tuple[str, Wanted], work: Callable[[], Awaitable[T]]) -> object:
        try:
            async with asyncio.timeout(PULL_WITHIN_S), self._places:
                return await work()
        except TimeoutError:
            failure: SourceError = UnreachableError(f"{key[1].ref}: timed out after {PULL_WITHIN_S:g} s")
        except SourceError as error:
            failure = error
        _bound(self._failures)
        self._failures[key] = (self._seconds() + FAILURE_LIFE_S, failure)
        raise failure

    def _done(self, key: tuple[str, Wanted], done: asyncio.Task[object]) -> None:
        self._running.pop(key, None)
        if not done.cancelled():
            # Nobody may be waiting any more.
            done.exception()

    def _keep(self, key: HeldKey, bundle: Bundle) -> None:
        size = sum(map(len, bundle.files.values())) + _OVERHEAD
        self._held[key] = (bundle, size)
        self._size += size
        while self._size > self._limit and len(self._held) > 1:
            self._size -= self._held.popitem(last=False)[1][1]


def _pinned(wanted: Wanted) -> str:
    text = registry_reference(wanted.ref)
    return text if has_tag_or_digest(text) else f"{text}@{wanted.digest}"


def _parsed(pulled: Pulled) -> Bundle:
    try:
        return pulled.bundle()
    except ParseError as error:
        raise InvalidBundleError(f"{pulled.ref}: {error}") from error


def _bound(kept: dict[Any, Any]) -> None:
    if len(kept) >= _MOST_ANSWERS:
        kept.clear()
