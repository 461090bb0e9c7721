"""WATCH: the log after a revision, as a stream of JSON lines, or of frames in protobuf.

At each commit, one loop writes the events to every stream of their scope; a watcher has no task and no queue of its
own. An event is encoded once for each view (kind version and representation), and all streams get the same bytes, those
of one commit in one write. A reader that falls behind is disconnected by the stream's limit and resumes by revision.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Sequence
from functools import partial
from math import inf
from typing import TYPE_CHECKING

from homeostat.edge.items import pieces_of
from homeostat.edge.reply import StreamReply
from homeostat.edge.stream import Stream, frame, send_pieces
from homeostat.edge.threads import in_thread
from homeostat.edge.turn import Turn, shared_turn
from homeostat.objects.errors import ApiError, BadRequestError, ExpiredError, InternalError, status_of
from homeostat.objects.selectors import parse_fields
from homeostat.server.conversion.conversions import MOST_REVIEWED
from homeostat.server.conversion.review import ConversionError
from homeostat.server.request.call import Answer, Call, OpenWatch
from homeostat.server.request.negotiate import JSON, PROTOBUF
from homeostat.server.view.listing import batches
from homeostat.server.view.selection import Selection, selection_of
from homeostat.server.view.versions import await_version, reach, refuse_wrong_match, version_number
from homeostat.server.view.view import (
    View,
    added_events,
    bookmark_of,
    event_of,
    own_frame,
    shared_frame,
    view_of,
    with_revision,
)
from homeostat.server.write.subresource import STATUS
from homeostat.store.base import CompactedError, Event, FutureRevisionError, StoreError, Subscription

if TYPE_CHECKING:
    from homeostat.server.verbs.frame_queue import FrameQueue

log = logging.getLogger(__name__)

BOOKMARK_EVERY_S = 50.0
_LAST_BOOKMARK_S = 2.0
_SHORTEST_S, _LONGEST_S = 1800, 3600
_JOINED_BYTES = 16 * 1024


class Watches:
    """All open watches. One timer sends their bookmarks and ends those whose time is up."""

    def __init__(self) -> None:
        self._open: set[OpenWatch] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._open)

    def add(self, watch: OpenWatch) -> None:
        self._open.add(watch)

    def discard(self, watch: OpenWatch) -> None:
        self._open.discard(watch)

    def run(self, watch: OpenWatch) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(watch.run())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def tick(self) -> None:
        """In turns: thousands of watches that began together have a bookmark to send at the same moment."""
        now, turn = asyncio.get_running_loop().time(), Turn()
        for watch in list(self._open):
            watch.tick(now)
            await turn.pause()

    def close(self, resource: str = "") -> None:
        """End the watches of a resource, or all watches, properly."""
        for watch in list(self._open):
            if not resource or watch.resource == resource:
                watch.close()


class Watcher:
    """One open watch: a stream, a selection of objects, and their representation."""

    def __init__(self, call: Call, selection: Selection, view: View, since: int | None) -> None:
        self.resource = call.kind.resource
        self._call = call
        self._selection = selection
        self._view = view
        self._since = since
        self._stream: Stream | None = None
        self._subscription: Subscription | None = None
        self._starting: asyncio.Task[None] | None = None
        self._wants_bookmarks = call.options.allow_bookmarks
        self._skips_status = call.options.skip_status
        self._is_live = False
        self._frames: list[bytes] = []
        loop_time = asyncio.get_running_loop().time()
        seconds = call.options.timeout_s or random.uniform(_SHORTEST_S, _LONGEST_S)  # noqa: S311
        self._ends_at = loop_time + seconds
        self._bookmark_at = self._next_bookmark(loop_time)

        self._converting = _Converting(call, self) if call.kind.conversion is not None else None
        self._queue: FrameQueue | None = None
        if view.quick_bytes < inf:
            from homeostat.server.verbs.frame_queue import FrameQueue

            # What a thread encodes is finished after its commit, when the history no longer lets go of shared bytes.
            made = shared_frame if call.representation.encoding == "protobuf" else own_frame
            self._queue = FrameQueue(call.user.name, partial(self._made, made), self, quick_bytes=view.quick_bytes)

    def start(self, stream: Stream) -> None:
        self._stream = stream
        watches = self._call.backend.watches
        watches.add(self)
        stream.on_close(self._ended)
        self._starting = watches.run(self)

    async def run(self) -> None:
        try:
            await self._begin()
        except CompactedError as error:
            self.fail(ExpiredError(f"too old resource version: {self._since} ({error.oldest})"))
        except FutureRevisionError as error:
            self.fail(ExpiredError(str(error)))
        except ConversionError as error:
            self.fail(error)
        except StoreError as error:
            # Without an error, the client would take the stream for one without changes.
            log.error("failed to start watch", extra={"resource": self.resource, "reason": str(error)})
            self.fail(InternalError("cannot read the store; see the log of the server"))
        if self._stream is not None and self._stream.closed:
            self._ended()

    async def _begin(self) -> None:
        """Send the initial events, then subscribe to the log."""
        try:
            since = self._since if self._since is not None else await self._send_initial()
            self._subscription = await self._call.store.subscribe(
                self._selection.scope, since=since, deliver=self._deliver, reader=self
            )
            self._is_live = True
        finally:
            self._starting = None

    async def _send_initial(self) -> int:
        """Send every selected object as ADDED, by name, as the client reads. Returns the revision of that state."""
        stream = self._stream
        assert stream is not None
        store = self._call.store
        revision = store.revision
        if self._call.options.send_initial_events is not False:
            user = self._call.user.name
            records = store.select(self._selection.scope)
            if self._call.kind.conversion is not None:
                records = await self._call.backend.conversions.shown(self._call.kind, records, is_watch=True)
            records = await self._selection.pick(records, user)
            turn = shared_turn()
            for batch in batches(records):
                events = partial(added_events, self._view, batch)
                await turn.pause()
                parts = await in_thread(events, user=user) if self._view.takes_long(batch) else events()
                await send_pieces(stream, pieces_of(parts))
                self._view = self._view.later
                if stream.closed:
                    break
        if self._call.options.send_initial_events and self._wants_bookmarks:
            stream.send(frame(bookmark_of(self._view, revision, is_initial_end=True)))
        return revision

    def _deliver(self, event: Event) -> None:
        if self._skips_status and event.tag == STATUS:
            return
        if self._converting is None:
            self.pass_on(event)
        else:
            self._converting.deliver(event)

    def pass_on(self, event: Event) -> None:
        if self._queue is not None and self._queue.takes(event):
            return
        try:
            chunk = self._frame(self._view, event, shared_frame)
        except BaseException:
            # The reader missed an event, so it must not see later events or a later revision.
            self.close()
            raise
        self.add(chunk)

    def add(self, chunk: bytes) -> None:
        """Send a frame with the next flush."""
        if chunk:
            self._frames.append(chunk)
            self._view = self._view.later

    def flush(self) -> None:
        """Write the events of one commit at once."""
        if self._queue is not None:
            self._queue.rest()
        frames, stream = self._frames, self._stream
        if not frames or stream is None:
            return
        self._frames = []
        if sum(map(len, frames)) <= _JOINED_BYTES:
            stream.send(b"".join(frames))
            return
        # All streams share large frames, as long as nobody joins them.
        for each in frames:
            stream.send(each)

    def _made(self, make: Callable[[View, Event], bytes], events: Sequence[Event]) -> list[bytes]:
        """Their frames, in a thread."""
        view, chunks = self._view, []
        for event in events:
            chunks.append(self._frame(view, event, make))
            view = view.later if chunks[-1] else view
        return chunks

    def _frame(self, view: View, event: Event, make: Callable[[View, Event], bytes]) -> bytes:
        """The event as this watch shows it; empty if the selection does not include it."""
        if self._selection.is_all:
            return make(view, event)
        change = self._selection.change(event)
        if change == event.type:
            return make(view, event)
        if change == "ADDED":
            return frame(event_of(view, "ADDED", event.record))
        if change == "DELETED":
            assert event.previous is not None
            left = with_revision(event.previous, event.record.revision)
            return frame(event_of(view, "DELETED", left))
        return b""

    def tick(self, now: float) -> None:
        stream = self._stream
        if stream is None or not self._is_live:
            return
        if now >= self._ends_at:
            self.close()
        elif any(each is not None and each.is_behind for each in (self._converting, self._queue, self._subscription)):
            pass  # A bookmark would promise events that are not sent yet.
        elif self._wants_bookmarks and now >= self._bookmark_at:
            self._bookmark_at = self._next_bookmark(now)
            stream.send(frame(bookmark_of(self._view, self._call.store.revision)))

    def _next_bookmark(self, now: float) -> float:
        """The last one just before the end, so that the next watch resumes near to now."""
        last = self._ends_at - _LAST_BOOKMARK_S
        return min(now + BOOKMARK_EVERY_S, last if last > now else inf)

    def close(self) -> None:
        if self._stream is not None:
            self._stream.close()

    def fail(self, error: ApiError) -> None:
        assert self._stream is not None
        status = self._view.document(status_of(error))
        self._stream.send(frame(b"".join(self._view.event_parts("ERROR", status))))
        self._stream.close()

    def _ended(self) -> None:
        for each in (self._converting, self._queue):
            if each is not None:
                each.close()
        if self._starting is not None:
            # Nobody reads any more what it would replay.
            self._starting.cancel()
        if self._subscription is not None:
            self._subscription.close()
            self._subscription = None
        self._call.backend.watches.discard(self)


class _Converting:
    """Passes the events of a watch on at its version, in their order, as soon as they are converted.

    An event waits for those before it (`backlog.py`).
    """

    def __init__(self, call: Call, watcher: Watcher) -> None:
        from homeostat.server.verbs.backlog import Drain

        self._kind, self._conversions, self._pass_on = call.kind, call.backend.conversions, watcher.pass_on
        self._drain = Drain(watcher, self._convert, watcher.pass_on, at_once=MOST_REVIEWED, verb="convert")

    @property
    def is_behind(self) -> bool:
        return self._drain.is_behind

    def deliver(self, event: Event) -> None:
        shown = None if self._drain.is_behind else self._conversions.known(self._kind, event)
        if shown is not None:
            self._pass_on(shown)
        else:
            self._drain.add(event)

    def close(self) -> None:
        self._drain.close()

    async def _convert(self, events: list[Event]) -> Sequence[Event]:
        return await self._conversions.events(self._kind, events)


async def watch(call: Call) -> Answer:
    refuse_wrong_match(call)
    _refuse_other_name(call)
    options = call.options
    selection = selection_of(call)
    asked = version_number(options.resource_version)
    if options.send_initial_events or not asked:
        await await_version(call)
        since = None
    else:
        await reach(call, asked)
        since = asked
    watcher = Watcher(call, selection, view_of(call), since)
    is_protobuf = call.representation.encoding == "protobuf"
    return StreamReply(200, watcher.start, f"{PROTOBUF};stream=watch" if is_protobuf else JSON)


def _refuse_other_name(call: Call) -> None:
    """On a path of watches with a name, a field selector must agree with it."""
    terms = parse_fields(call.options.field_selector) if call.name and call.options.field_selector else ()
    if any(term.field == "metadata.name" and term.equal != (term.value == call.name) for term in terms):
        raise BadRequestError(
            f"fieldSelector metadata.name doesn't match requested name {call.name!r}; leave one of them out"
        )
