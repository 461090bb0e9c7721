"""One reconciliation of one object on a real plane: what is written, in which order, and what is not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from homeostat.client.base import Client, Response, Transport
from homeostat.edge.metrics.exposition import exposition
from homeostat.objects.decision import Decision, Receipt
from homeostat.objects.errors import TooManyRequestsError, UnavailableError, status_of
from homeostat.objects.json import encode
from homeostat.plane import Settings, open_plane
from homeostat.runtime.control.reconcile import Options
from homeostat.runtime.manager import Manager
from homeostat.runtime.watch.source import place_of
from homeostat.testing.eventually import eventually
from homeostat.testing.status import check_status
from tests.runtime.widgets import (
    FINALIZER,
    Action,
    Remove,
    Start,
    Widget,
    Widgets,
    Write,
    Writer,
    managed,
    path,
    widget,
)

NOTES = "/api/v1/namespaces/default/configmaps"
EVENTS = "/api/v1/namespaces/default/events"


class Ledger:
    """A transport that keeps what was written, by what it is about; `refusals` are answers to coming status writes."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self.written: list[str] = []
        self.refusals: list[Response] = []

    async def send(
        self, method: str, path: str, *, query: str = "", body: bytes = b"", content_type: str = "", accept: str = ""
    ) -> Response:
        if method != "GET" and (place := place_of(path)).namespace:
            what = "status" if path.endswith("/status") else place.plural
            self.written.append(f"{method} {what}")
            if what == "status" and self.refusals:
                return self.refusals.pop(0)
        return await self._inner.send(method, path, query=query, body=body, content_type=content_type, accept=accept)

    async def stream(self, path: str, *, query: str = "", accept: str = "") -> Response | AsyncIterator[bytes]:
        return await self._inner.stream(path, query=query, accept=accept)


@pytest.fixture
async def client(data: Path) -> AsyncIterator[Client]:
    async with open_plane(Settings(data=data, port=0, is_open=True, operators=frozenset())) as plane:
        yield plane.client


@pytest.fixture
def ledger(client: Client) -> Ledger:
    return Ledger(client._transport)


async def has_events(client: Client, count: int) -> None:
    await eventually(lambda: client.list(EVENTS), lambda found: len(found[0]) == count)


async def test_the_finalizer_comes_before_the_first_effect_and_goes_after_the_last(
    client: Client, ledger: Ledger
) -> None:
    async with managed(Client(ledger), Widgets()):
        await client.create(path(), widget("a"))
        await has_events(client, 1)
        await client.delete(path("a"))
        await eventually(lambda: ledger.written[-1] == "PATCH widgets")
        await eventually(lambda: client.list(path()), lambda found: found[0] == [])
    assert ledger.written == [
        "PATCH widgets",
        "POST configmaps",
        "PATCH status",
        "PATCH status",
        "POST events",
        "DELETE configmaps",
        "PATCH widgets",
    ]


class TwiceWriter(Writer):
    """Two effects that are named when they are made, in one decision."""

    def decide(self, obj: Widget, world: str | None) -> Decision[Action]:
        decision = super().decide(obj, world)
        return Decision((*decision.actions, Remove())) if decision.actions else decision

    async def act(self, obj: Widget, action: Action) -> Receipt | None:
        if action == Remove():
            self.acts.append((obj.metadata.name, action))
            raise ConnectionError("the world broke off")
        return await super().act(obj, action)


class Twice(Widgets):
    writer_type = TwiceWriter


async def test_a_receipt_is_written_before_the_next_effect(client: Client, ledger: Ledger) -> None:
    widgets = Twice(Options())
    async with managed(Client(ledger), widgets):
        await client.create(path(), widget("a", mode="run"))
        obj = await eventually(lambda: client.get(path("a")), lambda obj: "conditions" in (obj.get("status") or {}))
        await eventually(lambda: client.get(path("a")), lambda obj: obj["status"]["conditions"][0]["reason"] == "Ran")
    assert obj["status"]["run"] == "run-1"
    assert [action for _, action in widgets.writer.acts] == [Start(), Remove()]
    assert ledger.written == ["PATCH status"] * 3


async def test_events_are_recorded_once_the_status_is_written(client: Client, ledger: Ledger) -> None:
    ledger.refusals = [Response(503, encode(status_of(UnavailableError("not now"))))] * 3
    async with managed(Client(ledger), Widgets(Options())):
        await client.create(path(), widget("a"))
        await has_events(client, 1)
    assert ledger.written.index("POST events") == len(ledger.written) - 1
    assert ledger.written.count("POST events") == 1


async def test_the_events_of_a_controller_may_name_a_component_of_its_own(client: Client) -> None:
    async with managed(client, Widgets(Options(component="widget-controller"))):
        await client.create(path(), widget("a"))
        await has_events(client, 1)
        (event,), _ = await client.list(EVENTS)
    assert event["source"]["component"] == "widget-controller"


@pytest.mark.parametrize(
    "error",
    [TooManyRequestsError("slow down"), UnavailableError("starting"), TooManyRequestsError("later", retry_after_s=1)],
    ids=["429", "503", "429 with Retry-After"],
)
async def test_a_status_that_the_server_refuses_is_written_later(
    client: Client, ledger: Ledger, error: Exception
) -> None:
    assert isinstance(error, TooManyRequestsError | UnavailableError)
    ledger.refusals = [Response(error.code, encode(status_of(error)), float(error.retry_after_s) or None)] * 2
    widgets = Widgets(Options())
    async with managed(Client(ledger), widgets):
        await client.create(path(), widget("a"))
        obj = await eventually(
            lambda: client.get(path("a")), lambda obj: (obj.get("status") or {}).get("text") == "hello"
        )
        check_status(obj)
    assert widgets.writer.acts == [("a", Write("hello"))]


async def test_a_terminating_object_without_our_finalizer_is_not_changed(client: Client, ledger: Ledger) -> None:
    widgets = Widgets()
    other = widget("a")
    other["metadata"]["finalizers"] = ["other.example/keep"]
    async with managed(client, Widgets()):
        pass
    await client.create(path(), other)
    await client.delete(path("a"))
    manager = Manager(Client(ledger))
    async with managed(Client(ledger), widgets, manager):
        await eventually(lambda: b'"gone"' in exposition(manager.metrics))
    assert (widgets.writer.looks["a"], ledger.written) == (0, [])
    again = Manager(client)
    again.add("widgets", Widgets().register)
    (plan,) = await again.plan()
    assert plan.decision is not None
    assert plan.decision.actions == ()


class GroupingWriter(Writer):
    """Reads several things at once, as many operators do."""

    async def observe(self, obj: Widget) -> str | None:
        async with asyncio.TaskGroup() as tasks:
            seen = tasks.create_task(super().observe(obj))
            if obj.spec.mode == "away":
                tasks.create_task(_refuse())
        return seen.result()


async def _refuse() -> None:
    raise UnavailableError("the registry is away")


class Grouping(Widgets):
    writer_type = GroupingWriter


async def test_an_error_of_a_task_counts_as_one_of_its_reconciliation(client: Client) -> None:
    async with managed(client, Grouping()):
        await client.create(path(), widget("a", mode="away"))
        obj = await eventually(lambda: client.get(path("a")), lambda obj: "status" in obj)
    (condition,) = obj["status"]["conditions"]
    assert (condition["reason"], condition["message"]) == ("ServiceUnavailable", "the registry is away")
    assert obj["metadata"]["finalizers"] == [FINALIZER]
