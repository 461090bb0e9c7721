"""A server as far as the wire shows it: lists that are told, watches that say what they are fed. Takes no time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import NamedTuple
from urllib.parse import parse_qs

from homeostat.client.base import Response, UnreachableError
from homeostat.objects.errors import BadRequestError, status_of
from homeostat.objects.json import JsonObject, encode

NO_STREAMED_LISTS = Response(400, encode(status_of(BadRequestError("sendInitialEvents is unknown here"))))


class Sent(NamedTuple):
    method: str
    path: str


class Wire:
    """`answer` is what writes get. `lists` and `objects` are what there is, by path; `is_down` refuses everything."""

    def __init__(self, lists: dict[str, list[JsonObject]] | None = None) -> None:
        self.lists = lists or {}
        self.objects: dict[str, JsonObject] = {}
        self.answer = Response(200, b"{}")
        self.sent: list[Sent] = []
        self.is_down = False
        self._feeds: dict[tuple[str, str], list[asyncio.Queue[JsonObject | None]]] = {}

    async def send(
        self, method: str, path: str, *, query: str = "", body: bytes = b"", content_type: str = "", accept: str = ""
    ) -> Response:
        self.sent.append(Sent(method, path))
        await asyncio.sleep(0)
        if self.is_down:
            raise UnreachableError("connection refused", was_sent=False)
        if method != "GET":
            return self.answer
        if path in self.objects:
            return Response(200, encode(self.objects[path]))
        if path not in self.lists:
            return Response(404, b'{"kind":"Status","code":404,"reason":"NotFound","message":"no such kind"}')
        return Response(200, encode({"metadata": {"resourceVersion": "10"}, "items": self.lists[path]}))

    async def stream(self, path: str, *, query: str = "", accept: str = "") -> Response | AsyncIterator[bytes]:
        asked = parse_qs(query)
        self.sent.append(Sent("WATCH", path))
        if self.is_down:
            raise UnreachableError("connection refused", was_sent=False)
        if "sendInitialEvents" in asked:
            return NO_STREAMED_LISTS
        selector = "".join(asked.get("labelSelector", ()) or asked.get("fieldSelector", ()))
        feed: asyncio.Queue[JsonObject | None] = asyncio.Queue()
        self._feeds.setdefault((path, selector), []).append(feed)
        return _lines(feed)

    def feed(self, path: str, kind: str, obj: JsonObject, *, selector: str = "") -> None:
        """To all who watch the collection with this selector."""
        for each in self._feeds[path, selector]:
            each.put_nowait({"type": kind, "object": obj})

    def hang_up(self) -> None:
        for feeds in self._feeds.values():
            for each in feeds:
                each.put_nowait(None)
            feeds.clear()


async def _lines(feed: asyncio.Queue[JsonObject | None]) -> AsyncIterator[bytes]:
    while (event := await feed.get()) is not None:
        yield encode(event)


def thing(name: str, version: int = 1, *, namespace: str = "shop", uid: str = "", **labels: str) -> JsonObject:
    metadata = {"name": name, "namespace": namespace, "resourceVersion": str(version), "uid": uid, "labels": labels}
    return {"metadata": metadata}
