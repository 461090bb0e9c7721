"""What is there and does not fit is not absent: in a cache, and for operators on a plane and on a real cluster."""

from __future__ import annotations

import asyncio
import logging
from typing import Annotated

import msgspec
import pytest

from homeostat.objects.conditions import READY, Condition
from homeostat.objects.decision import Decision
from homeostat.objects.declared import Declared, Metadata
from homeostat.objects.errors import NotFoundError
from homeostat.objects.json import JsonObject, encode
from homeostat.objects.kind import CONFIG_MAP
from homeostat.objects.time.backoff import Backoff
from homeostat.runtime.cache.cache import CacheWriter, Change
from homeostat.runtime.cache.decoding import Projection, UnreadableObject
from homeostat.runtime.cache.freshness import Deletion
from homeostat.runtime.cache.unreadable import UnreadableError
from homeostat.runtime.control import queue
from homeostat.runtime.control.failure_conditions import PAUSE
from homeostat.runtime.control.reconcile import Options
from homeostat.runtime.installation import install
from homeostat.runtime.setup import Setup
from homeostat.runtime.watch.routes import to_mapped
from homeostat.testing.eventually import eventually
from homeostat.testing.status import check_status, condition_of
from tests.cluster.fixtures import Api
from tests.runtime.projections import Pod, pod, pod_cache
from tests.runtime.widgets import KINDS, WIDGETS, Shop, Write, widget


def unreadable(name: str, version: int, *, reason: str = "odd", is_gone: bool = False) -> UnreadableObject:
    return UnreadableObject("shop", name, version, reason, is_gone)


def listed(
    writer: CacheWriter[Pod], pods: list[Pod], unread: list[UnreadableObject], version: int
) -> list[Change[Pod]]:
    listing = writer.listing()
    for each in pods:
        listing.put(each)
    for odd in unread:
        listing.leave_out(odd)
    return listing.swap(version)


def names(writer: CacheWriter[Pod]) -> list[str]:
    return [each.name for each in writer.cache.unreadable]


def test_to_ask_for_what_is_unreadable_is_an_error_and_lists_leave_it_out() -> None:
    writer = pod_cache()
    listed(writer, [pod("web", 1)], [unreadable("db", 2)], 3)
    with pytest.raises(UnreadableError, match=r'"shop/db" does not match .*: odd; correct the object'):
        writer.cache.get("shop", "db")
    assert writer.cache.get("shop", "none") is None
    assert (len(writer.cache), writer.cache.names(), names(writer)) == (1, [("shop", "web")], ["db"])
    assert writer.cache.knows("shop", "db")


@pytest.mark.parametrize("end", ["fits", "gone", "gone unreadable", "listed without", "listed fit"])
def test_nothing_is_kept_of_what_fits_or_is_gone(end: str) -> None:
    writer = pod_cache()
    listed(writer, [], [], 1)
    assert writer.leave_out(unreadable("db", 2)) is None
    told: list[str] = []
    with pytest.raises(UnreadableError) as caught:
        writer.cache.get("shop", "db")
    caught.value.when_changed("who", lambda: told.append("not this one"))
    caught.value.when_changed("who", lambda: told.append("changed"))
    match end:
        case "fits":
            assert writer.put(pod("db", 3)) == Change("shop", "db", None, pod("db", 3))
        case "gone":
            writer.remove(pod("db", 3))
        case "gone unreadable":
            writer.leave_out(unreadable("db", 3, is_gone=True))
        case "listed without":
            listed(writer, [], [], 3)
        case _:
            listed(writer, [pod("db", 3)], [], 3)
    assert (names(writer), told) == ([], ["changed"])
    assert (writer.cache.get("shop", "db") is not None) == ("fit" in end and end != "gone unreadable")


