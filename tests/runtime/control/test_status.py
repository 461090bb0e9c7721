"""The status of an object: planned as data, and written to a real plane."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeostat.client.base import Client
from homeostat.client.projection import Projection
from homeostat.objects.conditions import Condition
from homeostat.objects.decision import Receipt
from homeostat.objects.errors import ConflictError
from homeostat.objects.json import JsonObject, without_nulls
from homeostat.objects.kind import Kind
from homeostat.objects.patch.json import merge_patch
from homeostat.plane import Settings, open_plane
from homeostat.runtime.control.status import (
    Snapshot,
    plan_receipt,
    plan_status,
    write_receipt,
    write_status,
)

NOW = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)
READY = Condition("Ready", "True", "Succeeded")
FAILED = Condition("Ready", "False", "Failed", "it broke")
FOREIGN = {"type": "Audited", "status": "maybe", "auditor": "somebody else"}
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGET = Kind("shop.example", "v1", "widgets", "Widget", is_namespaced=True)


def widget(status: JsonObject | None = None, *, generation: int = 3) -> JsonObject:
    metadata = {"name": "w", "namespace": "default", "uid": "u", "resourceVersion": "7", "generation": generation}
    return {"metadata": metadata} | ({} if status is None else {"status": status})


def snapshot_of(obj: JsonObject) -> Snapshot:
    return msgspec.convert(obj, Snapshot)


def status_after(obj: JsonObject, patch: JsonObject | None) -> JsonObject:
    status: JsonObject = (obj if patch is None else merge_patch(obj, patch)).get("status", {})
    return status


def test_a_plan_holds_only_what_changes_and_the_version_that_was_seen() -> None:
    snapshot = snapshot_of(widget({"observedGeneration": 3, "url": "a", "kept": 1}))
    assert plan_status(snapshot, (), {"url": "b"}, now=NOW) == {
        "metadata": {"resourceVersion": "7"},
        "status": {"url": "b"},
    }


def test_conditions_get_their_times_and_the_generation_is_reported() -> None:
    patch = plan_status(snapshot_of(widget()), [READY], now=NOW)
    assert patch is not None
    assert patch["status"] == {
        "conditions": [
            {
                "type": "Ready",
                "status": "True",
                "reason": "Succeeded",
                "message": "",
                "lastTransitionTime": "2026-05-04T12:00:00Z",
            }
        ],
        "observedGeneration": 3,
    }


@pytest.mark.parametrize(
    ("second", "time"),
    [
        pytest.param(Condition("Ready", "True", "StillFine"), "2026-05-04T12:00:00Z", id="only the reason changes"),
        pytest.param(FAILED, "2026-05-04T13:00:00Z", id="the status changes"),
    ],
)
def test_a_transition_time_moves_with_the_status_alone(second: Condition, time: str) -> None:
    obj = widget(status_after(widget(), plan_status(snapshot_of(widget()), [READY], now=NOW)))
    (condition,) = status_after(obj, plan_status(snapshot_of(obj), [second], now=LATER))["conditions"]
    assert condition["lastTransitionTime"] == time


def test_conditions_of_others_stay_even_where_they_cannot_be_read() -> None:
    obj = widget({"conditions": [FOREIGN, "no condition"]})
    status = status_after(obj, plan_status(snapshot_of(obj), [READY], now=NOW))
    assert status["conditions"][:2] == [FOREIGN, "no condition"]
    assert [each["type"] for each in status["conditions"][2:]] == ["Ready"]


def test_an_abnormal_condition_that_is_not_named_goes() -> None:
    stalled = Condition("Stalled", "True", "BadSpec", "no such field")
    obj = widget(status_after(widget(), plan_status(snapshot_of(widget()), [stalled, FAILED], now=NOW)))
    status = status_after(obj, plan_status(snapshot_of(obj), [READY], now=LATER))
    assert [each["type"] for each in status["conditions"]] == ["Ready"]


def test_a_condition_of_a_type_that_is_to_be_absent_goes_unless_it_is_named() -> None:
    obj = widget({"conditions": [FOREIGN, {"type": "Ready", "status": "True"}]})
    status = status_after(obj, plan_status(snapshot_of(obj), [READY], now=NOW, absent=("Audited", "Ready")))
    assert [each["type"] for each in status["conditions"]] == ["Ready"]


@pytest.mark.parametrize("fields", [{}, {"url": "a"}])
def test_a_pause_that_is_over_is_no_longer_reported_even_if_nothing_else_changed(fields: JsonObject) -> None:
    obj = widget({"conditions": [{"type": "Paused", "status": "True"}, {"type": "Ready", "status": "Unknown"}]})
    status = status_after(obj, plan_status(snapshot_of(obj), (), fields, now=NOW))
    assert status["conditions"] == [{"type": "Ready", "status": "Unknown"}]


def test_a_type_that_stood_twice_stands_once_when_it_is_set() -> None:
    obj = widget({"conditions": [{"type": "Ready", "status": "True"}, FOREIGN, {"type": "Ready", "status": "False"}]})
    status = status_after(obj, plan_status(snapshot_of(obj), [READY], now=NOW))
    assert [each["type"] for each in status["conditions"]] == ["Ready", "Audited"]


@pytest.mark.parametrize(
    ("held", "wanted", "patch"),
    [
        pytest.param({"a": 1}, {"a": True}, {"a": True}, id="true is not 1"),
        pytest.param({"a": [1]}, {"a": [True]}, {"a": [True]}, id="nor within a list"),
        pytest.param({"a": 1}, {"a": None}, {"a": None}, id="None removes"),
        pytest.param({}, {"a": None, "b": 1}, {"b": 1}, id="what is absent needs no removal"),
        pytest.param({"a": {"x": 1, "y": 2}}, {"a": {"x": 1}}, {"a": {"y": None}}, id="a field is given whole"),
        pytest.param({"a": "text"}, {"a": {"x": None, "y": 1}}, {"a": {"y": 1}}, id="an object takes a text's place"),
        pytest.param({"a": {}}, {"a": [1, None]}, {"a": [1, None]}, id="a list is written whole"),
    ],
)
def test_fields_become_what_is_wanted(held: JsonObject, wanted: JsonObject, patch: JsonObject) -> None:
    found = plan_status(snapshot_of(widget({"observedGeneration": 3, **held})), (), wanted, now=NOW)
    assert found is not None
    # As text, for Python takes True for 1.
    assert repr(found["status"]) == repr(patch)


def test_nothing_to_say_is_nothing_to_write() -> None:
    assert plan_status(snapshot_of(widget()), (), {}, now=NOW) is None


def test_an_object_without_generations_gets_none() -> None:
    patch = plan_status(snapshot_of(widget(generation=0)), (), {"a": 1}, now=NOW)
    assert patch is not None
    assert patch["status"] == {"a": 1}


@pytest.mark.parametrize("name", ["conditions", "observedGeneration"])
def test_what_the_runtime_keeps_is_no_field_of_an_operator(name: str) -> None:
    with pytest.raises(ValueError, match=name):
        plan_status(snapshot_of(widget()), (), {name: []}, now=NOW)
    with pytest.raises(ValueError, match=name):
        plan_receipt(snapshot_of(widget()), Receipt({name: []}))


scalars = st.none() | st.booleans() | st.integers(-2, 2) | st.text("ab", max_size=2)
values = st.recursive(
    scalars, lambda below: st.lists(below, max_size=3) | st.dictionaries(st.sampled_from("xyz"), below, max_size=3)
)
some_fields = st.dictionaries(st.sampled_from(["a", "b", "c"]), values, max_size=3)
some_conditions = st.lists(
    st.builds(
        Condition,
        st.sampled_from(["Ready", "Stalled", "Reconciling", "Synced"]),
        st.sampled_from(["True", "False", "Unknown"]),
        st.sampled_from(["Good", "Bad"]),
    ),
    max_size=4,
    unique_by=lambda each: each.type,
)


def test_nulls_in_the_objects_of_a_list_are_no_change() -> None:
    wanted: JsonObject = {"items": [{"name": "a", "reason": None}]}
    patch = plan_status(snapshot_of(widget()), (), wanted, now=NOW)
    after = status_after(widget(), patch)
    assert after["items"] == [{"name": "a"}]
    assert plan_status(snapshot_of(widget(after)), (), wanted, now=LATER) is None


@given(some_fields, some_conditions, some_fields, some_conditions)
def test_a_status_reaches_what_is_wanted_and_then_time_changes_nothing(
    held: JsonObject, before: list[Condition], wanted: JsonObject, conditions: list[Condition]
) -> None:
    start = widget({**without_nulls(held), "other": {"kept": True}, "conditions": [FOREIGN]})
    obj = widget(status_after(start, plan_status(snapshot_of(start), before, now=NOW)))
    after = status_after(obj, plan_status(snapshot_of(obj), conditions, wanted, now=LATER))
    assert {name: after[name] for name in wanted if name in after} == without_nulls(wanted)
    assert after["other"] == {"kept": True}
    assert FOREIGN in after["conditions"]
    said = {each["type"]: each["status"] for each in after["conditions"]}
    assert said.items() >= {each.type: each.status for each in conditions}.items()
    assert len(said) == len(after["conditions"])
    assert plan_status(snapshot_of(widget(after)), conditions, wanted, now=LATER + timedelta(days=1)) is None


@pytest.fixture
async def client(data: Path) -> AsyncIterator[Client]:
    async with open_plane(Settings(data=data, port=0, operators=frozenset())) as plane:
        await plane.client.create(DEFINITIONS, definition())
        yield plane.client


@pytest.fixture
def widgets(client: Client) -> Projection[Snapshot]:
    return Projection(client, WIDGET, Snapshot)


def definition() -> JsonObject:
    schema = {
        "type": "object",
        "properties": {
            "spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        },
    }
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.shop.example"},
        "spec": {
            "group": "shop.example",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
            "versions": [version],
        },
    }


async def created(widgets: Projection[Snapshot]) -> Snapshot:
    return await widgets.create({"metadata": {"name": "w"}, "spec": {"size": 1}}, "default")


async def test_a_status_is_written_once_and_then_not_again(widgets: Projection[Snapshot]) -> None:
    first = await created(widgets)
    second = await write_status(widgets, first, plan_status(first, [READY], {"url": "a"}, now=NOW))
    third = await write_status(widgets, second, plan_status(second, [READY], {"url": "a"}, now=LATER))
    assert third is second
    assert await widgets.get("w", "default") == second
    assert second.status is not None
    assert second.status["observedGeneration"] == second.metadata.generation == 1


async def test_a_status_of_an_older_version_is_refused(widgets: Projection[Snapshot]) -> None:
    seen = await created(widgets)
    await widgets.patch({"spec": {"size": 2}}, "w", "default")
    with pytest.raises(ConflictError):
        await write_status(widgets, seen, plan_status(seen, [READY], now=NOW))
    assert (await widgets.get("w", "default")).status is None


async def test_a_status_is_not_written_to_a_namesake(widgets: Projection[Snapshot]) -> None:
    seen = await created(widgets)
    await widgets.delete("w", "default")
    await created(widgets)
    with pytest.raises(ConflictError):
        await write_status(widgets, seen, plan_status(seen, [READY], now=NOW))
    with pytest.raises(ConflictError):
        await write_receipt(widgets, seen, Receipt({"run": 42}))
    assert (await widgets.get("w", "default")).status is None


async def test_a_receipt_is_kept_though_others_wrote_meanwhile(widgets: Projection[Snapshot]) -> None:
    seen = await created(widgets)
    await widgets.patch({"spec": {"size": 2}}, "w", "default")
    await widgets.patch({"status": {"note": "theirs"}}, "w", "default", subresource="status")
    after = await write_receipt(widgets, seen, Receipt({"run": {"id": 42}}))
    assert after.status == {"note": "theirs", "run": {"id": 42}}
    assert await write_receipt(widgets, after, Receipt({"run": {"id": 42}})) is after
