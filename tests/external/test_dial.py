"""Connections by TCP keep the rule for addresses."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest

from homeostat.external.addresses import RefusedAddressError
from homeostat.external.dial import allowed_addresses, open_stream, reachable_address

Info = tuple[socket.AddressFamily, socket.SocketKind, int, str, tuple[str, int]]


def resolving(monkeypatch: pytest.MonkeyPatch, *answers: list[str], port: int = 80) -> list[str]:
    """Names resolve to these addresses, the last answer for ever. Returns the names that were resolved."""
    asked: list[str] = []

    async def getaddrinfo(_: object, host: str, *__: Any, **___: Any) -> list[Info]:
        asked.append(host)
        found = answers[min(len(asked), len(answers)) - 1]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, port)) for each in found]

    monkeypatch.setattr(asyncio.BaseEventLoop, "getaddrinfo", getaddrinfo)
    return asked


@pytest.mark.parametrize(
    "host", ["169.254.169.254", "0xa9fea9fe", "::ffff:169.254.169.254", "fe80::1", "64:ff9b::a9fe:a9fe"]
)
async def test_a_metadata_service_is_refused_however_it_is_spelled(host: str) -> None:
    with pytest.raises(RefusedAddressError, match="link-local"):
        await open_stream(host, 80)


async def test_a_name_is_judged_by_the_address_that_it_resolves_to(monkeypatch: pytest.MonkeyPatch) -> None:
    resolving(monkeypatch, ["169.254.169.254"])
    with pytest.raises(RefusedAddressError, match=r'"harmless.example" is a link-local'):
        await open_stream("harmless.example", 80)


async def test_a_name_is_resolved_once_so_a_second_answer_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    asked = resolving(monkeypatch, ["127.0.0.1"], ["169.254.169.254"], port=port)
    reader, writer = await open_stream("rebinding.example", port)
    assert writer.get_extra_info("peername")[0] == "127.0.0.1"
    assert asked == ["rebinding.example"]
    writer.close()
    assert await reader.read() == b""
    server.close()


async def test_only_the_allowed_addresses_of_a_name_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    resolving(monkeypatch, ["169.254.169.254", "127.0.0.1", "10.0.0.1"])
    assert await allowed_addresses("x.example", 80) == ["127.0.0.1", "10.0.0.1"]
    with pytest.raises(RefusedAddressError, match="link-local"):
        await allowed_addresses("x.example", 80, allows_private=False)


async def test_the_first_address_that_accepts_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    resolving(monkeypatch, ["127.0.0.2", "127.0.0.1"], port=port)
    assert await reachable_address("x.example", port) == "127.0.0.1"
    server.close()


async def test_a_refused_connection_is_the_error_of_the_system() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(ConnectionRefusedError):
            await open_stream("127.0.0.1", taken.getsockname()[1])
