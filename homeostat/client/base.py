"""A client of any Kubernetes API. It sends and returns objects, and raises the errors of `objects/errors.py`.

A `Transport` carries the requests: over HTTP to a server, or to the embedded plane in the same process.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing
from functools import lru_cache
from math import ceil
from typing import NamedTuple, Protocol
from urllib.parse import urlencode

import msgspec

from homeostat.objects.errors import ApiError, error_of
from homeostat.objects.json import Json, JsonObject, decode_object, decode_stored, encode

MERGE_PATCH = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
ANY = "*/*"
"""Accepts whatever the server sends: metrics and health are text."""
APPLY_PATCH = "application/apply-patch+yaml"
_PAGE = 500


class UnreachableError(Exception):
    """There is no answer: the connection was refused, lost or not trusted.

    If `was_sent` is False, the server has not seen the request, so that it is safe to send it again.
    """

    def __init__(self, message: str, *, was_sent: bool = True) -> None:
        super().__init__(message)
        self.was_sent = was_sent


class Response(NamedTuple):
    status: int
    body: bytes
    retry_after_s: float | None = None
    """The Retry-After header; None if there is none."""


class Transport(Protocol):
    async def send(
        self, method: str, path: str, *, query: str = "", body: bytes = b"", content_type: str = "", accept: str = ""
    ) -> Response: ...

    async def stream(self, path: str, *, query: str = "", accept: str = "") -> Response | AsyncIterator[bytes]:
        """The lines of a streamed answer; a `Response` if the server refused."""


class Event(NamedTuple):
    """One watch event; `type` is ADDED, MODIFIED, DELETED or BOOKMARK."""

    type: str
    obj: JsonObject


class Client:
    """`bearing` makes a transport to the same server that sends a bearer token in place of its own credentials."""

    def __init__(self, transport: Transport, *, bearing: Callable[[str], Transport] | None = None) -> None:
        self._transport, self._bearing = transport, bearing

    def over(self, wrap: Callable[[Transport], Transport]) -> Client:
        """A client of the same server with a wrapped transport."""
        bearing = self._bearing
        return Client(wrap(self._transport), bearing=bearing and (lambda token: wrap(bearing(token))))

    def bearing(self, token: str) -> Client:
        """A client of the same server with this bearer token and no other credentials."""
        if self._bearing is None:
            raise TypeError("this client cannot send the credentials of somebody else")
        return Client(self._bearing(token))

    async def request(
        self,
        method: str,
        path: str,
        query: Mapping[str, object] | None = None,
        *,
        body: Json = None,
        content_type: str = "",
        accept: str = "",
    ) -> JsonObject:
        """Sends one request; raises the `ApiError` of a failure. `accept` requests another representation, such as a
        Table.
        """
        answer = await self.fetch(method, path, query, body=body, content_type=content_type, accept=accept)
        return _decoded(answer, path)

    async def fetch(
        self,
        method: str,
        path: str,
        query: Mapping[str, object] | None = None,
        *,
        body: Json = None,
        content_type: str = "",
        accept: str = "",
    ) -> bytes:
        """As `request`, but returns the encoded answer."""
        response = await self._transport.send(
            method,
            path,
            query=_query(query) if query else "",
            body=b"" if body is None else encode(body),
            content_type=content_type or ("application/json" if body is not None else ""),
            accept=accept,
        )
        if response.status >= 300:
            raise error_in(response)
        return response.body

    async def get(self, path: str) -> JsonObject:
        return await self.request("GET", path)

    async def create(self, path: str, obj: JsonObject) -> JsonObject:
        return await self.request("POST", path, body=obj)

    async def update(self, path: str, obj: JsonObject) -> JsonObject:
        return await self.request("PUT", path, body=obj)

    async def merge(self, path: str, patch: JsonObject) -> JsonObject:
        return await self.request("PATCH", path, body=patch, content_type=MERGE_PATCH)

    async def apply(self, path: str, obj: JsonObject, *, manager: str, force: bool = False) -> JsonObject:
        query = {"fieldManager": manager, "force": str(force).lower()}
        return await self.request("PATCH", path, query, body=obj, content_type=APPLY_PATCH)

    async def delete(self, path: str, options: JsonObject | None = None) -> JsonObject:
        return await self.request("DELETE", path, body=options)

    async def list(self, path: str, *, accept: str = "", **query: object) -> tuple[list[JsonObject], str]:
        """All objects, read in pages, and the resource version of the list."""
        items: list[JsonObject] = []
        token = ""
        while True:
            page = await self.request("GET", path, {"limit": _PAGE, "continue": token, **query}, accept=accept)
            items += page["items"] or ()  # kube-apiserver lists the metadata of no objects as null.
            token = page["metadata"].get("continue", "")
            if not token:
                return items, page["metadata"].get("resourceVersion", "")

    async def watch(self, path: str, *, accept: str = "", **query: object) -> AsyncIterator[Event]:
        """Events until the server ends the watch; an ERROR event raises its error."""
        async with aclosing(self.lines(path, accept=accept, **query)) as lines:
            async for line in lines:
                event = _decoded(line, path)
                if event["type"] == "ERROR":
                    raise error_of(event["object"])
                yield Event(event["type"], event["object"])

    async def lines(self, path: str, *, accept: str = "", **query: object) -> AsyncGenerator[bytes, None]:
        """The encoded events of a watch, including ERROR."""
        lines = await self._transport.stream(path, query=_query({"watch": "true", **query}), accept=accept)
        if isinstance(lines, Response):
            raise error_in(lines)
        try:
            async for line in lines:
                yield line
        finally:
            # Ends the watch on the server now, and not when the generator is garbage collected.
            if isinstance(lines, AsyncGenerator):
                await lines.aclose()


def _query(query: Mapping[str, object]) -> str:
    """Without empty parameters."""
    return _encoded(tuple([(name, str(value)) for name, value in query.items() if value not in {"", None}]))


_encoded = lru_cache(maxsize=256)(urlencode)
"""A controller uses the same few queries again and again."""


def _decoded(data: bytes, path: str) -> JsonObject:
    try:
        return decode_stored(data)
    except msgspec.DecodeError as error:
        raise UnreachableError(f"{path}: the server sent something that is not JSON: {error}") from error


def error_in(response: Response) -> ApiError:
    """The error that a response with a status of 300 or above is about."""
    try:
        error = error_of(decode_object(response.body), code=response.status)
    except ApiError:
        error = error_of({"message": response.body[:200].decode(errors="replace")}, code=response.status)
    if response.retry_after_s is not None and not error.retry_after_s:
        error.retry_after_s = ceil(response.retry_after_s)
    return error
