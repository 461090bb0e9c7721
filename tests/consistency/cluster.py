"""Replica processes that can be killed, and clients that find another one when theirs is gone."""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
from pathlib import Path

from tests.consistency.messages import Answer, Request, answer_of, line_of

ROOT = Path(__file__).parents[2]


class Member:
    """One replica; while it is down its `port` is 0."""

    def __init__(self, *given: str) -> None:
        self._command = [sys.executable, "-m", "tests.consistency.replica", *given]
        self._process: asyncio.subprocess.Process | None = None
        self.port = 0

    async def start(self) -> None:
        self._process = await asyncio.create_subprocess_exec(
            *self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT
        )
        assert self._process.stdout is not None
        self.port = int(await self._process.stdout.readline())

    async def kill(self) -> None:
        self.port = 0
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
        if self._process is not None:
            await self._process.communicate()


class Cluster:
    """Three replicas, of which one follows by asking only."""

    def __init__(self, url: str, schema: str) -> None:
        self.members = [Member(url, schema), Member(url, schema), Member(url, schema, "deaf")]

    async def start(self) -> None:
        await asyncio.gather(*(member.start() for member in self.members))

    async def stop(self) -> None:
        await asyncio.gather(*(member.kill() for member in self.members))

    async def connect(self, chance: random.Random) -> Connection:
        """To one of the members that are up; `OSError` if it is not."""
        up = [member.port for member in self.members if member.port]
        if not up:
            raise ConnectionRefusedError("no member is up")
        return Connection(*await asyncio.open_connection("127.0.0.1", chance.choice(up)))


class Connection:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    def send(self, request: Request) -> None:
        self._writer.write(line_of(request))

    async def receive(self) -> Answer:
        line = await self._reader.readline()
        if not line.endswith(b"\n"):
            raise ConnectionResetError("the replica is gone")
        return answer_of(line)

    def close(self) -> None:
        self._writer.transport.abort()
