"""The sequence that all operators share, on a plane and on a real cluster."""

from __future__ import annotations

import asyncio
import logging

import pytest

from homeostat.objects.errors import ApiError, NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import CONFIG_MAP, Kind
from homeostat.runtime.control.failure_conditions import PAUSE
from homeostat.runtime.control.reconcile import Options
from homeostat.runtime.installation import install
from homeostat.runtime.setup import Setup
from homeostat.testing.eventually import eventually
from homeostat.testing.status import check_status
from tests.cluster.fixtures import Api
from tests.runtime.faulty import FaultyTransport
from tests.runtime.widgets import (
    FINALIZER,
    KINDS,
    Note,
    Remove,
    Shop,
    Start,
    Widget,
    Widgets,
    Write,
    Writer,
    widget,
)

NOWHERE = Kind("nowhere.example", "v1", "things", "Thing", is_namespaced=True)


class CarelessWriter(Writer):
    async def observe(self, obj: Widget) -> str | None:
        await self._write(obj, "too early")
        return None


class Careless(Widgets):
    writer_type = CarelessWriter


@pytest.fixture
async def shop(api: Api) -> Shop:
    await install(api.client, KINDS)
    shop = Shop(api.client, api.namespace)
    await eventually(lambda: shop.client.list(shop.path()))
    return shop


@pytest.fixture
def widgets() -> Widgets:
    return Widgets()


def conditions(obj: JsonObject) -> dict[str, tuple[str, str]]:
    found = (obj.get("status") or {}).get("conditions") or []
    return {each["type"]: (each["status"], each["reason"]) for each in found}


async def settled(shop: Shop, name: str, ready: tuple[str, str]) -> JsonObject:
    obj = await eventually(lambda: shop.client.get(shop.path(name)), lambda obj: conditions(obj).get("Ready") == ready)
    check_status(obj)
    return obj


async def is_gone(shop: Shop, name: str) -> bool:
    try:
        await shop.client.get(shop.path(name))
    except NotFoundError:
        return True
    return False


async def test_what_is_declared_becomes_so_and_the_status_says_it(shop: Shop, widgets: Widgets) -> None:
    async with shop.managed(widgets):
        await shop.client.create(shop.path(), widget("a"))
        obj = await settled(shop, "a", ("True", "Written"))
        assert obj["status"]["text"] == "hello"
        assert obj["status"]["observedGeneration"] == 1
        assert obj["metadata"]["finalizers"] == [FINALIZER]
        note = await shop.client.get(f"{shop.notes}/a")
        assert note["data"] == {"text": "hello"}
        assert note["metadata"]["ownerReferences"][0]["uid"] == obj["metadata"]["uid"]
        assert widgets.writer.acts == [("a", Write("hello"))]


async def test_a_changed_spec_is_followed(shop: Shop, widgets: Widgets) -> None:
    async with shop.managed(widgets):
        await shop.client.create(shop.path(), widget("a"))
        await settled(shop, "a", ("True", "Written"))
        await shop.client.merge(shop.path("a"), {"spec": {"text": "bye"}})
        await eventually(lambda: shop.client.get(shop.path("a")), lambda obj: obj["status"].get("text") == "bye")
        assert (await shop.client.get(f"{shop.notes}/a"))["data"] == {"text": "bye"}


async def test_drift_of_what_was_made_is_undone(shop: Shop, widgets: Widgets) -> None:
    async with shop.managed(widgets):
        await shop.client.create(shop.path(), widget("a"))
        await settled(shop, "a", ("True", "Written"))
        await shop.client.merge(f"{shop.notes}/a", {"data": {"text": "other"}})
        await eventually(lambda: shop.client.get(f"{shop.notes}/a"), lambda obj: obj["data"] == {"text": "hello"})
        await shop.client.delete(f"{shop.notes}/a")
        await eventually(lambda: shop.client.get(f"{shop.notes}/a"), lambda obj: obj["data"] == {"text": "hello"})


