"""A server that hangs up, drips, floods or squeezes: nothing hangs, nothing grows, no write goes out twice."""

from __future__ import annotations

import asyncio
import gzip

import pytest

from homeostat.client.base import UnreachableError
from homeostat.client.projection import Projection
from homeostat.objects.kind import POD
from tests.client.test_faults import GOOD, Faulty, Pod, answer, served


class Leaving:
    """A server that answers one request on each connection, and goes as the next comes."""

    def __init__(self) -> None:
        self.seen: list[bytes] = []

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            self.seen.append((await reader.readuntil(b"\r\n\r\n")).split()[0])
            writer.write(GOOD)
            self.seen.append((await reader.readuntil(b"\r\n\r\n")).split()[0])
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


async def test_of_what_meets_a_server_that_hangs_up_only_a_read_is_sent_again() -> None:
    server = Leaving()
    async with served(server) as client:
        assert await client.get("/x") == {"ok": True}
        assert await client.get("/x") == {"ok": True}
        with pytest.raises(UnreachableError) as caught:
            await client.create("/x", {})
    assert caught.value.was_sent
    assert server.seen == [b"GET", b"GET", b"GET", b"POST"]


async def test_what_was_compressed_though_nobody_asked_is_not_unpacked() -> None:
    squeezed = gzip.compress(b'{"ok":true}')
    server = Faulty(answer(squeezed, headers="Content-Encoding: gzip\r\n"))
    async with served(server) as client:
        with pytest.raises(UnreachableError, match="not JSON"):
            await client.get("/x")


@pytest.mark.parametrize(
    ("first", "drop"),
    [
        (b"", b"H"),
        (b"HTTP/1.1 200 OK\r\nX: ", b"x"),
        (b"HTTP/1.1 403 Forbidden\r\nContent-Length: 99\r\n\r\n", b"x"),
    ],
    ids=["first byte", "head", "refusal"],
)
async def test_a_watch_that_opens_by_drops_is_given_up(first: bytes, drop: bytes) -> None:
    async def dripping(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(first)
            while not reader.at_eof() and first:
                writer.write(drop)
                await asyncio.sleep(0.02)
            await reader.read()
        except ConnectionError:
            pass
        finally:
            writer.close()

    async with served(dripping, answer_s=0.2) as client:
        events = Projection(client, POD, Pod).watch()
        with pytest.raises(UnreachableError, match="no answer in time"):
            await asyncio.wait_for(anext(events), 30)


async def test_a_refusal_of_a_watch_does_not_fill_the_memory() -> None:
    server = Faulty(answer(bytes(2 << 20), status="403 Forbidden"))
    async with served(server) as client:
        with pytest.raises(UnreachableError, match="more than"):
            await anext(Projection(client, POD, Pod).watch())