def test_who_asks_too_late_to_be_called_is_called_at_once() -> None:
    writer = pod_cache()
    writer.leave_out(unreadable("db", 2))
    with pytest.raises(UnreadableError) as caught:
        writer.cache.get("shop", "db")
    writer.put(pod("db", 3))
    told: list[str] = []
    caught.value.when_changed("who", lambda: told.append("changed"))
    assert told == ["changed"]


def test_an_old_version_of_what_is_unreadable_changes_nothing() -> None:
    writer = pod_cache()
    listed(writer, [pod("web", 5)], [], 7)
    for odd in (unreadable("web", 4), unreadable("gone", 6)):
        assert writer.leave_out(odd) is None
    assert (names(writer), writer.cache.get("shop", "web")) == ([], pod("web", 5))
    writer.leave_out(unreadable("web", 8))
    assert writer.leave_out(unreadable("web", 7, is_gone=True)) is None
    assert writer.put(pod("web", 6)) is None
    assert names(writer) == ["web"]


def test_of_one_list_the_last_word_on_an_object_counts() -> None:
    writer = pod_cache()
    listing = writer.listing()
    listing.put(pod("web", 1))
    listing.leave_out(unreadable("web", 2))
    listing.leave_out(unreadable("db", 3))
    listing.put(pod("db", 4))
    listing.swap(5)
    assert (writer.cache.names(), names(writer)) == ([("shop", "db")], ["web"])


def test_a_list_that_is_compared_mends_only_what_no_event_has_changed_since() -> None:
    writer = pod_cache()
    listed(
        writer,
        [pod("turned", 1), pod("newer", 1)],
        [unreadable("gone", 1), unreadable("fits", 2), unreadable("since", 3)],
        4,
    )
    compared = writer.comparison()
    for each in ("turned", "newer", "removed", "since"):
        compared.leave_out(unreadable(each, 5))
    compared.put(pod("fits", 5))
    writer.put(pod("newer", 8))
    writer.leave_out(unreadable("removed", 9, is_gone=True))
    writer.leave_out(unreadable("since", 10, reason="odder"))
    compared.merge(7)
    assert writer.cache.names() == [("shop", "newer"), ("shop", "fits")]
    assert {each.name: each.reason for each in writer.cache.unreadable} == {"turned": "odd", "since": "odder"}


async def test_a_deletion_of_what_is_unreadable_is_waited_for() -> None:
    writer = pod_cache()
    listed(writer, [], [unreadable("db", 2)], 3)
    writer.cache.deleted("shop", "db", Deletion("u-1", known=3))
    waiting = asyncio.create_task(writer.cache.await_version("shop", "db"))
    await asyncio.sleep(0)
    assert writer.cache.is_behind("shop", "db")
    writer.leave_out(unreadable("db", 4, is_gone=True))
    async with asyncio.timeout(30):
        await waiting


def test_a_deleted_object_that_is_unreadable_is_reported_as_a_list_reports_it() -> None:
    odd: JsonObject = {"metadata": {"name": "web", "namespace": "shop", "resourceVersion": "4"}, "node": 1}
    pods = Projection(Pod)
    told = "Expected `str`, got `int` - at `$.node`"
    assert pods.event(encode({"type": "DELETED", "object": odd})) == UnreadableObject(
        "shop", "web", 4, told, is_gone=True
    )
    (found,) = pods.page(encode({"metadata": {"resourceVersion": "7"}, "items": [odd]})).unreadable
    assert found == UnreadableObject("shop", "web", 4, told)


class Text(msgspec.Struct, frozen=True):
    """Every ConfigMap has data, this one thinks."""

    metadata: Metadata
    data: dict[str, str]


class LongSpec(msgspec.Struct, frozen=True):
    text: Annotated[str, msgspec.Meta(min_length=3)]


class LongWidget(Declared, frozen=True):
    spec: LongSpec


