"""The hostile clients, each bounded in bytes and time. Loopback only.

`python -m benchmarks.soak.attacks` reads an `Order` from standard input and writes an `Attack` for each run, as JSON
lines.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from itertools import cycle
from time import monotonic

import msgspec

from benchmarks.connection import connect
from benchmarks.soak import bodies
from benchmarks.soak.crowds import CROWDS, SPACE
from benchmarks.soak.webhooks import WEBHOOKS
from benchmarks.target import JSON, Target
from homeostat.edge.loop import run

YAML = "application/yaml"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
_PIPELINED = 20_000
_IDLE = 20
_HOLD_S = 3.0
_CONNECT_S = 10.0
_CROWD = 50


class Order(msgspec.Struct):
    target: Target
    names: list[str]
    seconds: float
    each_s: float
    """How long an attack waits for its answer."""


class Attack(msgspec.Struct):
    name: str
    began: float
    ended: float
    outcome: str
    """The status of the answer, or why there is none."""


Run = Callable[[Target], Awaitable[str]]


async def _ask(target: Target, method: str, path: str, body: bytes, media: str = JSON) -> str:
    connection = await connect(target, target.context())
    try:
        answer = await connection.ask(target.request(method, path, body, type=media))
        return str(answer.status)
    finally:
        connection.close()


def _sends(method: str, path: str, body: Callable[[], bytes], media: str = JSON) -> Run:
    made: list[bytes] = []

    async def attack(target: Target) -> str:
        if not made:
            made.append(body())
        return await _ask(target, method, path, made[0], media)

    return attack


async def pipeline(target: Target) -> str:
    """Many requests without credentials in one write."""
    nobody = msgspec.structs.replace(target, token="")
    reader, writer = await asyncio.open_connection(target.host, target.port, ssl=target.context())
    received = 0
    try:
        writer.write(nobody.request("GET", "/livez") * _PIPELINED)
        with suppress(ConnectionError, TimeoutError):
            async with asyncio.timeout(_HOLD_S):
                while received < _PIPELINED:
                    data = await reader.read(1 << 16)
                    if not data:
                        break
                    received += data.count(b"HTTP/1.1 ")
    finally:
        writer.transport.abort()
    return f"{received} answers"


def _idle(path: str, accept: str = JSON) -> Run:
    """Clients that ask for much and never read."""

    async def attack(target: Target) -> str:
        loop = asyncio.get_running_loop()
        transports: list[asyncio.BaseTransport] = []
        try:
            for _ in range(_IDLE):
                raw = socket.create_connection((target.host, target.port))
                raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                transport, _protocol = await loop.create_connection(
                    asyncio.Protocol, sock=raw, ssl=target.context(), server_hostname=target.host
                )
                transports.append(transport)
                transport.write(target.request("GET", path, accept=accept))
                transport.pause_reading()
            await asyncio.sleep(_HOLD_S)
        finally:
            for each in transports:
                each.close() if each.is_closing() else each.abort()  # type: ignore[attr-defined]
        return f"{_IDLE} idle"

    return attack


async def trickle(target: Target) -> str:
    """A request that never ends."""
    _, writer = await asyncio.open_connection(target.host, target.port, ssl=target.context())
    try:
        for byte in target.request("POST", f"{SPACE}/configmaps", b"{" * 64)[:60]:
            writer.write(bytes([byte]))
            await asyncio.sleep(_HOLD_S / 60)
    finally:
        writer.transport.abort()
    return "left"


def _connected(number: int, sent: bytes, *, is_tls: bool = True) -> Run:
    """Clients that connect, send the beginning of something, and then nothing."""

    async def attack(target: Target) -> str:
        context = target.context() if is_tls else None
        transports: list[asyncio.BaseTransport] = []
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(_CONNECT_S):
                for _ in range(number):
                    transport, _protocol = await loop.create_connection(
                        asyncio.Protocol, target.host, target.port, ssl=context
                    )
                    transports.append(transport)
                    transport.write(sent)
            await asyncio.sleep(_HOLD_S)
        except TimeoutError:
            pass
        finally:
            for each in transports:
                each.abort()  # type: ignore[attr-defined]
        return f"{len(transports)} connections"

    return attack


async def yaml_crowd(target: Target) -> str:
    """Many reviews at once, each as large as one may be."""
    body = bodies.yaml_review()
    answers = await asyncio.gather(*(_ask(target, "POST", REVIEWS, body, YAML) for _ in range(_CROWD)))
    return " ".join(sorted(set(answers)))


async def hanging_webhooks(target: Target) -> str:
    """Writes to a namespace for which a hundred webhooks are called, none of which answers."""

    async def hang(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await asyncio.sleep(_HOLD_S)
        finally:
            writer.transport.abort()

    server = await asyncio.start_server(hang, "127.0.0.1", 0, backlog=1000)
    path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
    await _ask(target, "DELETE", f"{path}/hang", b"{}")
    try:
        await _ask(target, "POST", path, bodies.webhooks(server.sockets[0].getsockname()[1]))
        written = f"{SPACE}/configmaps?dryRun=All"
        body = bodies.config_map("hooked", "x" * 20_000)
        answers = await asyncio.gather(*(_ask(target, "POST", written, body) for _ in range(4)))
    finally:
        await _ask(target, "DELETE", f"{path}/hang", b"{}")
        server.close()
    return " ".join(sorted(set(answers)))


async def any_of(target: Target) -> str:
    await _ask(target, "POST", CRDS, bodies.any_of_definition())
    return await _ask(target, "POST", "/apis/soak.example/v1/namespaces/soak/wides", bodies.any_of_object())


async def owner_references(target: Target) -> str:
    path = f"{SPACE}/configmaps/owned"
    await _ask(target, "DELETE", path, b"{}")
    return await _ask(target, "POST", f"{SPACE}/configmaps", bodies.owned())


async def cel_bomb(target: Target) -> str:
    """A policy whose expressions compare and write out values with two to the thirtieth parts."""
    group = "/apis/admissionregistration.k8s.io/v1"
    paths = [f"{group}/validatingadmissionpolicies", f"{group}/validatingadmissionpolicybindings"]
    try:
        for path, body in zip(paths, bodies.cel_bomb(), strict=True):
            await _ask(target, "POST", path, body)
        return await _ask(target, "POST", f"{SPACE}/configmaps?dryRun=All", bodies.config_map("bombed", "x"))
    finally:
        for path in paths:
            await _ask(target, "DELETE", f"{path}/bomb.soak.example", b"{}")


async def gzip_lists(target: Target) -> str:
    """Many compressed lists of large objects at once."""

    async def read() -> str:
        connection = await connect(target, target.context())
        try:
            return str((await connection.ask(target.request("GET", f"{SPACE}/configmaps", gzip=True))).status)
        finally:
            connection.close()

    return " ".join(sorted(set(await asyncio.gather(*(read() for _ in range(_IDLE))))))


async def repeated_headers(target: Target) -> str:
    """One header line again and again, as often as fits."""
    sent = b"GET /livez HTTP/1.1\r\nHost: a\r\n" + b"X:\r\n" * 16_000 + b"\r\n"
    answers = set()
    for _ in range(_IDLE):
        reader, writer = await asyncio.open_connection(target.host, target.port, ssl=target.context())
        try:
            writer.write(sent)
            with suppress(ConnectionError):
                answers.add((await reader.readline()).split()[1].decode())
        finally:
            writer.transport.abort()
    return " ".join(sorted(answers))


ATTACKS: dict[str, Run] = {
    "pipelining": pipeline,
    "yaml-lines": _sends("POST", REVIEWS, bodies.yaml_lines, YAML),
    "yaml-anchors": _sends("POST", REVIEWS, bodies.yaml_anchors, YAML),
    "yaml-directives": _sends("POST", f"{SPACE}/configmaps", bodies.yaml_directives, YAML),
    "yaml-flow": _sends("POST", REVIEWS, bodies.yaml_flow, YAML),
    "repeated-keys": _sends("POST", f"{SPACE}/configmaps", bodies.repeated_keys),
    "idle-watches": _idle(f"{SPACE}/configmaps?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"),
    "idle-lists": _idle(f"{SPACE}/configmaps"),
    "idle-tables": _idle(f"{SPACE}/configmaps?includeObject=Object", _TABLE),
    "strategic-merge": _sends("PATCH", f"{SPACE}/pods/victim", bodies.strategic_merge, STRATEGIC),
    "primitive-list": _sends("PATCH", f"{SPACE}/configmaps/victim", bodies.primitive_list, STRATEGIC),
    "any-of": any_of,
    "owner-references": owner_references,
    "json-patch-copies": _sends("PATCH", f"{SPACE}/configmaps/victim", bodies.json_patch_copies, JSON_PATCH),
    "giant-quantity": _sends("POST", f"{SPACE}/pods", bodies.giant_quantity),
    "slow-body": trickle,
    "slow-headers": _connected(300, b"GET / HTTP/1.1\r\nHost: a\r\nX: "),
    "idle-connections": _connected(1000, b""),
    "stopped-handshakes": _connected(1000, b"\x16\x03\x01\x02\x00\x01", is_tls=False),
    "yaml-crowd": yaml_crowd,
    "hanging-webhooks": hanging_webhooks,
    "cel-bomb": cel_bomb,
    "gzip-lists": gzip_lists,
    "repeated-headers": repeated_headers,
    "idle-old-watches": _idle("/api/v1/watch/namespaces/soak/configmaps"),
    **CROWDS,
    **WEBHOOKS,
}


async def prepare(target: Target, *, large: int = 10) -> None:
    """The objects that the attacks work on."""
    await _ask(target, "POST", "/api/v1/namespaces", bodies.namespace())
    await _ask(target, "POST", f"{SPACE}/pods", bodies.pod("victim"))
    await _ask(target, "POST", f"{SPACE}/configmaps", bodies.config_map("victim", "x"))
    for number in range(large):
        await _ask(target, "POST", f"{SPACE}/configmaps", bodies.config_map(f"large-{number}", "y" * 900_000))


async def attack_once(name: str, target: Target, *, within_s: float) -> Attack:
    began = monotonic()
    try:
        outcome = await asyncio.wait_for(ATTACKS[name](target), within_s)
    except TimeoutError:
        outcome = f"no answer in {within_s:g} s"
    except (OSError, ConnectionError) as error:
        outcome = type(error).__name__
    return Attack(name, began, monotonic(), outcome)


async def _serve_order(order: Order) -> None:
    end = monotonic() + order.seconds
    encode = msgspec.json.Encoder().encode
    for name in cycle(order.names):
        if monotonic() >= end:
            return
        found = await attack_once(name, order.target, within_s=order.each_s)
        sys.stdout.buffer.write(encode(found) + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    # A connection that is given up during its handshake leaves a future behind, which the event loop would log.
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    run(_serve_order(msgspec.json.decode(sys.stdin.buffer.readline(), type=Order)))
