"""`/events` and `/resources/{id}/events`: changes of resources as server-sent events.

    async with open_events(face) as events:
        app = rest_app(face, more=[events.add_routes])

Events come from watches, so they include writes by other servers and by `kubectl`. A client that resumes with
`Last-Event-ID`, at any server, gets the events that it missed (`follower.py`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Final

import msgspec

from homeostat.edge.reply import StreamReply
from homeostat.edge.request import Request
from homeostat.edge.stream import Stream
from homeostat.web.actions.events.feed import Feed
from homeostat.web.actions.events.follower import KEEP_ALIVE_S, Follower, Wanted
from homeostat.web.actions.events.position import Position, read_position
from homeostat.web.actions.face import Face, check_right
from homeostat.web.actions.index.lookup import find_numbered
from homeostat.web.actions.pages.history import History
from homeostat.web.kit.form import read_number, read_query
from homeostat.web.kit.gate import Caller
from homeostat.web.kit.refusal import RefusalError
from homeostat.web.kit.routing import API, Add

log = logging.getLogger(__name__)

MOST_STREAMS: Final = 1000
CONTENT_TYPE: Final = "text/event-stream; charset=utf-8"
_HEADERS: Final = (("Cache-Control", "no-cache"), ("X-Accel-Buffering", "no"))


class EventQuery(msgspec.Struct, frozen=True):
    last_event_id: str = ""


class EventsQuery(EventQuery, frozen=True):
    resource_type: str = ""


class Events:
    def __init__(self, face: Face, tasks: asyncio.TaskGroup, *, keep_alive_s: float = KEEP_ALIVE_S) -> None:
        self._face, self._tasks, self._keep_alive_s = face, tasks, keep_alive_s
        self.feed = Feed(face.index)
        self._streams: dict[Stream, asyncio.Task[None]] = {}

    @property
    def count(self) -> int:
        """The number of open streams."""
        return len(self._streams)

    def add_routes(self, add: Add) -> None:
        add("GET", f"{API}/events", self.follow_all)
        add("GET", f"{API}/resources/{{id}}/events", self.follow_one)

    async def follow_all(self, request: Request, captured: Mapping[str, str]) -> StreamReply:
        caller, query = await self._face.identify(request), read_query(request, EventsQuery)
        kind = self._face.index.kind_named(query.resource_type) if query.resource_type else ""
        return await self._reply(request, caller, Wanted(kind, query.resource_type), _since(request, query))

    async def follow_one(self, request: Request, captured: Mapping[str, str]) -> StreamReply:
        caller, query = await self._face.identify(request), read_query(request, EventQuery)
        number, since = read_number(captured, "id"), _since(request, query)
        wanted = await self._find(caller, number, may_be_gone=since is not None)
        return await self._reply(request, caller, wanted, since)

    def close(self) -> None:
        self.feed.end()
        for stream, task in list(self._streams.items()):
            task.cancel()
            stream.close()

    async def _find(self, caller: Caller, number: int, *, may_be_gone: bool) -> Wanted:
        try:
            found = await find_numbered(self._face, caller, number, "READ")
        except RefusalError as error:
            is_sought = may_be_gone and error.status == 404
            last = await History(self._face).last_of_gone(number) if is_sought else None
            if last is None:
                raise
            spec = last.spec
            await check_right(caller, spec.resource_kind, spec.resource_version, "READ")
            return Wanted(self._face.index.kind_named(spec.resource_kind), "", number, spec.resource_name)
        return Wanted(found.indexed.kind.kind, "", number, found.entry.metadata.name)

    async def _reply(self, request: Request, caller: Caller, wanted: Wanted, since: Position | None) -> StreamReply:
        if len(self._streams) >= MOST_STREAMS:
            raise RefusalError(
                503, f"{MOST_STREAMS} event streams are open already; try again later", (("Retry-After", "5"),)
            )
        follower = Follower(
            self._face,
            self.feed,
            wanted,
            request=request,
            caller=caller,
            claims=(await self._face.plugins.known()).claims,
            since=since,
            keep_alive_s=self._keep_alive_s,
        )
        return StreamReply(200, self._starting(follower), CONTENT_TYPE, _HEADERS)

    def _starting(self, follower: Follower) -> Callable[[Stream], None]:
        def start(stream: Stream) -> None:
            follower.begin(stream)
            task = self._streams[stream] = self._tasks.create_task(self._run(follower, stream))
            stream.on_close(lambda: self._left(stream, follower, task))

        return start

    def _left(self, stream: Stream, follower: Follower, task: asyncio.Task[None]) -> None:
        follower.leave()
        self._streams.pop(stream, None)
        task.cancel()

    async def _run(self, follower: Follower, stream: Stream) -> None:
        try:
            await follower.run()
        except Exception:
            # The client resumes; other clients are not affected.
            log.exception("failed to serve event stream")
            stream.abort()


@asynccontextmanager
async def open_events(face: Face, *, keep_alive_s: float = KEEP_ALIVE_S) -> AsyncIterator[Events]:
    """At the end of the block all streams are closed."""
    async with asyncio.TaskGroup() as tasks:
        events = Events(face, tasks, keep_alive_s=keep_alive_s)
        try:
            yield events
        finally:
            events.close()


def _since(request: Request, query: EventQuery) -> Position | None:
    """The header overrides the query: a client that reconnects to the same URL sends it."""
    text = request.headers.get("last-event-id", "").strip() or query.last_event_id
    return read_position(text) if text else None
