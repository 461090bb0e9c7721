from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeostat.objects.apply.managed import keep_times, read_entries, update_managed
from homeostat.objects.errors import BadRequestError
from homeostat.objects.schema.schema import Schema
from homeostat.objects.wire.builtin_schema import builtin_schema
from tests.objects.ownership import KIND, Update, content, entries_of, owned, owners, take, take_all

Json = Any
NOW = "2024-01-01T00:00:00Z"


def update(old: Json, new: Json, schema: Schema = KIND, *, manager: str = "m", **more: Json) -> list[Json]:
    return update_managed(old, new, schema, manager=manager, api_version="v1", **{"now": NOW, **more})


def with_entries(value: Json, entries: list[Json]) -> Json:
    return {**value, "metadata": {**value.get("metadata", {}), "managedFields": entries}}


DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {
        "name": "web",
        "namespace": "default",
        "uid": "1",
        "creationTimestamp": NOW,
        "generateName": "w",
        "labels": {"app": "web"},
        "finalizers": ["example.com/f"],
        "ownerReferences": [{"uid": "2", "name": "o", "kind": "K", "apiVersion": "v1"}],
    },
    "spec": {
        "replicas": 1,
        "selector": {"matchLabels": {"app": "web"}},
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {
                "securityContext": {},
                "containers": [
                    {"name": "c", "image": "i", "resources": {}, "ports": [{"containerPort": 80, "protocol": "TCP"}]}
                ],
            },
        },
    },
    "status": {},
}


def test_a_created_deployment_reads_as_in_kubernetes() -> None:
    (entry,) = update(None, DEPLOYMENT, builtin_schema("apps", "v1", "Deployment"), manager="kubectl-create")
    assert {name: item for name, item in entry.items() if name != "fieldsV1"} == {
        "manager": "kubectl-create",
        "operation": "Update",
        "apiVersion": "v1",
        "time": NOW,
        "fieldsType": "FieldsV1",
    }
    leaf: Json = {}
    port = {".": leaf, "f:containerPort": leaf, "f:protocol": leaf}
    container = {
        ".": leaf,
        "f:name": leaf,
        "f:image": leaf,
        "f:resources": leaf,
        "f:ports": {".": leaf, 'k:{"containerPort":80,"protocol":"TCP"}': port},
    }
    labels = {".": leaf, "f:app": leaf}
    assert entry["fieldsV1"] == {
        "f:metadata": {
            "f:generateName": leaf,
            "f:labels": labels,
            "f:finalizers": {".": leaf, 'v:"example.com/f"': leaf},
            "f:ownerReferences": {".": leaf, 'k:{"uid":"2"}': leaf},
        },
        "f:spec": {
            "f:replicas": leaf,
            "f:selector": leaf,
            "f:strategy": {"f:type": leaf, "f:rollingUpdate": {".": leaf, "f:maxSurge": leaf}},
            "f:template": {
                "f:metadata": {"f:labels": labels},
                "f:spec": {"f:securityContext": leaf, "f:containers": {'k:{"name":"c"}': container}},
            },
        },
    }


def test_a_created_custom_object_owns_its_structs() -> None:
    schema = Schema(type="object", properties={"spec": Schema(type="object", properties={"a": Schema(type="string")})})
    (entry,) = update(None, {"kind": "K", "metadata": {"name": "n", "labels": {"x": "y"}}, "spec": {"a": "b"}}, schema)
    assert entry["fieldsV1"] == {
        "f:metadata": {"f:labels": {".": {}, "f:x": {}}},
        "f:spec": {".": {}, "f:a": {}},
    }


