"""More of the hostile clients: many small requests, each unlike the ones before it. Loopback only."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from time import monotonic

import msgspec

from benchmarks.connection import Connection, connect
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
_WATCHES = 200
_WRITERS = 50
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


async def granted_rules(target: Target) -> str:
    """A namespace administrator binds a role of very many rules, again and again, to himself."""
    roles = "/apis/rbac.authorization.k8s.io/v1/namespaces/soak"
    granter = {"Impersonate-User": bodies.GRANTER}
    first = bodies.role_binding("granter", "admin", bodies.GRANTER, kind="ClusterRole")
    made = [
        target.request("POST", f"{roles}/rolebindings", first),
        target.request("POST", f"{roles}/roles", bodies.rules_role()),
    ]
    await _crowd(target, iter(made), clients=1)
    bodies_of = (bodies.role_binding(f"b{each}", bodies.RULES_ROLE, bodies.GRANTER) for each in _numbers)
    bound = (_as(target.request("POST", f"{roles}/rolebindings", each), granter) for each in bodies_of)
    try:
        return await _crowd(target, bound, clients=4)
    finally:
        with suppress(OSError):
            await _crowd(target, iter([target.request("DELETE", f"{roles}/rolebindings", b"{}")]), clients=1)


def _as(request: bytes, headers: dict[str, str]) -> bytes:
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items()).encode()
    return request.replace(b"\r\n\r\n", b"\r\n" + lines + b"\r\n", 1)


async def watched_writes(target: Target) -> str:
    """Watches with long selectors, and many writers at once."""
    terms = ",".join(f"k{at}!=v" for at in range(99))
    context, watches = target.context(), list[Connection]()

    async def watch(first: int) -> None:
        for number in range(first, _WATCHES, _AT_ONCE):
            each = await connect(target, context)
            each.answered = lambda _: None
            each.send(target.request("GET", f"{SPACE}/pods?watch=true&labelSelector={terms},z{number}"))
            watches.append(each)

    try:
        await asyncio.gather(*(watch(first) for first in range(_AT_ONCE)))
        bodies_of = (bodies.annotated(number) for number in _numbers)
        writes = (target.request("PATCH", f"{SPACE}/pods/victim", each, type=_MERGE) for each in bodies_of)
        return await _crowd(target, writes, clients=_WRITERS)
    finally:
        for each in watches:
            each.close()


async def many_columns(target: Target) -> str:
    """Tables of a kind whose columns combine steps that each find many values."""
    objects = "/apis/soak.example/v1/namespaces/soak/paths"
    made = [
        target.request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", bodies.paths_definition()),
        *(target.request("POST", objects, bodies.paths_object()) for _ in range(10)),
    ]
    await _crowd(target, iter(made), clients=1)
    tables = (target.request("GET", objects, accept="application/json;as=Table;v=v1;g=meta.k8s.io") for _ in _numbers)
    return await _crowd(target, tables)


async def long_reviews(target: Target) -> str:
    """Reviews that a user may ask for of himself, each of another long verb: decisions are kept."""
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    asker = {"Impersonate-User": bodies.GRANTER}
    reviews = (_as(target.request("POST", path, bodies.long_review(number)), asker) for number in _numbers)
    return await _crowd(target, reviews)


CROWDS = {
    "long-reviews": long_reviews,
    "granted-rules": granted_rules,
    "watched-writes": watched_writes,
    "many-columns": many_columns,
    "distinct-texts": distinct_texts,
    "long-accepts": long_accepts,
    "flow-schemas": flow_schemas,
    "small-pages": small_pages,
    "protobuf-lists": protobuf_lists,
}
