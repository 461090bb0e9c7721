"""The response of a list.

A list of stored bytes costs no memory, so it is sent as it is, unless it has thousands of objects. A large list in any
other form (a Table, metadata only, YAML, protobuf, gzip) is produced batch by batch as the client reads it: a client
that does not read costs one batch, not a list.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from homeostat.edge.items import Items, pieces_of
from homeostat.edge.reply import Fields, StreamReply
from homeostat.edge.stream import Stream, produced_by, send_pieces
from homeostat.edge.threads import in_thread
from homeostat.edge.turn import shared_turn
from homeostat.objects.json import JsonObject, decode_stored
from homeostat.server.request.call import Answer, Call
from homeostat.server.view.answer import indented, many, warning_headers
from homeostat.server.view.compression import GZIP_FROM_BYTES, GZIP_HEADERS
from homeostat.server.view.encode import LIST_TAIL
from homeostat.server.view.view import View
from homeostat.store.base import Record

if TYPE_CHECKING:
    from homeostat.server.view.protobuf_view import ProtobufList

PRODUCED_FROM_BYTES = 1024 * 1024
"""Of the stored objects; a smaller list is sent at once."""
MOST_AT_ONCE = 10_000
"""Records; a longer list is sent in batches even if it is stored as it is sent: joining it takes too long."""
_BATCH_BYTES = 512 * 1024
_BATCH_RECORDS = 500
_RESERVED_BYTES = 2 * 1024 * 1024
"""About what a batch, its encoding and a compressor take."""


_thread = ThreadPoolExecutor(1, thread_name_prefix="homeostat-gzip")
"""One thread: compression in several would take the processors from the event loop."""


def batches(records: Sequence[Record], *, most: int = 0, most_bytes: int = 0) -> Iterator[Sequence[Record]]:
    """Some records at a time: few enough that the event loop can handle a batch in some milliseconds."""
    most, most_bytes = most or _BATCH_RECORDS, most_bytes or _BATCH_BYTES
    start = size = 0
    for at, record in enumerate(records, 1):
        size += len(record.value)
        if size >= most_bytes or at - start >= most:
            yield records[start:at]
            start, size = at, 0
    if start < len(records):
        yield records[start:]


async def list_reply(call: Call, view: View, records: Sequence[Record], metadata: JsonObject) -> Answer:
    encoding = call.representation.encoding
    is_yaml, is_pretty = encoding == "yaml", encoding == "json" and call.is_pretty
    is_stored = view.is_shared and not is_yaml and not is_pretty
    size = 0 if is_stored and not call.accepts_gzip else sum([len(record.value) for record in records])
    is_zipped = call.accepts_gzip and not is_yaml and size >= GZIP_FROM_BYTES
    is_at_once = size < PRODUCED_FROM_BYTES or (is_stored and not is_zipped)
    if is_at_once and len(records) <= MOST_AT_ONCE:
        make = partial(view.listed, records, metadata)
        body = await in_thread(make, user=call.user.name) if view.takes_long(records) else make()
        # In one piece if it is not the store's memory, which is how the connection knows what it keeps for a client.
        return await many(call, body if view.is_shared else body.whole())
    headers: Fields = warning_headers(call.warnings) + (GZIP_HEADERS if is_zipped else ())
    return StreamReply(
        200,
        produced_by(_producer(call, view, records, metadata, is_zipped=is_zipped)),
        call.representation.content_type,
        headers,
        is_finite=True,
        reserved_bytes=_RESERVED_BYTES,
    )


def _producer(
    call: Call, view: View, records: Sequence[Record], metadata: JsonObject, *, is_zipped: bool
) -> Callable[[Stream], Coroutine[Any, Any, None]]:
    form: _Form
    match call.representation.encoding:
        case "protobuf":
            from homeostat.server.view.protobuf_view import ProtobufList, ProtobufView

            assert isinstance(view, ProtobufView)
            measured = ProtobufList(view, metadata)
            return partial(_produce_measured, call.user.name, measured, view, records, is_zipped)
        case "yaml":
            form = _Yaml(view, metadata)
        case _:
            form = _Pretty(view, metadata) if call.is_pretty else _Json(view, metadata)
    return partial(_produce, call.user.name, form, view, records, is_zipped)


async def _produce_measured(
    user: str, form: ProtobufList, view: View, records: Sequence[Record], is_zipped: bool, stream: Stream
) -> None:
    for batch in batches(records):
        await in_thread(partial(form.measure, batch), user=user)
        if stream.closed:
            return
    await _produce(user, form, view, records, is_zipped, stream)


async def _produce(
    user: str, form: _Form, view: View, records: Sequence[Record], is_zipped: bool, stream: Stream
) -> None:
    zipper = zlib.compressobj(1, zlib.DEFLATED, 31) if is_zipped else None
    send = send_pieces if zipper is None else partial(_send_zipped, zipper)
    await send(stream, [form.head])
    turn = shared_turn()
    for batch in batches(records):
        make = partial(form.pieces, batch)
        await turn.pause()
        await send(stream, await in_thread(make, user=user) if form.is_slow or view.takes_long(batch) else make())
        if stream.closed:
            return
    await send(stream, [form.tail])
    if zipper is not None:
        await send_pieces(stream, pieces_of([zipper.flush()]))


async def _send_zipped(zipper: zlib._Compress, stream: Stream, pieces: Iterable[bytes | memoryview]) -> None:
    loop = asyncio.get_running_loop()
    zipped = await loop.run_in_executor(_thread, lambda: b"".join(map(zipper.compress, pieces)))
    await send_pieces(stream, pieces_of([zipped]))


class _Form(Protocol):
    """How a list is written down."""

    @property
    def head(self) -> bytes: ...

    tail: bytes
    is_slow: bool

    def pieces(self, records: Sequence[Record]) -> Iterable[bytes | memoryview]:
        """Items of the list, with what separates them from the items before."""


class _Json:
    is_slow = False
    tail = LIST_TAIL

    def __init__(self, view: View, metadata: JsonObject) -> None:
        self.head = view.list_head(metadata)
        self._view = view
        self._separator = b""

    def pieces(self, records: Sequence[Record]) -> Items:
        items = self._view.joined_items(self._separator, records, b"")
        self._separator = b","
        return items


class _Pretty:
    """As `msgspec.json.format` would indent the whole list."""

    is_slow = True

    def __init__(self, view: View, metadata: JsonObject) -> None:
        empty = indented(view.list_head(metadata) + LIST_TAIL)
        at = empty.rindex(b"[") + 1
        self.head, self.tail = empty[:at], b"\n  " + empty[at:]
        self._view = view
        self._separator = b""

    def pieces(self, records: Sequence[Record]) -> Iterable[bytes | memoryview]:
        parts: list[bytes] = []
        for item in self._view.list_items(records):
            # A string of JSON contains no line feed, so those here are all of the indentation.
            parts += (self._separator, b"\n    ", indented(item).rstrip(b"\n").replace(b"\n", b"\n    "))
            self._separator = b","
        return pieces_of(parts)


class _Yaml:
    """As the printer would write the whole list: keys in order, the items of a list not indented."""

    is_slow = True

    def __init__(self, view: View, metadata: JsonObject) -> None:
        from homeostat.objects import yaml

        empty = decode_stored(view.list_head(metadata) + LIST_TAIL)
        items = "rows" if "rows" in empty else "items"
        before = {name: value for name, value in empty.items() if name < items}
        after = {name: value for name, value in empty.items() if name > items}
        self.head = yaml.dump(before) + f"{items}:\n".encode()
        self.tail = yaml.dump(after) if after else b""
        self._view = view
        self._dump = yaml.dump

    def pieces(self, records: Sequence[Record]) -> Iterable[bytes | memoryview]:
        items = self._view.list_items(records)
        return pieces_of([self._dump([decode_stored(item, in_pieces=True)]) for item in items])