CHANGES: dict[str, tuple[str, str, str, str]] = {
    "a change": ("num: 1, text: x", "num: 2, text: x", ".text", ".num"),
    "an addition": ("num: 1", "num: 1, text: x", ".num", ".text"),
    "a removal": ("num: 1, text: x", "num: 1", ".num", ""),
    "a map's key": ("map: {a: x}", "map: {a: x, b: y}", ".map .map.a", ".map.b"),
    "a whole map": ("num: 1", "num: 1, map: {a: x}", ".num", ".map .map.a"),
    "a map gone": ("num: 1, map: {a: x}", "num: 1", ".num", ""),
    "a list item": (
        "list: [{name: a}]",
        "list: [{name: a}, {name: b}]",
        '.list .list[name="a"] .list[name="a"].name',
        '.list[name="b"] .list[name="b"].name',
    ),
    "an item's field": (
        "list: [{name: a, value: x}]",
        "list: [{name: a, value: y}]",
        '.list .list[name="a"] .list[name="a"].name',
        '.list[name="a"].value',
    ),
    "the order of items": ("set: [a, b]", "set: [b, a]", '.set .set[="a"] .set[="b"]', ""),
    "a value more": ("set: [a]", "set: [a, b]", '.set .set[="a"]', '.set[="b"]'),
    "a repeated value": ("set: [a, b]", "set: [a, a, b]", '.set .set[="b"]', '.set[="a"]'),
    "a value repeated no more": ("set: [a, a, b]", "set: [a, b]", '.set .set[="b"]', '.set[="a"]'),
    "an atomic list": ("atomicList: [a], num: 1", "atomicList: [b], num: 1", ".num", ".atomicList"),
    "null to empty": ("map: null, num: 1", "map: {}, num: 1", ".num", ".map"),
    "null to something": ("map: null", "map: {a: x}", ".map", ".map.a"),
    "something to null": ("map: {a: x}, num: 1", "map: null, num: 1", ".map .num", ""),
    "a scalar to a map": ("any: 1, num: 1", "any: {a: 1}, num: 1", ".num", ".any .any.a"),
    "a map to a scalar": ("any: {a: 1}, num: 1", "any: 1, num: 1", ".num", ".any"),
    "items without a key": ("set: [a], num: 1", "set: [{}], num: 1", '.num .set[="a"]', ".set"),
}


@pytest.mark.parametrize(("before", "after", "kept", "gained"), CHANGES.values(), ids=CHANGES)
def test_a_manager_gains_what_it_changed_and_others_lose_it(before: str, after: str, kept: str, gained: str) -> None:
    found = owners(take_all(Update("one", before), Update("two", after)))
    expected = {"one": set(kept.split()), "two": set(gained.split())}
    assert found == {manager: fields for manager, fields in expected.items() if fields}


def test_a_write_that_changes_nothing_leaves_the_entries_alone() -> None:
    live = take_all(Update("one", "num: 1"))
    assert update(live, dict(live)) is entries_of(live)


def test_the_time_moves_only_for_the_manager_that_changed_something() -> None:
    live = take(None, Update("one", "num: 1, text: x"), now="2024")
    live = take(live, Update("two", "num: 2, text: x"), now="2025")
    live = take(live, Update("two", "num: 2"), now="2026")
    assert [(entry["manager"], entry["time"]) for entry in entries_of(live)] == [("two", "2025")]
    live = take(live, Update("two", "num: 3"), now="2027")
    assert [(entry["manager"], entry["time"]) for entry in entries_of(live)] == [("two", "2027")]


def test_entries_are_sorted_by_operation_time_and_name() -> None:
    live = take(None, Update("z", "num: 1"), now="2024")
    live = take(live, Update("b", "num: 1, text: x"), now="2025")
    live = take(live, Update("a", "num: 1, text: x, flag: true"), now="2025")
    assert [entry["manager"] for entry in entries_of(live)] == ["z", "a", "b"]


def test_the_same_manager_in_another_version_or_subresource_is_another_manager() -> None:
    live = with_entries({"num": 1}, update(None, {"num": 1}))
    live = with_entries({"num": 1, "text": "x"}, update(live, {"num": 1, "text": "x"}, subresource="status"))
    entries = update_managed(live, {"num": 1, "text": "x", "flag": True}, KIND, manager="m", api_version="v2", now=NOW)
    assert [(each["apiVersion"], each.get("subresource")) for each in entries] == [
        ("v1", None),
        ("v1", "status"),
        ("v2", None),
    ]


def test_a_manager_without_a_name_is_unknown() -> None:
    assert update(None, {"num": 1}, manager="")[0]["manager"] == "unknown"


def test_ignored_fields_change_no_owner() -> None:
    live = with_entries({"num": 1, "text": "x"}, update(None, {"num": 1, "text": "x"}))
    entries = update(live, {"num": 2, "text": "y"}, manager="o", ignore={"f:text": {}})
    assert owners(with_entries({}, entries)) == {"m": {".text"}, "o": {".num"}}
    assert update(None, {"text": "x"}, ignore={"f:text": {}}) == []


def test_managers_of_versions_that_are_gone_are_forgotten() -> None:
    live = with_entries({"num": 1, "text": "x"}, update(None, {"num": 1, "text": "x"}))
    entries = update_managed(
        live, {"num": 2, "text": "x"}, KIND, manager="m", api_version="v2", now=NOW, known_versions={"v2"}
    )
    assert [entry["apiVersion"] for entry in entries] == ["v2"]


