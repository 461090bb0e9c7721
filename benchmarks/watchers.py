"""Many watches in a process of their own, noting when each sees each marked write.

`python -m benchmarks.watchers` is spoken to in JSON lines: an `Order` in, `Opened` out when all watches are open, the
times of the writes' answers in, `Seen` out when every watch has seen them all, or the time for it is over.
"""

from __future__ import annotations

import asyncio
import sys
from time import perf_counter
from typing import cast

import httptools
import msgspec

from benchmarks import widgets
from benchmarks.measurement import percentile
from benchmarks.target import Target
from homeostat.edge.loop import run

MARK = b'"benchSeq":"'
_AT_ONCE = 20
_SETTLE_S = 0.3
_ALL_WITHIN_S = 30.0


class Order(msgspec.Struct):
    target: Target
    watchers: int
    revision: str
    run: str
    """What the marks of this run begin with; a number follows."""


class Opened(msgspec.Struct):
    watchers: int
    seconds: float


class Written(msgspec.Struct):
    answered: list[float]
    """When the answer to each marked write came; the clock is the machine's, so it is the same here."""


class Seen(msgspec.Struct):
    delivered: int
    closed: int
    p50_ms: float
    p99_ms: float
    last: float
    """When the last event was seen."""


class Watch(asyncio.Protocol):
    def __init__(self, request: bytes, seen: list[tuple[bytes, float]]) -> None:
        self._request = request
        self._seen = seen
        self._parser = httptools.HttpResponseParser(self)
        self._rest = b""
        self._now = 0.0
        self.transport: asyncio.Transport
        self.is_closed = False
        self.opened: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        self._now = perf_counter()
        self._parser.feed_data(data)

    def connection_lost(self, _error: Exception | None) -> None:
        self.is_closed = True
        if not self.opened.done():
            self.opened.set_result(0)

    def on_headers_complete(self) -> None:
        self.opened.set_result(self._parser.get_status_code())

    def on_body(self, part: bytes) -> None:
        text = self._rest + part if self._rest else part
        end = text.rfind(b"\n") + 1
        self._rest = text[end:]
        at = text.find(MARK, 0, end)
        while at >= 0:
            start = at + len(MARK)
            stop = text.index(b'"', start)
            self._seen.append((text[start:stop], self._now))
            at = text.find(MARK, stop, end)

    def on_message_complete(self) -> None:
        self.is_closed = True


async def open_watches(order: Order, seen: list[tuple[bytes, float]]) -> list[Watch]:
    target = order.target
    path = f"{widgets.COLLECTION}?watch=true&resourceVersion={order.revision}&timeoutSeconds=600"
    request, context = target.request("GET", path), target.context()
    room = asyncio.Semaphore(_AT_ONCE)
    loop = asyncio.get_running_loop()

    async def one() -> Watch:
        async with room:
            _, watch = await loop.create_connection(lambda: Watch(request, seen), target.host, target.port, ssl=context)
            await asyncio.wait_for(watch.opened, 60)
            return watch

    watches = await asyncio.gather(*(one() for _ in range(order.watchers)))
    return [watch for watch in watches if watch.opened.result() == 200]


async def wait_for_all(order: Order, written: Written, watches: list[Watch], seen: list[tuple[bytes, float]]) -> Seen:
    prefix = order.run.encode()
    wanted, end = len(watches) * len(written.answered), perf_counter() + _ALL_WITHIN_S
    while True:
        # An object's older state may carry a mark of an earlier run.
        found = [(int(mark[len(prefix) :]), at) for mark, at in seen if mark.startswith(prefix)]
        if len(found) >= wanted or perf_counter() > end or all(watch.is_closed for watch in watches):
            break
        await asyncio.sleep(0.1)
    late = sorted(at - written.answered[number] for number, at in found)
    return Seen(
        delivered=len(found),
        closed=sum(watch.is_closed for watch in watches),
        p50_ms=percentile(late, 0.5) * 1e3,
        p99_ms=percentile(late, 0.99) * 1e3,
        last=max((at for _, at in found), default=perf_counter()),
    )


async def main() -> None:
    loop = asyncio.get_running_loop()
    order = msgspec.json.decode(await loop.run_in_executor(None, sys.stdin.buffer.readline), type=Order)
    seen: list[tuple[bytes, float]] = []
    began = perf_counter()
    watches = await open_watches(order, seen)
    _say(Opened(len(watches), perf_counter() - began))
    await asyncio.sleep(_SETTLE_S)
    written = msgspec.json.decode(await loop.run_in_executor(None, sys.stdin.buffer.readline), type=Written)
    _say(await wait_for_all(order, written, watches, seen))
    for watch in watches:
        watch.transport.abort()


def _say(value: object) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(value) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    run(main())
