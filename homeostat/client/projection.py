"""The objects of a kind, seen as a struct that names only the fields one needs.

    class Pod(msgspec.Struct, frozen=True):
        metadata: Metadata
        spec: Spec

    pods = Projection(client, POD, Pod)
    async for pod in pods.list(Selection("shop", labels="app=web")): ...

Answers are decoded straight into the struct: what it does not name is never made into Python objects. Writing keeps
what it does not name: `edit` fetches the object whole and changes in it only what was changed in the struct. An object
that does not fit the struct is a `ProjectionError`.
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
    """An object of the server lacks, or has in another shape, a field that the projection names."""


class Page(msgspec.Struct, Generic[T], frozen=True):
    items: list[T]
    metadata: PageMetadata

    @property
    def version(self) -> str:
        """The revision that the whole list is the state of."""
        return self.metadata.resource_version


class PageMetadata(msgspec.Struct, frozen=True, rename={"resource_version": "resourceVersion", "token": "continue"}):
    resource_version: str = ""
    token: str = ""


class Changed(msgspec.Struct, Generic[T], frozen=True, rename={"obj": "object"}):
    """`type` is ADDED, MODIFIED or DELETED."""

    type: str
    obj: T


class Bookmark(msgspec.Struct, frozen=True):
    """Everything up to the version was sent; with `is_initial_end`, all of the first state too."""

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
        """All pages are of one version; `ExpiredError` where the server has forgotten it before the last one."""
        token = ""
        while True:
            answer = await self._fetch(self._requests.list(selection, limit=limit, token=token, version=version))
            try:
                page = self._page.decode(answer)
            except msgspec.DecodeError as error:
                raise self._unfit(error) from error
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
        """Fetch, change and update; no write where nothing changes, `ConflictError` where somebody else was quicker."""
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
        """`subresource="status"` for the status; apply wants `writing.manager`."""
        request = self._requests.patch(patch, name, namespace, form=form, subresource=subresource, writing=writing)
        return self._decode(await self._fetch(request))

    async def apply(
        self, fields: JsonObject, name: str, namespace: str = "", *, manager: str, is_forced: bool = True
    ) -> T:
        """Has the object say these fields, and makes it where there is none; the manager's earlier ones go.

        What others manage is taken over, or a `ConflictError` where that is not `is_forced`.
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
        """As `Requests.delete` says. When it returns the object may still be there, waiting for its finalizers."""
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
            raise self._unfit(error) from error

    def _event(self, line: bytes) -> Changed[T] | Bookmark:
        try:
            event = self._changed.decode(line)
        except msgspec.DecodeError:
            return self._rare_event(line)
        return event if event.type in _CHANGES else self._rare_event(line)

    def _rare_event(self, line: bytes) -> Changed[T] | Bookmark:
        """What is not a change, or does not look like one: its object need not fit the struct."""
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

    def _unfit(self, error: msgspec.DecodeError) -> ProjectionError:
        return ProjectionError(f"a {self.kind.title} does not match {self._shape.__name__}: {error}")


def _wire(obj: msgspec.Struct | JsonObject) -> JsonObject:
    found: JsonObject = msgspec.to_builtins(obj)
    return found
