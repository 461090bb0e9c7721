"""One probe against servers that misbehave in every way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from homeostat.operators.contracts.engine.checks.endpoint import Outcome
from homeostat.operators.contracts.probes.request import probe_client, send_probe

Speak = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def _serving(speak: Speak) -> AsyncIterator[str]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            await speak(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.close()


async def _probed(url: str, environment: dict[str, str] | None = None) -> Outcome:
    async with probe_client(environment or {}, connections=4) as client:
        return await send_probe(client, url, asyncio.get_running_loop().time)


def _says(answer: bytes) -> Speak:
    async def speak(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(answer)
        await writer.drain()

    return speak


@pytest.mark.parametrize(
    ("answer", "status", "has_body"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", 200, True),
        (b"HTTP/1.1 204 No Content\r\n\r\n", 204, False),
        (b"HTTP/1.1 301 Moved\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n", 301, False),
        (b"HTTP/1.1 500 Broken\r\nContent-Length: 4\r\n\r\noops", 500, True),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nbroken off", 200, True),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\n\x1f\x8bno", 200, False),
    ],
    ids=["good", "empty", "redirect", "broken", "cut off", "false encoding"],
)
async def test_what_answers_is_reachable(answer: bytes, status: int, has_body: bool) -> None:
    async with _serving(_says(answer)) as url:
        outcome = await _probed(url)
    assert (outcome.status_code, outcome.has_body, outcome.error) == (status, has_body, "")
    assert outcome.latency_ms >= 1


@pytest.mark.parametrize(
    "answer",
    [b"", b"SSH-2.0-OpenSSH_9.2\r\n", b"HTTP/1.1 200 OK\r\nX: " + b"x" * 200_000 + b"\r\n\r\n"],
    ids=["closed", "no HTTP", "endless header"],
)
async def test_what_does_not_speak_http_is_unreachable(answer: bytes) -> None:
    async with _serving(_says(answer)) as url:
        outcome = await _probed(url)
    assert outcome.status_code == 0
    assert outcome.error
    assert "127.0.0.1" not in outcome.error


async def test_a_refused_connection_is_unreachable() -> None:
    async with _serving(_says(b"")) as url:
        pass
    outcome = await _probed(url)
    assert (outcome.is_reachable, outcome.status_code) == (False, 0)
    assert "Connection refused" in outcome.error


async def test_a_body_without_end_is_read_to_its_first_bytes() -> None:
    sent = 0

    async def flood(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while sent < 1 << 30:
            writer.write(b"x" * 65536)
            await writer.drain()
            sent += 65536

    async with _serving(flood) as url:
        outcome = await _probed(url)
        await asyncio.sleep(0.1)
    assert (outcome.status_code, outcome.has_body) == (200, True)
    assert sent < 64 << 20


async def test_silence_ends_after_five_seconds() -> None:
    async def stall(_: asyncio.StreamReader, __: asyncio.StreamWriter) -> None:
        await asyncio.sleep(30)

    async with _serving(stall) as url:
        outcome = await asyncio.wait_for(_probed(url), 8)
    assert "timed out after 5 s" in outcome.error
    assert 4900 < outcome.latency_ms < 7000


async def test_the_proxy_of_the_environment_is_used_but_for_what_it_leaves_out() -> None:
    asked: list[bytes] = []

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        await writer.drain()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        await relay(reader, writer)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    proxy = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    url = "http://quay.port.svc:8080/healthz"
    assert (await _probed(url, {"HTTP_PROXY": proxy})).status_code == 200
    assert asked[0].startswith(b"GET http://quay.port.svc:8080/healthz HTTP/1.1\r\n")
    assert not (await _probed(url, {"HTTP_PROXY": proxy, "NO_PROXY": ".svc"})).is_reachable
    server.close()
