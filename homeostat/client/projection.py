"""The objects of a kind as structs that have only the required fields.

    class Pod(msgspec.Struct, frozen=True):
        metadata: Metadata
        spec: Spec

    pods = Projection(client, POD, Pod)
    async for pod in pods.list(Selection("shop", labels="app=web")): ...

Answers are decoded directly into the struct; the decoder skips other fields. Writing keeps other fields: `edit` fetches
the whole object and changes only the fields that changed in the struct. An object that does not match the struct raises
`ProjectionError`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Generic, TypeVar

import msgspec

from homeostat.client.base import Client, UnreachableError
from homeostat.client.overlay import overlay
from homeostat.client.requests import EVERYTHING, PLAIN, Form, Propagation, Request, Requests, Selection, Writing
from homeostat.objects.errors import error_of
from homeostat.objects.json import Json, JsonObject, decode_stored
from homeostat.objects.kind import Kind

T = TypeVar("T", bound=msgspec.Struct)
INITIAL_END = "k8s.io/initial-events-end"


class ProjectionError(Exception):
    """An object does not match the projection: a field is missing or has another type."""


class Page(msgspec.Struct, Generic[T], frozen=True):
    items: list[T]
    metadata: PageMetadata

    @property
    def version(self) -> str:
        """The resource version of the list."""
        return self.metadata.resource_version


class PageMetadata(msgspec.Struct, frozen=True, rename={"resource_version": "resourceVersion", "token": "continue"}):
    resource_version: str = ""
    token: str = ""


class Changed(msgspec.Struct, Generic[T], frozen=True, rename={"obj": "object"}):
    """`type` is ADDED, MODIFIED or DELETED."""

    type: str
    obj: T


class Bookmark(msgspec.Struct, frozen=True):
    """All events up to the version were sent. `is_initial_end` marks the end of the initial events."""

    version: str
    is_initial_end: bool = False


class _Line(msgspec.Struct):
    type: str
    object: msgspec.Raw


class _MarkMetadata(msgspec.Struct, rename="camel"):
    resource_version: str
    annotations: dict[str, str] = {}


class _Mark(msgspec.Struct):
    metadata: _MarkMetadata


_CHANGES = frozenset({"ADDED", "MODIFIED", "DELETED"})
_line = msgspec.json.Decoder(_Line)
_mark = msgspec.json.Decoder(_Mark)


class Projection(Generic[T]):
    def __init__(self, client: Client, kind: Kind, shape: type[T]) -> None:
        self.kind = kind
        self._client = client
        self._requests = Requests(kind)
        self._shape = shape
        self._one = msgspec.json.Decoder(shape)
        self._changed: msgspec.json.Decoder[Changed[T]] = msgspec.json.Decoder(Changed[shape])  # type: ignore[valid-type]
        self._page: msgspec.json.Decoder[Page[T]] = msgspec.json.Decoder(Page[shape])  # type: ignore[valid-type]

    async def get(self, name: str, namespace: str = "") -> T:
        return self._decode(await self._fetch(self._requests.get(name, namespace)))

    async def pages(
        self, selection: Selection = EVERYTHING, *, limit: int = 500, version: str = ""
    ) -> AsyncGenerator[Page[T], None]:
        """All pages have one resource version; `ExpiredError` if the server compacts it before the last page."""
        token = ""
        while True:
            answer = await self._fetch(self._requests.list(selection, limit=limit, token=token, version=version))
            try:
                page = self._page.decode(answer)
            except msgspec.DecodeError as error:
                raise self._unreadable(error) from error
            yield page
            token = page.metadata.token
            if not token:
                return

    async def list(self, selection: Selection = EVERYTHING, *, limit: int = 500) -> AsyncGenerator[T, None]:
        """Every object; the next page is fetched when it is reached."""
        async with aclosing(self.pages(selection, limit=limit)) as pages:
            async for page in pages:
                for obj in page.items:
                    yield obj

    async def watch(
        self, selection: Selection = EVERYTHING, *, version: str = "", has_initial: bool = False, timeout_s: int = 0
    ) -> AsyncGenerator[Changed[T] | Bookmark, None]:
        """Events after the version until the server ends the watch; an ERROR event raises its error."""
        request = self._requests.watch(selection, version=version, has_initial=has_initial, timeout_s=timeout_s)
        async with aclosing(self._client.lines(request.path, accept="", **request.query)) as lines:
            async for line in lines:
                yield self._event(line)

    async def create(self, obj: T | JsonObject, namespace: str = "", *, writing: Writing = PLAIN) -> T:
        return self._decode(await self._fetch(self._requests.create(_wire(obj), namespace, writing=writing)))

    async def edit(
        self,
        name: str,
        namespace: str = "",
        *,
        change: Callable[[T], T],
        subresource: str = "",
        writing: Writing = PLAIN,
    ) -> T:
        """Fetch, change and update. Nothing is written if nothing changes; `ConflictError` if another writer was
        faster.
        """
        raw = await self._fetch(self._requests.get(name, namespace))
        old = self._decode(raw)
        new = change(old)
        if new == old:
            return old
        whole: JsonObject = overlay(decode_stored(raw), msgspec.to_builtins(old), msgspec.to_builtins(new))
        request = self._requests.update(whole, name, namespace, subresource=subresource, writing=writing)
        return self._decode(await self._fetch(request))

    async def patch(
        self,
        patch: Json,
        name: str,
        namespace: str = "",
        *,
        form: Form = "merge",
        subresource: str = "",
        writing: Writing = PLAIN,
    ) -> T:
        """`subresource="status"` patches the status; apply requires `writing.manager`."""
        request = self._requests.patch(patch, name, namespace, form=form, subresource=subresource, writing=writing)
        return self._decode(await self._fetch(request))

    async def apply(
        self, fields: JsonObject, name: str, namespace: str = "", *, manager: str, is_forced: bool = True
    ) -> T:
        """Server-side apply: sets these fields, creates the object if it does not exist, and removes fields that the
        manager applied before. Without `is_forced`, fields of other managers raise `ConflictError`.
        """
        metadata = {**(fields.get("metadata") or {}), "name": name}
        whole = {"apiVersion": self.kind.api_version, "kind": self.kind.kind, **fields, "metadata": metadata}
        writing = Writing(manager=manager, is_forced=is_forced)
        return await self.patch(whole, name, namespace, form="apply", writing=writing)

    async def delete(
        self,
        name: str,
        namespace: str = "",
        *,
        uid: str = "",
        version: str = "",
        propagation: Propagation = "",
        grace_s: int | None = None,
    ) -> None:
        """As `Requests.delete`. When it returns, the object may still exist and wait for its finalizers."""
        await self._fetch(
            self._requests.delete(name, namespace, uid=uid, version=version, propagation=propagation, grace_s=grace_s)
        )

    async def delete_all(self, selection: Selection, *, propagation: Propagation = "") -> None:
        await self._fetch(self._requests.delete_all(selection, propagation=propagation))

    async def _fetch(self, request: Request) -> bytes:
        return await self._client.fetch(
            request.method, request.path, request.query, body=request.body, content_type=request.content_type
        )

    def _decode(self, data: bytes | msgspec.Raw) -> T:
        try:
            return self._one.decode(data)
        except msgspec.DecodeError as error:
            raise self._unreadable(error) from error

    def _event(self, line: bytes) -> Changed[T] | Bookmark:
        try:
            event = self._changed.decode(line)
        except msgspec.DecodeError:
            return self._rare_event(line)
        return event if event.type in _CHANGES else self._rare_event(line)

    def _rare_event(self, line: bytes) -> Changed[T] | Bookmark:
        """An event that is not a change, or does not match: its object need not match the struct."""
        try:
            event = _line.decode(line)
            if event.type == "BOOKMARK":
                metadata = _mark.decode(event.object).metadata
                return Bookmark(metadata.resource_version, metadata.annotations.get(INITIAL_END) == "true")
        except msgspec.DecodeError as error:
            raise UnreachableError(f"{self.kind.title}: the watch sent no event: {error}") from error
        if event.type == "ERROR":
            raise error_of(decode_stored(bytes(event.object)))
        return Changed(event.type, self._decode(event.object))

    def _unreadable(self, error: msgspec.DecodeError) -> ProjectionError:
        return ProjectionError(f"a {self.kind.title} does not match {self._shape.__name__}: {error}")


def _wire(obj: msgspec.Struct | JsonObject) -> JsonObject:
    found: JsonObject = msgspec.to_builtins(obj)
    return found
