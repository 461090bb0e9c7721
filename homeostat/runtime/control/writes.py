"""Tracks the writes of a reconciliation: whether they are allowed, and when the caches have seen them.

Promises, each tested:

- the answer to a write sets the version that the caches of its kind have to reach, and `caught_up` returns when they
  have seen all writes of a scope: a reconciliation never sees an older version of an object than it wrote
- a reconciliation never sees an object that it deleted, except as a terminating one
- in a scope that may not write, nothing is sent: neither by a former leader nor in a dry run

A scope is the work on one object. Tasks that it starts belong to it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Hashable, Mapping
from contextvars import ContextVar
from typing import Any, Generic, TypeVar

import msgspec

from homeostat.client.base import Response, Transport
from homeostat.runtime.cache.cache import Cache
from homeostat.runtime.cache.freshness import Deletion
from homeostat.runtime.cache.informer import Informer, Informers
from homeostat.runtime.watch.source import Source, place_of

K = TypeVar("K", bound=Hashable)
_MOST_PENDING = 1000
_FEWEST_TO_SWEEP = 256
_WITH_OTHER_FINALIZERS = frozenset({("", "namespaces")})
"""A namespace is not removed with the last finalizer of its metadata, because its spec has others."""


class RefusedWriteError(Exception):
    """A write that is not allowed: this process is not the leader, or this is a dry run."""


class Scope:
    """The writes of one object's reconciliations. `refusal` returns why none may be sent; empty if they may."""

    __slots__ = ("_pending", "_refusal", "writes")

    def __init__(self, refusal: Callable[[], str] = lambda: "") -> None:
        self._refusal, self.writes = refusal, 0
        self._pending: dict[tuple[int, str, str], Cache[Any]] = {}

    def check(self, method: str, path: str) -> None:
        if reason := self._refusal():
            raise RefusedWriteError(f"{method} {path} was not sent: {reason}")

    @property
    def is_open(self) -> bool:
        return not self._refusal()

    def wrote(self, cache: Cache[Any], namespace: str, name: str) -> None:
        self.writes += 1
        if len(self._pending) >= _MOST_PENDING:
            self._forget_seen()
        self._pending[id(cache), namespace, name] = cache

    @property
    def is_behind(self) -> bool:
        self._forget_seen()
        return bool(self._pending)

    async def caught_up(self) -> None:
        """Waits until the caches have seen every write of the scope. The caller sets the timeout."""
        while self._pending:
            (key, cache) = next(iter(self._pending.items()))
            await cache.await_version(key[1], key[2])
            self._pending.pop(key, None)

    def _forget_seen(self) -> None:
        self._pending = {key: cache for key, cache in self._pending.items() if cache.is_behind(key[1], key[2])}


class Scopes(Generic[K]):
    """The scopes of objects whose writes were not all seen yet. There are few: most writes are seen before the next
    reconciliation. The seen ones are dropped when the number of scopes has doubled.
    """

    def __init__(self) -> None:
        self._behind: dict[K, Scope] = {}
        self._sweep_at = _FEWEST_TO_SWEEP

    def __len__(self) -> int:
        return len(self._behind)

    def take(self, key: K, refusal: Callable[[], str]) -> Scope:
        """The scope of the key if it is still behind, otherwise a new one."""
        return self._behind.pop(key, None) or Scope(refusal)

    def keep(self, key: K, scope: Scope) -> None:
        if not scope.is_behind:
            return
        self._behind[key] = scope
        if len(self._behind) >= self._sweep_at:
            self._behind = {each: kept for each, kept in self._behind.items() if kept.is_behind}
            self._sweep_at = max(_FEWEST_TO_SWEEP, 2 * len(self._behind))

    def clear(self) -> None:
        self._behind.clear()


_current: ContextVar[Scope | None] = ContextVar("homeostat_writes", default=None)


class writing_in:  # noqa: N801
    """Writes inside the block belong to the scope. A class, because a generator would take three times as long."""

    __slots__ = ("_scope", "_token")

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def __enter__(self) -> None:
        self._token = _current.set(self._scope)

    def __exit__(self, *_: object) -> None:
        _current.reset(self._token)


def may_write() -> bool:
    """Whether writes of the running reconciliation are sent. False in a dry run, which decides without acting."""
    scope = _current.get()
    return scope is None or scope.is_open


class _Metadata(msgspec.Struct, rename="camel", gc=False):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None
    finalizers: list[str] | None = None

    @property
    def is_gone(self) -> bool:
        """A server removes a terminating object with the write that removes its last finalizer."""
        return self.deletion_grace_period_seconds == 0 and not self.finalizers


