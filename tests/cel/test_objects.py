"""JSON objects of a schema are read in place, as Kubernetes reads them."""

from __future__ import annotations

from typing import Any

import pytest

from homeostat.cel import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    Environment,
    EvaluationError,
    ListType,
    MapType,
    ObjectType,
    escape_field,
)

PORT = ObjectType("Port", {"name": STRING, "port": INT})
WIDGET = ObjectType(
    "Widget",
    {
        "replicas": INT,
        "ratio": DOUBLE,
        "ratios": ListType(DOUBLE),
        "when": TIMESTAMP,
        "times": ListType(TIMESTAMP),
        "wait": DURATION,
        "data": BYTES,
        "on": BOOL,
        "any": DYN,
        "spec": ObjectType("Spec", {"inner": ObjectType("Inner", {"value": STRING})}),
        "tags": ListType(STRING, list_type="set"),
        "ports": ListType(PORT, list_type="map", map_keys=("name",)),
        "labels": MapType(STRING, STRING),
        "namespace": STRING,
        "app.kubernetes.io/name": STRING,
        "a-b": INT,
        "a__b": INT,
        "in": INT,
        "$bad": INT,
    },
)
ENVIRONMENT = Environment({"self": WIDGET, "oldSelf": WIDGET, "scalar": TIMESTAMP})


def evaluate(text: str, value: dict[str, Any], old: dict[str, Any] | None = None) -> Any:
    return ENVIRONMENT.compile(text).evaluate({"self": value, "oldSelf": old or {}, "scalar": "2020-01-01T00:00:00Z"})


CASES: list[tuple[str, dict[str, Any], Any]] = [
    ("self.replicas + 1", {"replicas": 2}, 3),
    ("has(self.replicas)", {}, False),
    ("has(self.replicas)", {"replicas": None}, False),
    ("has(self.replicas)", {"replicas": 0}, True),
    ("has(self.spec.inner)", {"spec": {"inner": {}}}, True),
    ("has(self.spec.inner)", {"spec": {"inner": None}}, False),
    ("has(self.labels.x)", {"labels": {"x": "1"}}, True),
    ("self.?replicas.orValue(7)", {"replicas": None}, 7),
    ("self.?spec.?inner.?value.orValue('none')", {"spec": {}}, "none"),
    ("self.?spec.?inner.?value.orValue('none')", {"spec": {"inner": {"value": "x"}}}, "x"),
    ("self.spec.inner.value", {"spec": {"inner": {"value": "x"}}}, "x"),
    ("self.ratio / 2.0", {"ratio": 1}, 0.5),
    ("self.ratio", {"ratio": 1}, 1.0),
    ("type(self.ratio) == double", {"ratio": 1}, True),
    ("self.ratios.sum()", {"ratios": [1, 2]}, 3.0),
    ("self.ratios.all(r, type(r) == double)", {"ratios": [1, 2.5]}, True),
    ("self.ratios[0] / 2.0", {"ratios": [1]}, 0.5),
    ("self.when.getFullYear()", {"when": "2020-01-01T00:00:00Z"}, 2020),
    ("self.when < timestamp('2021-01-01T00:00:00Z')", {"when": "2020-01-01T00:00:00Z"}, True),
    ("self.when == timestamp('2020-01-01T01:00:00+01:00')", {"when": "2020-01-01T00:00:00Z"}, True),
    ("timestamp('2020-01-01T00:00:00Z') in self.times", {"times": ["2020-01-01T00:00:00Z"]}, True),
    ("self.times.max().getFullYear()", {"times": ["2020-01-01T00:00:00Z", "2022-01-01T00:00:00Z"]}, 2022),
    ("self.times.exists(t, t.getMonth() == 1)", {"times": ["2020-02-01T00:00:00Z"]}, True),
    ("self.?when.hasValue()", {}, False),
    ("self.?when.value().getDate()", {"when": "2020-01-09T00:00:00Z"}, 9),
    ("self.wait > duration('1m')", {"wait": "1h"}, True),
    ("self.data == b'hi'", {"data": "aGk="}, True),
    ("size(self.data)", {"data": "aGk="}, 2),
    ("scalar.getFullYear()", {}, 2020),
    ("self.__namespace__", {"namespace": "x"}, "x"),
    ("self.app__dot__kubernetes__dot__io__slash__name", {"app.kubernetes.io/name": "x"}, "x"),
    ("self.a__dash__b", {"a-b": 1}, 1),
    ("self.a__underscores__b", {"a__b": 1}, 1),
    ("self.__in__", {"in": 1}, 1),
    ("self.any.x.y", {"any": {"x": {"y": [1]}}}, [1]),
    ("self.any.x == null", {"any": {"x": None}}, True),
    ("has(self.any.x)", {"any": {"x": None}}, True),
    ("self.any == 5 || self.any == '5'", {"any": "5"}, True),
    ("type(self.any) == string ? self.any == 'a' : self.any > 3", {"any": 5}, True),
    ("self.labels.all(k, self.labels[k].size() < 3)", {"labels": {"a": "xx"}}, True),
    ("self.labels.exists(k, v, k == v)", {"labels": {"a": "b", "c": "c"}}, True),
    ("'a' in self.labels", {"labels": {"a": "b"}}, True),
    ("self.tags == ['b', 'a']", {"tags": ["a", "b"]}, True),
    ("['b', 'a'] == self.tags", {"tags": ["a", "b"]}, True),
    ("self.tags == ['b', 'c']", {"tags": ["a", "b"]}, False),
    ("self.tags + ['b', 'c']", {"tags": ["a", "b"]}, ["a", "b", "c"]),
    ("self.ports.map(p, p.port)", {"ports": [{"name": "a", "port": 1}]}, [1]),
    ("self.ports.exists_one(p, p.name == 'a')", {"ports": [{"name": "a"}, {"name": "b"}]}, True),
]