@pytest.mark.parametrize("sent", [[], [{}]])
def test_a_user_may_clear_managed_fields_and_then_nothing_is_tracked(sent: Json) -> None:
    live = take_all(Update("one", "num: 1"))
    assert update(live, with_entries({"num": 2}, sent)) == []
    assert update({"num": 2}, {"num": 3}) == []


@pytest.mark.parametrize(
    "sent",
    [
        None,
        "x",
        [1],
        [{"manager": "x", "operation": "Delete"}],
        [{"manager": "x", "operation": "Update"}],
        [{"manager": "x", "operation": "Update", "apiVersion": "v1"}],
        [{"manager": "x", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV2"}],
        [{"operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"bad": {}}}],
    ],
)
def test_managed_fields_that_cannot_be_read_are_those_of_the_stored_object(sent: Json) -> None:
    live = take_all(Update("one", "num: 1, text: x"))
    entries = update(live, with_entries({"num": 2, "text": "x"}, sent), manager="two")
    assert owners(with_entries({}, entries)) == {"one": {".text"}, "two": {".num"}}
    if sent is not None:
        with pytest.raises(BadRequestError):
            read_entries(sent)


def test_a_user_may_rewrite_managed_fields_but_not_by_a_subresource() -> None:
    live = take_all(Update("one", "num: 1, text: x"))
    (entry,) = entries_of(live)
    sent = with_entries(content(live), [{**entry, "manager": "other", "fieldsV1": {"f:num": {}}}])
    assert owners(with_entries({}, update(live, sent))) == {"other": {".num"}}
    assert owners(with_entries({}, update(live, sent, subresource="status"))) == {"one": {".num", ".text"}}


def test_at_most_ten_updaters_are_kept_and_the_oldest_become_one() -> None:
    live: Json = None
    for number in range(13):
        keys = ", ".join(f"k{each}: x" for each in range(number + 1))
        live = take(live, Update(f"m{number:02}", f"map: {{{keys}}}"), now=f"2024-01-{number + 1:02}")
    entries = entries_of(live)
    assert [entry["manager"] for entry in entries] == ["ancient-changes", *(f"m{each:02}" for each in range(4, 13))]
    assert owned(entries[0]["fieldsV1"]) == {".map", ".map.k0", ".map.k1", ".map.k2", ".map.k3"}
    assert entries[0]["time"] == "2024-01-04"


def test_updaters_of_different_versions_are_not_made_one() -> None:
    live: Json = None
    for number in range(12):
        value = {"map": {f"k{each}": "x" for each in range(number + 1)}}
        entries = update_managed(live, value, KIND, manager="m", api_version=f"v{number:02}", now=f"t{number:02}")
        live = with_entries(value, entries)
    assert len(entries_of(live)) == 12


def test_a_write_that_only_moves_times_is_the_old_object() -> None:
    old = take(None, Update("one", "num: 1"), now="2024")
    (entry,) = entries_of(old)
    assert keep_times(old, with_entries({"num": 1}, [{**entry, "time": "2025"}])) is old
    for new in (
        with_entries({"num": 2}, [{**entry, "time": "2025"}]),
        with_entries({"num": 1}, [{**entry, "manager": "x"}]),
        with_entries({"num": 1, "metadata": {"labels": {}}}, [entry]),
        with_entries({"num": 1, "text": "x"}, [entry]),
    ):
        assert keep_times(old, new) is new


values = st.fixed_dictionaries(
    {},
    optional={
        "num": st.integers(0, 1),
        "map": st.dictionaries(st.sampled_from("ab"), st.sampled_from("xy")),
        "set": st.lists(st.sampled_from("abc")),
        "list": st.lists(
            st.fixed_dictionaries({"name": st.sampled_from("ab")}, optional={"value": st.sampled_from("xy")}),
            max_size=3,
        ),
        "any": st.sampled_from([1, {}, {"a": 1}, {"a": {"b": 1}}, [1]]),
    },
)


@given(st.lists(values, min_size=2, max_size=5))
def test_no_field_has_two_owners_after_updates(found: list[Json]) -> None:
    live: Json = None
    for number, value in enumerate(found):
        live = with_entries(value, update(live, value, manager=f"m{number}"))
        held = [path for fields in owners(live).values() for path in fields]
        assert len(held) == len(set(held))
        if not held:
            return
