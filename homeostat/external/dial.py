"""Connections by TCP that keep the rule for addresses (`addresses.py`), for everything but HTTP.

A name is resolved once, the addresses are judged, and the socket connects to one of those: a name that resolves to
another address the second time gains nothing.
"""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import ssl as tls
from typing import Final

from homeostat.external.addresses import RefusedAddressError, refusal_of

CONNECT_S: Final = 15.0
_MOST_ADDRESSES: Final = 8


async def allowed_addresses(host: str, port: int, *, allows_private: bool = True) -> list[str]:
    """The IP addresses of a host that may be connected to; `RefusedAddressError` if there are only others."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = list(dict.fromkeys(str(each[4][0]) for each in found))
    reasons = {each: refusal_of(each, allows_private=allows_private) for each in addresses}
    allowed = [each for each, reason in reasons.items() if not reason]
    if not allowed:
        reason = next(iter(reasons.values()), "without an address")
        raise RefusedAddressError(errno.EACCES, f'"{host}" is {reason}; connections to it are refused')
    return allowed[:_MOST_ADDRESSES]


async def connected_socket(
    host: str, port: int, *, allows_private: bool = True, timeout_s: float = CONNECT_S
) -> socket.socket:
    """A connection to the first address that accepts one; the `OSError` of the last one if none does."""
    async with asyncio.timeout(timeout_s):
        addresses = await allowed_addresses(host, port, allows_private=allows_private)
        last: OSError | None = None
        for address in addresses:
            try:
                # A broken route, as of IPv6 where there is none, must not use up the time of the others.
                async with asyncio.timeout(timeout_s / len(addresses)):
                    return await _connected(address, port)
            except OSError as error:
                last = error
        assert last is not None
        raise last


async def reachable_address(host: str, port: int, *, allows_private: bool = True, timeout_s: float = CONNECT_S) -> str:
    """The address of a host to give to a program that connects by itself. Of several, one that accepts connections."""
    async with asyncio.timeout(timeout_s):
        addresses = await allowed_addresses(host, port, allows_private=allows_private)
        if len(addresses) == 1:
            return addresses[0]
        with await connected_socket(host, port, allows_private=allows_private, timeout_s=timeout_s) as connected:
            return str(connected.getpeername()[0])


async def open_stream(
    host: str,
    port: int,
    *,
    ssl: tls.SSLContext | None = None,
    allows_private: bool = True,
    timeout_s: float = CONNECT_S,
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """With `ssl`, the certificate must be for `host`."""
    async with asyncio.timeout(timeout_s):
        connected = await connected_socket(host, port, allows_private=allows_private, timeout_s=timeout_s)
        return await asyncio.open_connection(sock=connected, ssl=ssl, server_hostname=host if ssl else None)


def reason_of(error: OSError) -> str:
    """Why a connection failed, for people."""
    if isinstance(error, socket.gaierror):
        return "the name cannot be resolved"
    if isinstance(error, TimeoutError):
        return "timed out"
    return os.strerror(error.errno) if error.errno else type(error).__name__


async def _connected(address: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    opened = socket.socket(family, socket.SOCK_STREAM)
    try:
        opened.setblocking(False)
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        await asyncio.get_running_loop().sock_connect(opened, (address, port))
    except BaseException:
        opened.close()
        raise
    return opened