async def test_what_was_there_before_is_reconciled(shop: Shop, widgets: Widgets) -> None:
    async with shop.managed(widgets):
        await shop.client.create(shop.path(), widget("a"))
        await settled(shop, "a", ("True", "Written"))
    again = Widgets()
    await shop.client.merge(f"{shop.notes}/a", {"data": {"text": "while nobody looked"}})
    async with shop.managed(again):
        await eventually(lambda: shop.client.get(f"{shop.notes}/a"), lambda obj: obj["data"] == {"text": "hello"})


async def test_a_settled_object_costs_no_writes(shop: Shop, widgets: Widgets) -> None:
    async with shop.managed(widgets):
        await shop.client.create(shop.path(), widget("a", againAfterS=0.05))
        obj = await settled(shop, "a", ("True", "Written"))
        looks = widgets.writer.looks["a"]
        await eventually(lambda: widgets.writer.looks["a"] > looks + 3)
        after = await shop.client.get(shop.path("a"))
        assert after["metadata"]["resourceVersion"] == obj["metadata"]["resourceVersion"]


async def test_a_deleted_object_is_cleaned_up_after_and_then_goes(shop: Shop, widgets: Widgets) -> None:
    async with shop.managed(widgets):
        await shop.client.create(shop.path(), widget("a"))
        await settled(shop, "a", ("True", "Written"))
        await shop.client.merge(shop.path("a"), {"metadata": {"finalizers": [FINALIZER, "other.example/keep"]}})
        await shop.client.delete(shop.path("a"))
        await eventually(
            lambda: shop.client.get(shop.path("a")), lambda obj: obj["metadata"]["finalizers"] == ["other.example/keep"]
        )
        assert widgets.writer.acts[-1] == ("a", Remove())
        with pytest.raises(NotFoundError):
            await shop.client.get(f"{shop.notes}/a")
        await shop.client.merge(shop.path("a"), {"metadata": {"finalizers": []}})
        await eventually(lambda: is_gone(shop, "a"))
        controller = widgets.controller
        await eventually(lambda: [len(controller.breaker), len(controller._scopes)], lambda left: left == [0, 0])


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        pytest.param(
            "wait",
            {"Ready": ("Unknown", "ImageMissing"), "Reconciling": ("True", "ImageMissing")},
            id="wait",
        ),
        pytest.param("stall", {"Ready": ("False", "BadText"), "Stalled": ("True", "BadText")}, id="stalled"),
        pytest.param("fail", {"Ready": ("False", "ZeroDivisionError")}, id="a mistake of ours"),
        pytest.param("refuse", {"Ready": ("False", "ServiceUnavailable")}, id="an error of the API"),
    ],
)
async def test_the_conditions_say_how_a_reconciliation_ended(
    shop: Shop, widgets: Widgets, mode: str, expected: dict[str, tuple[str, str]]
) -> None:
    async with shop.managed(widgets):
        await shop.client.create(shop.path(), widget("a", mode=mode))
        obj = await eventually(lambda: shop.client.get(shop.path("a")), lambda obj: conditions(obj) == expected)
        check_status(obj)


async def test_a_reconciliation_that_has_to_wait_is_repeated_after_its_time(shop: Shop, widgets: Widgets) -> None:
    async with shop.managed(widgets):
        await shop.client.create(shop.path(), widget("a", mode="wait"))
        await eventually(lambda: widgets.writer.looks["a"] >= 4)
        await shop.client.merge(shop.path("a"), {"spec": {"mode": ""}})
        obj = await settled(shop, "a", ("True", "Written"))
        assert "Reconciling" not in conditions(obj)


async def test_a_stalled_object_is_left_until_it_changes_and_an_event_says_so(shop: Shop, widgets: Widgets) -> None:
    async with shop.managed(widgets):
        await shop.client.create(shop.path(), widget("a", mode="stall"))
        await settled(shop, "a", ("False", "BadText"))
        looks = widgets.writer.looks["a"]
        events = await eventually(lambda: shop.client.list(shop.events), lambda found: len(found[0]) > 0)
        (event,) = events[0]
        assert (event["type"], event["reason"], event["involvedObject"]["name"]) == ("Warning", "BadText", "a")
        await asyncio.sleep(0.3)
        assert widgets.writer.looks["a"] == looks
        await shop.client.merge(shop.path("a"), {"spec": {"mode": ""}})
        await settled(shop, "a", ("True", "Written"))


