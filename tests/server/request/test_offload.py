"""Calls carried out in a thread: the loop does what is the loop's, and who gives up has written nothing."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from homeostat.client.in_process import LocalStream
from homeostat.edge.reply import Reply, StreamReply
from homeostat.objects.errors import NotFoundError
from homeostat.plane import Plane, Settings, open_plane
from homeostat.server.access.user import SELF
from homeostat.server.request.call import Answer, Call
from homeostat.server.request.large_calls import LargeCalls
from homeostat.server.request.negotiate import Representation
from homeostat.server.request.offload import LARGE_BYTES, offloaded
from homeostat.server.request.paths import ObjectPath
from homeostat.server.request.too_long import TooLongError, is_offloaded
from homeostat.server.verbs.get import get
from homeostat.server.verbs.list import list_objects
from homeostat.server.view.encode import draft_of
from homeostat.server.view.selection import Selection
from homeostat.store.base import Event, Key, Put, Record, RevisionMismatchError, Scope
from homeostat.testing.eventually import eventually

LARGE = b"x" * LARGE_BYTES


@pytest.fixture
async def plane(data: Path) -> AsyncIterator[Plane]:
    async with open_plane(Settings(data=data, port=0, operators=frozenset())) as opened:
        yield opened


def call_of(plane: Plane, body: bytes = LARGE) -> Call:
    backend = plane.app.backend
    kind = backend.registry.find("", "v1", "configmaps")
    assert kind is not None
    path = ObjectPath(group="", version="v1", plural="configmaps", namespace="default", name="there", subresource="")
    return Call(backend, kind, path, SELF, body=body)


def put_of(call: Call) -> Put:
    obj: dict[str, Any] = {"metadata": {"name": call.name, "namespace": call.namespace}}
    return Put(call.key, draft_of(call.kind, obj), 0)


async def test_only_a_large_call_leaves_the_thread_of_the_loop(plane: Plane) -> None:
    places = []

    @offloaded
    async def look(call: Call) -> Answer:
        places.append((is_offloaded(), threading.current_thread() is threading.main_thread()))
        return Reply(200)

    await look(call_of(plane, b"{}"))
    await look(call_of(plane))
    assert places == [(False, True), (True, False)]


async def test_a_call_on_a_large_object_is_large_however_small_its_body(plane: Plane) -> None:
    places = []

    @offloaded
    async def look(call: Call) -> Answer:
        places.append(is_offloaded())
        return Reply(200)

    call = call_of(plane, b"{}")
    obj: dict[str, Any] = {"metadata": {"name": call.name, "namespace": "default"}, "data": {"all": LARGE.decode()}}
    await call.store.write(Put(call.key, draft_of(call.kind, obj), 0))
    await look(call)
    assert places == [True]


async def test_a_call_that_is_cancelled_while_another_begins_leaves_the_limit_of_that_one() -> None:
    calls, is_over, started = LargeCalls(10), [asyncio.Event() for _ in range(4)], list[int]()

    async def call(number: int) -> None:
        async with calls.started("jane", 10):
            started.append(number)
            await is_over[number].wait()

    tasks = [asyncio.create_task(call(number)) for number in (0, 1)]
    await asyncio.sleep(0)
    is_over[0].set()
    tasks.append(asyncio.create_task(call(2)))
    tasks[1].cancel()
    for _ in range(3):
        await asyncio.sleep(0)
    tasks.append(asyncio.create_task(call(3)))
    await asyncio.sleep(0)
    assert started == [0, 2]
    is_over[2].set()
    is_over[3].set()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert started == [0, 2, 3]


BODIES = {
    "long": (b'{"a":"%s"}' % (b"x" * 60_000), "application/json", False),
    "many objects": (b"[%s1]" % (b"{}," * 2_000), "application/json", True),
    "many nulls": (b"[%snull]" % (b"null," * 2_000), "application/json", True),
    "many objects in little space": (b"k8s" + b"\x12\0" * 3_000, "application/vnd.kubernetes.protobuf", True),
    "aliases": (b"a: &a {}\nb: [%s*a]" % (b"*a, " * 2_000), "application/yaml", True),
    "a document of YAML": (b"a: b\n" * 1_000, "application/yaml", False),
}


@pytest.mark.parametrize(("body", "content_type", "is_much"), BODIES.values(), ids=BODIES)
async def test_a_small_body_is_large_if_it_holds_much(
    plane: Plane, body: bytes, content_type: str, is_much: bool
) -> None:
    places = []

    @offloaded
    async def look(call: Call) -> Answer:
        places.append(is_offloaded())
        return Reply(200)

    call = call_of(plane, body)
    call.content_type = content_type
    await look(call)
    assert places == [is_much]


async def test_what_is_asked_of_the_store_happens_on_the_loop(plane: Plane) -> None:
    delivered_in: list[int] = []
    call = call_of(plane)
    store = call.store

    def deliver(_: Event) -> None:
        delivered_in.append(threading.get_ident())

    await store.subscribe(call.scope, since=store.revision, deliver=deliver)

    @offloaded
    async def write(call: Call) -> Answer:
        assert call.store.get(call.key) is None
        record = await call.store.write(put_of(call))
        assert (record, call.store.revision) == (call.store.get(call.key), record.revision)
        return Reply(200)

    await write(call)
    assert delivered_in == [threading.get_ident()]


async def test_a_call_that_takes_too_long_starts_again_in_the_thread(plane: Plane) -> None:
    places = []

    @offloaded
    async def look(call: Call) -> Answer:
        places.append(is_offloaded())
        if not is_offloaded():
            raise TooLongError
        return Reply(200)

    await look(call_of(plane, b"{}"))
    assert places == [False, True]


async def test_what_a_call_raises_in_the_thread_comes_out_of_it(plane: Plane) -> None:
    @offloaded
    async def fail(call: Call) -> Answer:
        raise call.not_found()

    with pytest.raises(NotFoundError, match="there"):
        await fail(call_of(plane))


async def test_what_a_call_has_failed_on_is_forgotten_with_its_error(plane: Plane) -> None:
    class Body:
        """Stands for megabytes, in the frames of what failed."""

    held: list[weakref.ref[Body]] = []

    @offloaded
    async def fail(call: Call) -> Answer:
        body = Body()
        held.append(weakref.ref(body))
        if len(held) == 1:
            raise call.not_found()
        await call.store.write(put_of(call)._replace(expect=7))
        raise AssertionError(body)

    gc.disable()
    try:
        for expected in (NotFoundError, RevisionMismatchError):
            with pytest.raises(expected):
                await fail(call_of(plane))
        await eventually(lambda: [each() for each in held] == [None, None])
    finally:
        gc.enable()


async def test_while_a_call_waits_the_thread_is_there_for_others(plane: Plane) -> None:
    has_come, may_go_on = asyncio.Event(), asyncio.Event()
    order: list[str] = []

    async def check(*_: object) -> None:
        order.append("waits")
        has_come.set()
        await may_go_on.wait()

    @offloaded
    async def wait(call: Call) -> Answer:
        await call.backend.admission.validate(call, {"metadata": {}}, None, "CREATE")
        order.append("goes on")
        return Reply(200)

    @offloaded
    async def look(call: Call) -> Answer:
        order.append("another")
        return Reply(200)

    plane.admission.guards.put("test", {"configmaps": check})
    waiting = asyncio.ensure_future(wait(call_of(plane)))
    await asyncio.wait_for(has_come.wait(), 30)
    await asyncio.wait_for(look(call_of(plane)), 30)
    may_go_on.set()
    await asyncio.wait_for(waiting, 30)
    assert order == ["waits", "another", "goes on"]


async def test_a_cancelled_call_writes_nothing(plane: Plane) -> None:
    has_begun, may_go_on, has_ended = threading.Event(), threading.Event(), threading.Event()

    @offloaded
    async def write(call: Call) -> Answer:
        has_begun.set()
        may_go_on.wait(30)
        try:
            await call.store.write(put_of(call))
        finally:
            has_ended.set()
        return Reply(200)

    call = call_of(plane)
    waiting = asyncio.ensure_future(write(call))
    await asyncio.to_thread(has_begun.wait, 10)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    may_go_on.set()
    assert await asyncio.to_thread(has_ended.wait, 10)
    assert call.store.get(call.key) is None


class Turns:
    """How often the loop came round to somebody else."""

    def __init__(self) -> None:
        self.count = 0

    async def __aenter__(self) -> Turns:
        self._task = asyncio.ensure_future(self._turn())
        await asyncio.sleep(0)
        self.count = 0
        return self

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()

    async def _turn(self) -> None:
        while True:
            self.count += 1
            await asyncio.sleep(0)


FORMS = {
    "yaml": Representation(encoding="yaml"),
    "table": Representation(form="table"),
    "metadata": Representation(form="partial"),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
async def test_a_large_object_in_another_form_does_not_block_others(plane: Plane, form: Representation) -> None:
    call = call_of(plane, b"")
    obj: dict[str, Any] = {
        "metadata": {"name": call.name, "namespace": "default", "uid": "u"},
        "data": {f"k{at}": "v" for at in range(20_000)},
    }
    await call.store.write(Put(call.key, draft_of(call.kind, obj), 0))
    call.representation = form
    async with Turns() as turns:
        answer = await get(call)
        assert turns.count > 0
    assert isinstance(answer, Reply)
    assert answer.status == 200


async def read(answer: Reply | StreamReply) -> bytes:
    """The body of a response that is produced as the client reads."""
    assert isinstance(answer, StreamReply)
    stream = LocalStream()
    answer.start(stream)
    return b"".join([chunk async for chunk in stream.chunks()])


async def test_many_unprepared_rows_do_not_block_others(plane: Plane) -> None:
    call = call_of(plane, b"")
    text = "x" * 40_000
    for at in range(30):
        key = call.key._replace(name=f"c{at}")
        obj: dict[str, Any] = {"metadata": {"name": key.name, "namespace": "default", "uid": key.name}}
        await call.store.write(Put(key, draft_of(call.kind, {**obj, "data": {"text": text}}), 0))
    call.path = call.path._replace(name="")
    call.representation = Representation(form="table")
    async with Turns() as turns:
        first = await read(await list_objects(call))
        unprepared = turns.count
        again = await read(await list_objects(call))
    assert unprepared > 1
    assert first.count(b'"cells":') == 30
    assert first == again


async def test_many_questions_to_many_records_are_asked_in_the_thread() -> None:
    places: list[bool] = []

    def is_even(record: Record) -> bool:
        places.append(threading.current_thread() is threading.main_thread())
        return record.revision % 2 == 0

    records = [Record(Key("configmaps", "default", f"c{at}"), b"{}", at, at) for at in range(100)]
    for terms in (1, 100):
        picked = await Selection(Scope("configmaps"), [is_even], terms=terms).pick(records)
        assert list(picked) == records[::2]
    assert places == [True] * 100 + [False] * 100
