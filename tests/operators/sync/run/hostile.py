"""A REST server that a test gives its answers: any status, header and body, never an answer, or something else than
what was stored.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Answer:
    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    hangs: bool = False

    @property
    def data(self) -> bytes:
        if isinstance(self.body, bytes):
            return self.body
        return b"" if self.body is None else json.dumps(self.body).encode()


HANG = Answer(hangs=True)
Behaviour = Callable[[str, str, Any], Answer]
"""Method, path with query, and body."""


@dataclass
class Hostile:
    url: str = ""
    log: list[tuple[str, str]] = field(default_factory=list)

    @property
    def writes(self) -> list[tuple[str, str]]:
        return [each for each in self.log if each[0] != "GET"]


@asynccontextmanager
async def hostile_server(behaviour: Behaviour) -> AsyncIterator[Hostile]:
    found = Hostile()
    tasks = set[asyncio.Task[None]]()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            while line := await reader.readline():
                method, path, _ = line.decode().split(" ")
                length = 0
                while (header := await reader.readline()) not in (b"\r\n", b""):
                    name, _, value = header.decode().partition(":")
                    length = int(value) if name.lower() == "content-length" else length
                body = await reader.readexactly(length)
                found.log.append((method, path))
                answer = behaviour(method, path, json.loads(body) if body else None)
                if answer.hangs:
                    await asyncio.Event().wait()
                head = {"Content-Type": "application/json", **answer.headers, "Content-Length": str(len(answer.data))}
                lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
                writer.write(f"HTTP/1.1 {answer.status} Status\r\n{lines}\r\n".encode() + answer.data)
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        found.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield found
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