class Confident:
    """Writes its text into the ConfigMap of its name wherever it sees another, or none."""

    KINDS = KINDS

    def __init__(self, options: Options = Options()) -> None:  # noqa: B008
        self._options = options

    def register(self, setup: Setup) -> None:
        self.notes = setup.watch(CONFIG_MAP, Text)
        self._objects = setup.objects(CONFIG_MAP, Text)
        self.controller = setup.control(WIDGETS.kind, LongWidget, self, self._options)
        self.controller.also(self.notes, to_mapped(WIDGETS.kind, self._names))
        self.acts = self.looks = 0

    def _names(self, note: Text) -> list[tuple[str, str]]:
        """Those that a note named `route` of its namespace says."""
        route = self.notes.cache.get(note.metadata.namespace, "route")
        return [] if route is None else [(note.metadata.namespace, route.data["to"])]

    async def observe(self, obj: LongWidget) -> str | None:
        self.looks += 1
        note = self.notes.cache.get(obj.metadata.namespace, obj.metadata.name)
        return None if note is None else note.data.get("text")

    def decide(self, obj: LongWidget, world: str | None) -> Decision[Write]:
        if world != obj.spec.text:
            return Decision((Write(obj.spec.text),), (Condition(READY, "False", "Differs"),))
        return Decision(conditions=(Condition(READY, "True", "Written"),))

    async def act(self, obj: LongWidget, action: Write) -> None:
        self.acts += 1
        name, namespace = obj.metadata.name, obj.metadata.namespace
        await self._objects.apply({"data": {"text": action.text}}, name, namespace, manager="confident")


@pytest.fixture
async def shop(api: Api) -> Shop:
    await install(api.client, KINDS)
    shop = Shop(api.client, api.namespace)
    await eventually(lambda: shop.client.list(shop.path()))
    return shop


async def is_ready(shop: Shop, name: str, status: str, reason: str) -> JsonObject:
    def holds(obj: JsonObject) -> bool:
        found = condition_of(obj, READY)
        return (found.get("status"), found.get("reason")) == (status, reason)

    obj = await eventually(lambda: shop.client.get(shop.path(name)), holds)
    check_status(obj)
    return condition_of(obj, READY)


async def run(shop: Shop, operator: Confident, tasks: asyncio.TaskGroup) -> asyncio.Task[None]:
    manager = shop.manager()
    manager.add("confident", operator.register)
    task = tasks.create_task(manager.run())
    await eventually(lambda: operator.controller.queue is not None)
    return task