async def test_what_fails_is_retried_with_backoff_and_logged_once(
    shop: Shop, widgets: Widgets, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        async with shop.managed(widgets):
            await shop.client.create(shop.path(), widget("a", mode="fail"))
            await eventually(lambda: widgets.writer.looks["a"] >= 5)
            await shop.client.merge(shop.path("a"), {"spec": {"mode": ""}})
            await settled(shop, "a", ("True", "Written"))
    assert [each.exc_info is not None for each in caplog.records if each.message == "failed to reconcile"] == [True]


async def test_a_lost_race_is_tried_again_and_says_nothing(shop: Shop, widgets: Widgets) -> None:
    async with shop.managed(widgets):
        await shop.client.create(shop.path(), widget("a", mode="conflict"))
        await eventually(lambda: widgets.writer.looks["a"] >= 4)
        assert conditions(await shop.client.get(shop.path("a"))) == {}


async def test_one_bad_object_does_not_hold_up_the_others(shop: Shop) -> None:
    widgets = Widgets(Options(concurrency=2, timeout_s=0.5))
    async with shop.managed(widgets):
        await shop.client.create(shop.path(), widget("bad", mode="hang"))
        await eventually(lambda: widgets.writer.at_work == 1)
        for number in range(20):
            await shop.client.create(shop.path(), widget(f"good-{number}"))
        for number in range(20):
            await settled(shop, f"good-{number}", ("True", "Written"))
        await settled(shop, "bad", ("False", "TimedOut"))


async def test_the_same_actions_right_after_acting_back_off(shop: Shop, widgets: Widgets) -> None:
    async with shop.managed(widgets):
        await shop.client.create(shop.path(), widget("a", mode="blind"))
        await eventually(lambda: len(widgets.writer.acts) >= 3)
        await asyncio.sleep(0.3)
        # Without a backoff there would be hundreds; with it each comes after twice the time.
        assert 3 <= len(widgets.writer.acts) <= 6
        assert widgets.writer.looks["a"] <= 2 * len(widgets.writer.acts) + 1


async def test_actions_that_bring_nothing_about_are_warned_of_once_for_as_long_as_that_continues(
    shop: Shop, widgets: Widgets, caplog: pytest.LogCaptureFixture
) -> None:
    def warnings() -> list[tuple[str, str]]:
        found = [each for each in caplog.records if each.message == "actions had no effect; retrying"]
        return [(each.levelname, getattr(each, "actions", "")) for each in found]

    async with shop.managed(widgets):
        await shop.client.create(shop.path(), widget("a", mode="blind"))
        await eventually(lambda: len(widgets.writer.acts) >= 4)
        assert warnings() == [("WARNING", "Write")]
        assert any("the same actions right after" in getattr(each, "hint", "") for each in caplog.records)
        await shop.client.merge(shop.path("a"), {"spec": {"mode": ""}})
        await settled(shop, "a", ("True", "Written"))
        done = len(widgets.writer.acts)
        await shop.client.merge(shop.path("a"), {"spec": {"mode": "blind"}})
        await eventually(lambda: len(widgets.writer.acts) >= done + 2)
        assert warnings() == [("WARNING", "Write")] * 2


async def test_a_receipt_is_written_and_the_effect_not_repeated(shop: Shop, widgets: Widgets) -> None:
    async with shop.managed(widgets):
        await shop.client.create(shop.path(), widget("a", mode="run"))
        obj = await settled(shop, "a", ("True", "Ran"))
        assert obj["status"]["run"] == "run-1"
        assert widgets.writer.acts == [("a", Start())]
    again = Widgets()
    async with shop.managed(again):
        await eventually(lambda: again.writer.looks["a"] >= 1)
        assert again.writer.acts == []


async def test_a_reconciliation_never_sees_less_than_was_written(shop: Shop) -> None:
    """The watch of the ConfigMaps lags: without waiting for it, the note would be written again."""
    slow = FaultyTransport(shop.client._transport)
    lagging = Shop(shop.client.over(lambda _: slow), shop.namespace)
    held = asyncio.Event()
    widgets = Widgets()
    async with lagging.managed(widgets):
        await eventually(lambda: widgets.controller.queue is not None)
        slow.held[shop.notes] = held
        await shop.client.create(shop.path(), widget("a"))
        await eventually(lambda: shop.client.get(f"{shop.notes}/a"))
        await asyncio.sleep(0.2)
        assert widgets.writer.looks["a"] == 1
        held.set()
        await settled(shop, "a", ("True", "Written"))
        assert widgets.writer.acts == [("a", Write("hello"))]


async def test_a_paused_object_is_not_reconciled_and_says_so(shop: Shop, widgets: Widgets) -> None:
    async with shop.managed(widgets):
        paused = widget("a")
        paused["metadata"]["annotations"] = {PAUSE: "true"}
        await shop.client.create(shop.path(), paused)
        obj = await eventually(lambda: shop.client.get(shop.path("a")), lambda obj: "Paused" in conditions(obj))
        check_status(obj)
        why = "PausedByAnnotation"
        assert conditions(obj) == {"Paused": ("True", why), "Ready": ("Unknown", why)}
        assert "observedGeneration" not in obj["status"]
        assert widgets.writer.looks["a"] == 0
        await shop.client.merge(shop.path("a"), {"metadata": {"annotations": {PAUSE: None}}})
        obj = await settled(shop, "a", ("True", "Written"))
        assert "Paused" not in conditions(obj)


async def test_what_an_operator_does_not_want_to_know_of_is_seen_where_the_runtime_has_to(shop: Shop) -> None:
    widgets = Widgets(Options(finalizer=FINALIZER, when=lambda change: change.old is None))
    async with shop.managed(widgets):
        paused = widget("a")
        paused["metadata"]["annotations"] = {PAUSE: "true"}
        await shop.client.create(shop.path(), paused)
        await eventually(lambda: shop.client.get(shop.path("a")), lambda obj: "Paused" in conditions(obj))
        await shop.client.merge(shop.path("a"), {"metadata": {"annotations": {PAUSE: None}}})
        await settled(shop, "a", ("True", "Written"))
        await shop.client.delete(shop.path("a"))
        await eventually(lambda: is_gone(shop, "a"))


async def test_notices_become_events_once(shop: Shop, widgets: Widgets) -> None:
    async with shop.managed(widgets):
        await shop.client.create(shop.path(), widget("a", againAfterS=0.05))
        await settled(shop, "a", ("True", "Written"))
        await eventually(lambda: widgets.writer.looks["a"] > 5)
        events, _ = await shop.client.list(shop.events)
        assert [(each["reason"], each["message"], each["count"]) for each in events] == [
            ("Written", '"" became "hello"', 1)
        ]


async def test_what_the_server_refuses_for_a_while_is_not_lost(shop: Shop, widgets: Widgets) -> None:
    async with shop.managed(widgets):
        await shop.client.create(shop.path(), widget("a", mode="busy"))
        await settled(shop, "a", ("True", "Written"))


async def test_an_object_that_changes_all_the_time_is_rate_limited(shop: Shop) -> None:
    widgets = Widgets()
    async with shop.managed(widgets):
        await shop.client.create(shop.path(), widget("hot", againAfterS=0.001))
        await shop.client.create(shop.path(), widget("calm"))
        await eventually(lambda: widgets.controller.breaker.trips > 0)
        looks = widgets.writer.looks["hot"]
        await asyncio.sleep(0.5)
        assert widgets.writer.looks["hot"] <= looks + 2
        await shop.client.merge(shop.path("calm"), {"spec": {"text": "still served"}})
        await eventually(
            lambda: shop.client.get(shop.path("calm")), lambda obj: obj["status"].get("text") == "still served"
        )


async def test_without_a_status_nothing_is_written_to_it(shop: Shop) -> None:
    widgets = Widgets(Options(has_status=False))
    async with shop.managed(widgets):
        await shop.client.create(shop.path(), widget("a"))
        await eventually(lambda: shop.client.get(f"{shop.notes}/a"))
        await shop.client.create(shop.path(), widget("b", mode="stall"))
        await eventually(lambda: shop.client.list(shop.events), lambda found: len(found[0]) > 0)
        assert "status" not in await shop.client.get(shop.path("a"))
        assert "status" not in await shop.client.get(shop.path("b"))


async def test_stopping_lets_running_work_end(shop: Shop) -> None:
    widgets = Widgets(Options(timeout_s=5))
    manager = shop.manager(grace_s=5)
    async with shop.managed(widgets, manager):
        await shop.client.create(shop.path(), widget("a", mode="hang"))
        await eventually(lambda: widgets.writer.at_work == 1)
        manager.stop()
        await asyncio.sleep(0.1)
        await shop.client.create(shop.path(), widget("late"))
        await asyncio.sleep(0.1)
        widgets.writer.release.set()
    assert widgets.writer.acts == [("a", Write("hello"))]
    assert widgets.writer.looks["late"] == 0


async def test_work_that_does_not_end_in_its_grace_is_cut_off(shop: Shop) -> None:
    widgets = Widgets()
    manager = shop.manager(grace_s=0.2)
    async with shop.managed(widgets, manager):
        await shop.client.create(shop.path(), widget("a", mode="hang"))
        await eventually(lambda: widgets.writer.at_work == 1)
    assert widgets.writer.at_work == 0


async def test_a_dry_run_says_what_would_be_done_and_does_nothing(shop: Shop, widgets: Widgets) -> None:
    async with shop.managed(widgets):
        await shop.client.create(shop.path(), widget("done"))
        await settled(shop, "done", ("True", "Written"))
    await shop.client.create(shop.path(), widget("new"))
    await shop.client.create(shop.path(), widget("odd", mode="stall"))
    before, _ = await shop.client.list(shop.path())
    manager = shop.manager()
    manager.add("widgets", Widgets().register)
    plans = {each.request.name: each for each in await manager.plan()}
    assert plans["done"].decision is not None
    assert plans["done"].decision.actions == ()
    assert plans["new"].decision is not None
    assert plans["new"].decision.actions == (Write("hello"),)
    assert plans["odd"].trouble == "BadText: the text cannot be written by anyone"
    # A real cluster writes objects of its own meanwhile, so its revision does not count.
    assert (await shop.client.list(shop.path()))[0] == before


async def test_an_operator_that_writes_while_it_should_only_observe_is_refused_in_a_dry_run(shop: Shop) -> None:
    async with shop.managed(Widgets()):
        pass
    await shop.client.create(shop.path(), widget("a"))
    manager = shop.manager()
    manager.add("widgets", Careless().register)
    (plan,) = await manager.plan()
    assert "was not sent: this is a dry run" in plan.trouble
    with pytest.raises(ApiError):
        await shop.client.get(f"{shop.notes}/a")


async def test_a_controller_may_come_and_go_while_its_operator_runs(shop: Shop) -> None:
    widgets, setups = Widgets(), list[Setup]()
    manager = shop.manager()
    manager.add("widgets", setups.append)
    async with manager.running():
        await shop.client.create(shop.path(), widget("a"))
        widgets.register(setups[0])
        await settled(shop, "a", ("True", "Written"))
        await setups[0].release(widgets.controller)
        assert [each.source.path for each in manager.informers] == [shop.notes]
        await shop.client.create(shop.path(), widget("b"))
        await asyncio.sleep(0.2)
        assert widgets.writer.looks["b"] == 0
        again = Widgets()
        again.register(setups[0])
        await settled(shop, "b", ("True", "Written"))


async def test_a_controller_whose_kind_never_appeared_is_released(shop: Shop) -> None:
    setups, began = list[Setup](), asyncio.Event()

    async def begin() -> None:
        began.set()

    def register(setup: Setup) -> None:
        setups.append(setup)
        setup.run(begin)

    manager = shop.manager()
    manager.add("widgets", register)
    async with manager.running():
        await began.wait()
        writer = Writer(shop.client, setups[0].watch(CONFIG_MAP, Note).cache)
        controller = setups[0].control(NOWHERE, Widget, writer)
        await asyncio.sleep(0.1)
        await setups[0].release(controller)
        started = asyncio.get_running_loop().time()
    assert asyncio.get_running_loop().time() - started < 15, "the grace period is 20 s"