@pytest.mark.parametrize(("text", "value", "wanted"), CASES)
def test_a_member_is_read_as_its_schema_says(text: str, value: dict[str, Any], wanted: Any) -> None:
    found = evaluate(text, value)
    assert (type(found), found) == (type(wanted), wanted)


def test_a_keyed_list_equals_itself_in_another_order() -> None:
    first = {"ports": [{"name": "a", "port": 1}, {"name": "b", "port": 2}]}
    second = {"ports": first["ports"][::-1]}
    assert evaluate("self.ports == oldSelf.ports", first, second) is True
    assert evaluate("self.ports != oldSelf.ports", first, {"ports": first["ports"][:1]}) is True


def test_adding_keyed_lists_replaces_items_of_the_same_key() -> None:
    first = {"ports": [{"name": "a", "port": 1}, {"name": "b", "port": 2}]}
    second = {"ports": [{"name": "b", "port": 3}, {"name": "c", "port": 4}]}
    assert [port["port"] for port in evaluate("self.ports + oldSelf.ports", first, second)] == [1, 3, 4]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("self.replicas > 1", {}),
        ("self.replicas > 1", {"replicas": None}),
        ("self.spec.inner.value == ''", {"spec": {}}),
        ("self.spec.inner.value == ''", {"spec": None}),
        ("has(self.spec.inner)", {}),
        ("self.labels.x == ''", {"labels": {}}),
        ("self.labels['x'] == ''", {"labels": {}}),
        ("self.any.x", {"any": 1}),
        ("self.any.x", {"any": {}}),
        ("self.any > 1", {"any": "a"}),
        ("self.when.getDate()", {"when": "soon"}),
        ("self.replicas > 1", {"replicas": "not what was declared"}),
    ],
)
def test_what_is_not_there_has_no_value(text: str, value: dict[str, Any]) -> None:
    with pytest.raises(EvaluationError):
        evaluate(text, value)


def test_a_missing_key_is_named() -> None:
    with pytest.raises(EvaluationError, match="no such key: replicas"):
        evaluate("self.replicas == 1", {})


def test_a_missing_binding_is_named() -> None:
    with pytest.raises(EvaluationError, match="no such attribute: self"):
        ENVIRONMENT.compile("self.on").evaluate({})


def test_an_object_type_may_refer_to_itself() -> None:
    fields: dict[str, Any] = {"value": INT}
    tree = ObjectType("Tree", fields)
    fields["children"] = ListType(tree)
    program = Environment({"self": tree}).compile("self.children.all(c, c.children.all(d, d.value > 0))")
    assert program.evaluate({"self": {"children": [{"children": [{"value": 1}]}]}}) is True


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("plain", "plain"),
        ("a.b", "a__dot__b"),
        ("a-b", "a__dash__b"),
        ("a/b", "a__slash__b"),
        ("a__b", "a__underscores__b"),
        ("namespace", "__namespace__"),
        ("true", "__true__"),
        ("_a", "_a"),
        ("1a", None),
        ("a b", None),
        ("", None),
        ("é", None),
    ],
)
def test_a_name_is_escaped_as_kubernetes_does(name: str, wanted: str | None) -> None:
    assert escape_field(name) == wanted
