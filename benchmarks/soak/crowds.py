"""More of the hostile clients: many small requests, each unlike the ones before it. Loopback only."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from time import monotonic

import msgspec

from benchmarks.connection import connect
from benchmarks.soak import bodies
from benchmarks.target import JSON, Target

SPACE = "/api/v1/namespaces/soak"
_MERGE = "application/merge-patch+json"
_PROTOBUF = "application/vnd.kubernetes.protobuf"
_FLOW_SCHEMAS = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas"
_AT_ONCE = 8
_FOR_S = 3.0
_TEXTS = 20
_ALTERNATIVES = 3500
_SCHEMAS = 200
_READERS = 20
_numbers: Iterator[int] = count()


async def _crowd(target: Target, requests: Iterator[bytes], *, clients: int = _AT_ONCE) -> str:
    """So many clients send the requests, for some seconds at most; the statuses of the answers."""
    statuses: set[int] = set()
    ends_at = monotonic() + _FOR_S

    async def one() -> None:
        connection = await connect(target, target.context())
        try:
            for each in requests:
                statuses.add((await connection.ask(each)).status)
                if monotonic() >= ends_at:
                    return
        finally:
            connection.close()

    await asyncio.gather(*(one() for _ in range(clients)))
    return " ".join(map(str, sorted(statuses)))


async def distinct_texts(target: Target) -> str:
    """References to owners of kinds with long names, each another one: what is kept for a name is not its size."""
    patches = [
        target.request("PATCH", f"{SPACE}/configmaps/victim", bodies.long_owner(next(_numbers)), type=_MERGE)
        for _ in range(_TEXTS)
    ]
    return await _crowd(target, iter(patches), clients=2)


async def long_accepts(target: Target) -> str:
    """Headers of many alternatives, none of which is served, without credentials."""
    nobody = msgspec.structs.replace(target, token="")
    accepts = (",".join(f"a{number}/{at};q=0.{at % 10}" for at in range(_ALTERNATIVES)) for number in _numbers)
    return await _crowd(nobody, (nobody.request("GET", "/api/v1/nodes", accept=each) for each in accepts))


async def flow_schemas(target: Target) -> str:
    """Hundreds of them, rewritten again and again, while requests have to be classified."""
    selected = f"{_FLOW_SCHEMAS}?labelSelector=soak"
    try:
        created = (target.request("POST", _FLOW_SCHEMAS, bodies.flow_schema(at)) for at in range(_SCHEMAS))
        await _crowd(target, created)
        written = (
            target.request("PATCH", f"{_FLOW_SCHEMAS}/soak-{at % _SCHEMAS}", bodies.precedence(at), type=_MERGE)
            if at % 2
            else msgspec.structs.replace(target, token="").request("GET", f"/apis/soak{at}")
            for at in _numbers
        )
        return await _crowd(target, written)
    finally:
        with suppress(OSError):
            await _crowd(target, iter([target.request("DELETE", selected, b"{}")]), clients=1)


async def small_pages(target: Target) -> str:
    """Lists of one object each."""
    forms = (JSON, "application/json;as=Table;v=v1;g=meta.k8s.io", _PROTOBUF)
    pages = (target.request("GET", f"{SPACE}/configmaps?limit=1", accept=forms[at % 3]) for at in _numbers)
    return await _crowd(target, pages, clients=_READERS)


async def protobuf_lists(target: Target) -> str:
    """Lists that have to be encoded from JSON, of clients that accept nothing else."""
    lists = (target.request("GET", f"{SPACE}/{each}", accept=_PROTOBUF) for each in ("configmaps", "pods") * _READERS)
    return await _crowd(target, lists, clients=_READERS)


CROWDS = {
    "distinct-texts": distinct_texts,
    "long-accepts": long_accepts,
    "flow-schemas": flow_schemas,
    "small-pages": small_pages,
    "protobuf-lists": protobuf_lists,
}
