"""One client of an event stream, from its position to its disconnect.

A client that resumes first gets the server's history, kind by kind, up to where the feed was when it connected, and
then the feed. Promises, each tested:

- no event is skipped and none is sent twice, whichever server sent the earlier ones
- if the history does not go back far enough, `RESYNC` is sent once, and then the current state
- permissions are checked again with each keep-alive; a client whose credentials are no longer valid is disconnected
- a client that does not read is disconnected, and may resume
- no event and no number of them holds the event loop: large ones are encoded in a thread, many in slices
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import aclosing, suppress
from typing import Final, NamedTuple

import msgspec

from homeostat.client.base import UnreachableError
from homeostat.edge.request import Request
from homeostat.edge.stream import Stream, frame
from homeostat.edge.threads import in_thread
from homeostat.edge.turn import shared_turn
from homeostat.objects.errors import ApiError
from homeostat.objects.kind import Kind
from homeostat.objects.time.timestamp import format_time
from homeostat.web.actions.events.feed import Feed, Step
from homeostat.web.actions.events.frame import KEEP_ALIVE, LARGE_BYTES, EventFrame, resync_lines
from homeostat.web.actions.events.position import NOWHERE, Position, position_of
from homeostat.web.actions.events.replay import LostError, replay
from homeostat.web.actions.face import Face
from homeostat.web.actions.index.changes import IndexedResource
from homeostat.web.actions.index.entry import TypeEntry
from homeostat.web.kit.gate import Caller
from homeostat.web.kit.refusal import RefusalError

KEEP_ALIVE_S: Final = 15.0
_MOST_WAITING: Final = 50_000
_MOST_AHEAD: Final = 1000
_AT_ONCE: Final = 64
_BYTES_AT_ONCE: Final = 2 * LARGE_BYTES


class Wanted(msgspec.Struct, frozen=True):
    """Which resources the client asked for: all, those of a type, or one."""

    kind: str = ""
    type_name: str = ""
    number: int = 0
    name: str = ""

    def takes(self, frame: EventFrame) -> bool:
        is_type = not self.type_name or frame.type_key[0] == self.type_name
        return is_type and (not self.number or frame.number == self.number)


class _Found(NamedTuple):
    """Resources and their types, the newest first."""

    resources: list[IndexedResource]
    types: list[TypeEntry]


class Follower:
    def __init__(
        self,
        face: Face,
        feed: Feed,
        wanted: Wanted,
        *,
        request: Request,
        caller: Caller,
        claims: Mapping[str, str],
        since: Position | None,
        keep_alive_s: float = KEEP_ALIVE_S,
    ) -> None:
        self._face, self._feed, self._wanted = face, feed, wanted
        self._request, self._caller, self._since = request, caller, since
        self._keep_alive_s = keep_alive_s
        self._claims = claims
        self._permissions: dict[tuple[str, str], bool] = {}
        self._waiting: deque[Step] = deque()
        self._during_replay: dict[str, deque[Step]] = {}
        """Steps of the feed that wait until the history of their kind is sent."""
        self._sent: dict[str, int] = {}
        self._floor = since.floor if since is not None else 0
        self._behind: dict[str, Kind] = {}
        self._reached: dict[str, int] = {}
        self._wake, self._lost, self._room = asyncio.Event(), asyncio.Event(), asyncio.Event()

    def begin(self, stream: Stream) -> None:
        """Starts following the feed: no later step is missed."""
        self._stream = stream
        stream.send(frame(b": following\n\n"))
        self.leave = self._feed.follow(self._take)
        self._reached = dict(self._feed.reached)
        # Before the first step of the feed, which would advance the position.
        self._behind = self._missed()
        self._during_replay = {kind: deque() for kind in self._behind}

    async def run(self) -> None:
        """Until the stream is closed."""
        async with asyncio.TaskGroup() as tasks:
            replays = [tasks.create_task(self._replay(kind)) for kind in self._behind.values()]
            try:
                await self._pump(replays)
            finally:
                for task in replays:
                    task.cancel()

    def _take(self, step: Step) -> None:
        """Takes a step of the feed."""
        wanted = self._wanted
        if wanted.kind and step.kind != wanted.kind:
            return
        (self._during_replay.get(step.kind, self._waiting)).append(step)
        if len(self._waiting) + sum(map(len, self._during_replay.values())) > _MOST_WAITING:
            self._stream.abort()
        self._wake.set()

    def _missed(self) -> dict[str, Kind]:
        """Returns the kinds whose history the client has missed."""
        if self._since is None:
            return {}
        kinds = {each.kind: each for each in self._face.index.kinds() if self._wanted.kind in ("", each.kind)}
        known = {self._wanted.kind} if self._wanted.kind else self._since.kinds.keys()
        if not self._floor or not known <= kinds.keys():
            # The history of resources of a deleted type is not available.
            self._lost.set()
            return {}
        self._sent = {kind: self._since.of(kind) for kind in kinds}
        return {name: kind for name, kind in kinds.items() if self._sent[name] != self._reached.get(name, 0)}

    async def _replay(self, kind: Kind) -> None:
        since, until = self._sent[kind.kind], self._reached.get(kind.kind, 0)
        steps = replay(self._face.client, self._face.index, kind, since=since, name=self._wanted.name)
        try:
            async with aclosing(steps):
                async for step in steps:
                    await self._put(step)
                    if step.revision >= until:
                        break
        except LostError:
            self._lost.set()
            self._wake.set()
            return
        self._waiting += [*self._during_replay.pop(kind.kind), Step(kind.kind, 0)]
        self._wake.set()

    async def _put(self, step: Step) -> None:
        """Adds a step of the history, no faster than the client reads."""
        self._waiting.append(step)
        self._wake.set()
        while len(self._waiting) > _MOST_AHEAD:
            self._room.clear()
            await self._room.wait()

    async def _pump(self, replays: list[asyncio.Task[None]]) -> None:
        now, turn = asyncio.get_running_loop().time, shared_turn()
        beat_at = now() + self._keep_alive_s
        while not self._stream.closed:
            if self._lost.is_set():
                for task in replays:
                    task.cancel()
                self._lost.clear()
                await self._resync()
            elif now() >= beat_at:
                beat_at = now() + self._keep_alive_s
                await turn.pause()
                await self._beat()
            elif self._waiting:
                # All followers wake up at the same change.
                await turn.pause()
                await self._deliver_some()
                self._room.set()
                # Other tasks run between batches.
                await asyncio.sleep(0)
            else:
                self._wake.clear()
                with suppress(TimeoutError):
                    async with asyncio.timeout_at(beat_at):
                        await self._wake.wait()

    async def _beat(self) -> None:
        self._stream.send(frame(KEEP_ALIVE))
        try:
            self._caller = await self._face.gate.identify(self._request)
        except (RefusalError, ApiError, UnreachableError) as error:
            if isinstance(error, RefusalError) and error.status in (401, 403):
                self._stream.close()
            # Permissions cannot be checked now; the last answer counts until they can.
            return
        self._permissions.clear()

    async def _may_see(self, key: tuple[str, str]) -> bool:
        if key not in self._permissions:
            self._permissions[key] = self._caller.is_admin or await self._caller.may(*key, "READ")
        return self._permissions[key]

    async def _deliver_some(self) -> None:
        """Delivers as many steps as one turn of the event loop may take."""
        count = size = 0
        while self._waiting and count < _AT_ONCE and size < _BYTES_AT_ONCE:
            step = self._waiting.popleft()
            count += 1
            size += sum(each.size for each in step.frames if each.size < LARGE_BYTES)
            await self._deliver(step)

    async def _deliver(self, step: Step) -> None:
        if not step.revision:
            self._behind.pop(step.kind, None)
            return
        if step.reached:
            self._reached.update(step.reached)
        if step.revision <= self._sent.get(step.kind, self._floor):
            return
        self._sent[step.kind] = step.revision
        wanted = [each for each in step.frames if self._wanted.takes(each)]
        message = [each for each in wanted if await self._may_see(each.type_key)]
        if self._wanted.number and len(message) < len(wanted):
            # The client follows only this resource and may not see it any more.
            self._stream.close()
        for each in message:
            # Several events of one revision: only the last one completes it.
            await self._send(each, self._position() if each is message[-1] else "")
            if self._wanted.number and each.event_type == "DELETED":
                self._stream.close()
        if self._behind:
            # The history may be larger than the send buffer.
            await self._stream.drain()

    def _position(self) -> str:
        if self._wanted.kind:
            return str(self._sent[self._wanted.kind])
        reached = {kind: max(revision, self._sent.get(kind, 0)) for kind, revision in self._reached.items()}
        return str(position_of({**reached, **{kind: self._sent[kind] for kind in self._behind}}))

    async def _send(self, event: EventFrame, position: str) -> None:
        is_admin, claims = self._caller.is_admin, self._claims
        if event.size >= LARGE_BYTES and not event.is_encoded(is_admin=is_admin):
            # One user for all followers: the first one encodes the event, and the others find it encoded.
            await in_thread(lambda: event.lines(is_admin=is_admin, claims=claims), user="events")
        self._stream.send(event.chunk(position, is_admin=is_admin, claims=claims))

    async def _resync(self) -> None:
        index = self._face.index
        for resource_type in index.types():
            await self._may_see((resource_type.spec.name, resource_type.spec.version))
        self._waiting.clear()
        self._during_replay.clear()
        self._behind.clear()
        self._feed.flush()
        self._waiting.clear()
        self._reached = dict(self._feed.reached)
        self._sent, self._floor = {kind: revision for kind, revision in self._reached.items() if kind}, 0
        position = self._settled()
        walks = self._face.walks
        # The resources of one moment; a later change is a step of the feed, which follows.
        current = map(self._as_it_is, index.snapshot())
        # Until they are sent, two references for each resource: hundreds of readers may be slow.
        found = _Found([], [])
        async for each in walks.over(current):
            if each is not None:
                found.resources.append(each.indexed)
                found.types.append(each.resource_type)
        total = left = len(found.resources)
        first = NOWHERE if total else position
        self._stream.send(frame(resync_lines(format_time(self._face.now())) + b"id: %b\n\n" % first.encode()))
        async with aclosing(walks.over(self._encoded(found))) as encoded:
            async for event in encoded:
                left -= 1
                await self._send(event, NOWHERE if left else position)
                if left % _AT_ONCE == 0:
                    await self._stream.drain()
        if self._wanted.number and not total:
            self._stream.close()

    def _encoded(self, newest_first: _Found) -> Iterator[EventFrame]:
        """The oldest event first. Small ones are encoded; large ones will be, in a thread."""
        while newest_first.resources:
            each = EventFrame("MODIFIED", newest_first.resources.pop(), newest_first.types.pop())
            if each.size < LARGE_BYTES:
                each.lines(is_admin=self._caller.is_admin, claims=self._claims)
            yield each

    def _settled(self) -> str:
        kind = self._wanted.kind
        # For a kind without resources, the position is that of the types.
        return str(self._sent.get(kind) or self._reached[""]) if kind else str(position_of(self._reached))

    def _as_it_is(self, indexed: IndexedResource) -> EventFrame | None:
        resource_type = self._face.index.type_of(indexed)
        if resource_type is None or self._wanted.kind not in ("", indexed.kind.kind):
            return None
        frame = EventFrame("MODIFIED", indexed, resource_type)
        return frame if self._wanted.takes(frame) and self._permissions.get(frame.type_key) else None
