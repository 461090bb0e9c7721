"""The Model Context Protocol on standard input and output: one message a line.

Calls run side by side, so that a slow one holds up no other, and a client may cancel one. When the client closes
standard input, calls that run are finished, and the command ends.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from typing import Any, Final

from homeostat.objects.errors import BadRequestError
from homeostat.objects.json import Json, decode, encode
from homeostat.web.mcp.server import PARSE_ERROR, McpServer, Message, RpcError, read_message

MAX_LINE_BYTES: Final = 4 << 20
AT_ONCE: Final = 16
_FINISH_S: Final = 30.0
_CANCELLED: Final = "notifications/cancelled"


async def serve_stdio(server: McpServer) -> None:
    lines: asyncio.Queue[bytes | None] = asyncio.Queue()
    slots = threading.Semaphore(AT_ONCE * 2)
    reader = threading.Thread(target=_read, args=(asyncio.get_running_loop(), lines, slots), daemon=True)
    reader.start()
    session = _Session(server)
    while (line := await lines.get()) is not None:
        slots.release()
        await session.take(line)
    await session.finish()


class _Session:
    def __init__(self, server: McpServer) -> None:
        self._server = server
        self._running: dict[Any, asyncio.Task[None]] = {}
        self._places = asyncio.Semaphore(AT_ONCE)

    async def take(self, line: bytes) -> None:
        if not line.strip():
            return
        if len(line) > MAX_LINE_BYTES:
            _write(RpcError(PARSE_ERROR, f"a message has at most {MAX_LINE_BYTES} bytes").body())
            return
        message = _peek(line)
        if message is not None and message.method == _CANCELLED:
            task = self._running.get(message.params.get("requestId"))
            if task is not None:
                task.cancel()
            return
        await self._places.acquire()
        key = object() if message is None or message.id is None else message.id
        task = asyncio.get_running_loop().create_task(self._answer(line))
        self._running[key] = task
        task.add_done_callback(lambda done: self._done(key, done))

    async def finish(self) -> None:
        if self._running:
            _, left = await asyncio.wait(self._running.values(), timeout=_FINISH_S)
            for task in left:
                task.cancel()

    async def _answer(self, line: bytes) -> None:
        found = await self._server.answer(line)
        if found is not None:
            _write(found)

    def _done(self, key: Any, task: asyncio.Task[None]) -> None:
        self._places.release()
        if self._running.get(key) is task:
            del self._running[key]
        if not task.cancelled() and (error := task.exception()) is not None:
            sys.stderr.write(f"failed to answer a message: {type(error).__name__}\n")


def _read(loop: asyncio.AbstractEventLoop, lines: asyncio.Queue[bytes | None], slots: threading.Semaphore) -> None:
    """A thread, because standard input may be a file, which an event loop cannot wait for."""
    stream = sys.stdin.buffer
    while True:
        line = stream.readline(MAX_LINE_BYTES + 1)
        rest = line
        while len(rest) > MAX_LINE_BYTES and not rest.endswith(b"\n"):
            rest = stream.readline(MAX_LINE_BYTES + 1)
        slots.acquire()
        loop.call_soon_threadsafe(lines.put_nowait, line or None)
        if not line:
            return


def _peek(line: bytes) -> Message | None:
    try:
        return read_message(decode(line))
    except (BadRequestError, RpcError):
        return None


def _write(answer: Json) -> None:
    sys.stdout.buffer.write(encode(answer) + b"\n")
    sys.stdout.buffer.flush()