class _Written(msgspec.Struct, gc=False):
    kind: str = ""
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


class _Status(msgspec.Struct):
    """The answer for an object that was deleted at once."""

    details: _Metadata = msgspec.field(default_factory=_Metadata)


class _List(msgspec.Struct):
    """The answer for a deleted collection: the objects, in their versions before."""

    items: list[_Written] | None = None


class _DeleteOptions(msgspec.Struct, rename="camel"):
    dry_run: list[str] = []


_written = msgspec.json.Decoder(_Written)
_status = msgspec.json.Decoder(_Status)
_list = msgspec.json.Decoder(_List)
_delete_options = msgspec.json.Decoder(_DeleteOptions)


class Watched:
    """A transport that sends what its scope allows and notes in the caches what was written."""

    def __init__(self, transport: Transport, informers: Informers) -> None:
        self._transport, self._informers = transport, informers

    async def send(
        self, method: str, path: str, *, query: str = "", body: bytes = b"", content_type: str = "", accept: str = ""
    ) -> Response:
        scope = None if method == "GET" else _current.get()
        if scope is not None:
            scope.check(method, path)
        known = self._known(path) if scope is not None and method == "DELETE" else {}
        response = await self._transport.send(
            method, path, query=query, body=body, content_type=content_type, accept=accept
        )
        is_deletion = method == "DELETE"
        is_dry_run = "dryRun=" in query or (is_deletion and _is_dry_run(body))
        if scope is not None and response.status < 300 and not is_dry_run:
            self._note_write(scope, path, response.body)
            if is_deletion:
                self._note_deletion(scope, path, response.body, known)
        return response

    async def stream(self, path: str, *, query: str = "", accept: str = "") -> Response | AsyncIterator[bytes]:
        return await self._transport.stream(path, query=query, accept=accept)

    def _known(self, path: str) -> dict[Informer[Any], int]:
        place = place_of(path)
        return {each: each.cache.newest_known for each in self._informers.of(place.group, place.plural)}

    def _note_write(self, scope: Scope, path: str, body: bytes) -> None:
        try:
            metadata = _written.decode(body).metadata
            version = int(metadata.resource_version or 0)
        except (msgspec.DecodeError, ValueError):
            return
        if not version or not metadata.name:
            return
        place = place_of(path)
        is_gone = metadata.is_gone and (place.group, place.plural) not in _WITH_OTHER_FINALIZERS
        for informer in self._informers.of(place.group, place.plural):
            if _is_about(informer.source, informer.cache, metadata):
                informer.cache.wrote(metadata.namespace, metadata.name, version)
                if is_gone:
                    deletion = Deletion(metadata.uid, version, is_final=True)
                    informer.cache.deleted(metadata.namespace, metadata.name, deletion)
                scope.wrote(informer.cache, metadata.namespace, metadata.name)

    def _note_deletion(self, scope: Scope, path: str, body: bytes, known: Mapping[Informer[Any], int]) -> None:
        place = place_of(path)
        for metadata in _deleted(body, place.namespace):
            for informer in self._informers.of(place.group, place.plural):
                if _is_about(informer.source, informer.cache, metadata):
                    deletion = Deletion(metadata.uid, known.get(informer, 0))
                    informer.cache.deleted(metadata.namespace, metadata.name, deletion)
                    scope.wrote(informer.cache, metadata.namespace, metadata.name)


def _is_dry_run(body: bytes) -> bool:
    try:
        return bool(body and _delete_options.decode(body).dry_run)
    except msgspec.DecodeError:
        return False


def _deleted(body: bytes, namespace: str) -> list[_Metadata]:
    """The objects that the answer says are deleted, without a version."""
    try:
        answer = _written.decode(body)
        if answer.metadata.name:
            # For some kinds the answer is the last state of the deleted object; a terminating one has a deletion time.
            is_gone = answer.metadata.uid and answer.metadata.deletion_timestamp is None
            return [answer.metadata] if is_gone else []
        if answer.kind == "Status":
            details = _status.decode(body).details
            return [_Metadata(details.name, namespace, details.uid)] if details.uid else []
        return [each.metadata for each in _list.decode(body).items or () if each.metadata.uid]
    except msgspec.DecodeError:
        return []


def _is_about(source: Source, cache: Cache[Any], metadata: _Metadata) -> bool:
    """Whether the watch of this source, of the same collection, will deliver the write."""
    if source.place.namespace not in {"", metadata.namespace}:
        return False
    return source.is_whole or cache.knows(metadata.namespace, metadata.name)