@pytest.mark.parametrize("end", ["mended", "deleted"])
async def test_an_object_of_somebody_else_that_is_unreadable_is_not_taken_over(
    shop: Shop, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The third retry comes later than the test waits for anything.
    monkeypatch.setattr(queue, "Backoff", lambda: Backoff(first_s=0.01, factor=60.0, spread=0.0))
    operator = Confident()
    foreign = await shop.client.create(shop.notes, CONFIG_MAP.new("a"))
    async with asyncio.TaskGroup() as tasks:
        running = await run(shop, operator, tasks)
        await shop.client.create(shop.path(), widget("a"))
        told = await is_ready(shop, "a", "False", "Unreadable")
        where = f'configmaps "{shop.namespace}/a" does not match Text'
        assert told["message"].startswith(f"{where}: Object missing required field `data`")
        await eventually(lambda: operator.looks >= 3)
        assert (await shop.client.get(f"{shop.notes}/a"), operator.acts) == (foreign, 0)
        if end == "mended":
            await shop.client.merge(f"{shop.notes}/a", {"data": {"text": "hello"}})
        else:
            await shop.client.delete(f"{shop.notes}/a")
        await is_ready(shop, "a", "True", "Written")
        assert operator.acts == (0 if end == "mended" else 1)
        running.cancel()


async def test_an_object_of_its_own_that_is_unreadable_says_so(shop: Shop, caplog: pytest.LogCaptureFixture) -> None:
    operator = Confident()
    await shop.client.create(shop.path(), widget("a", text="no"))
    with caplog.at_level(logging.ERROR, logger="homeostat.runtime"):
        async with asyncio.TaskGroup() as tasks:
            running = await run(shop, operator, tasks)
            told = await is_ready(shop, "a", "False", "Unreadable")
            assert "does not match LongWidget: Expected `str` of length >= 3 - at `$.spec.text`" in told["message"]
            assert "observedGeneration" not in (await shop.client.get(shop.path("a")))["status"]
            await shop.client.create(shop.path(), widget("b", text="no"))
            await is_ready(shop, "b", "False", "Unreadable")
            await shop.client.merge(shop.path("a"), {"spec": {"text": "yes"}})
            await is_ready(shop, "a", "True", "Written")
            await shop.client.merge(shop.path("a"), {"spec": {"text": "no"}})
            await is_ready(shop, "a", "False", "Unreadable")
            running.cancel()
    told_of = [getattr(each, "object", "") for each in caplog.records if each.message == "failed to reconcile"]
    assert [each.rpartition("/")[2] for each in told_of] == ["a", "b", "a"]


async def test_an_object_that_is_unreadable_is_paused_like_any_other(shop: Shop) -> None:
    odd = widget("a", text="no")
    odd["metadata"]["annotations"] = {PAUSE: "true"}
    await shop.client.create(shop.path(), odd)
    async with asyncio.TaskGroup() as tasks:
        running = await run(shop, Confident(), tasks)
        await is_ready(shop, "a", "Unknown", "PausedByAnnotation")
        await shop.client.merge(shop.path("a"), {"metadata": {"annotations": {PAUSE: None}}})
        await is_ready(shop, "a", "False", "Unreadable")
        running.cancel()


async def test_an_object_that_is_unreadable_and_goes_is_forgotten(shop: Shop) -> None:
    operator = Confident(Options(has_status=False))
    await shop.client.create(shop.path(), widget("a", text="no"))
    async with asyncio.TaskGroup() as tasks:
        running = await run(shop, operator, tasks)
        cache = operator.controller.informer.cache
        assert [each.name for each in cache.unreadable] == ["a"]
        await shop.client.delete(shop.path("a"))
        await eventually(lambda: not cache.unreadable)
        with pytest.raises(NotFoundError):
            await shop.client.get(shop.path("a"))
        running.cancel()


async def test_who_waits_for_what_is_unreadable_and_goes_is_forgotten(shop: Shop) -> None:
    operator = Confident(Options(has_status=False))
    await shop.client.create(shop.notes, CONFIG_MAP.new("a"))
    await shop.client.create(shop.path(), widget("a"))
    async with asyncio.TaskGroup() as tasks:
        running = await run(shop, operator, tasks)
        waiting = operator.notes._unreadable._waiting
        await eventually(lambda: waiting)
        await shop.client.delete(shop.path("a"))
        await eventually(lambda: not waiting)
        assert [each.name for each in operator.notes.cache.unreadable] == ["a"]
        running.cancel()


async def test_a_route_that_cannot_read_is_asked_again_and_ends_nothing(shop: Shop) -> None:
    operator = Confident()
    await shop.client.create(shop.notes, CONFIG_MAP.new("route"))
    async with asyncio.TaskGroup() as tasks:
        running = await run(shop, operator, tasks)
        await shop.client.create(shop.path(), widget("a"))
        await is_ready(shop, "a", "True", "Written")
        await shop.client.merge(f"{shop.notes}/a", {"data": {"text": "buy now"}})
        await asyncio.sleep(0.3)
        assert operator.acts == 1
        await shop.client.merge(f"{shop.notes}/route", {"data": {"to": "a"}})
        await eventually(lambda: operator.acts == 2)
        running.cancel()


async def test_a_dry_run_reports_what_is_unreadable(shop: Shop) -> None:
    await shop.client.create(shop.path(), widget("a", text="no"))
    manager = shop.manager()
    manager.add("confident", Confident().register)
    (plan,) = await manager.plan()
    assert (plan.request.name, plan.decision) == ("a", None)
    assert plan.trouble.startswith("Unreadable: widgets ")
