"""The JSONPath of printer columns."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeostat.objects.json import Json
from homeostat.objects.json.path import Budget, JSONPathError, compile_path

OBJECT = {
    "metadata": {"name": "web", "labels": {"app.kubernetes.io/name": "shop", "a'b": "quoted"}},
    "spec": {"replicas": 3, "paused": False, "none": None, "ports": [{"port": 80}, {"port": 443}], "tags": ["a", "b"]},
    "status": {
        "conditions": [
            {"type": "Synced", "status": "False", "age": 5},
            {"type": "Ready", "status": "True", "age": 9, "ok": True},
        ]
    },
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".metadata.name", ["web"]),
        ("{.metadata.name}", ["web"]),
        ("$.metadata.name", ["web"]),
        ("metadata.name", ["web"]),
        (".", [OBJECT]),
        (".spec.replicas", [3]),
        (".spec.paused", [False]),
        (r".metadata.labels.app\.kubernetes\.io/name", ["shop"]),
        (".metadata.labels['app.kubernetes.io/name']", ["shop"]),
        ('.metadata.labels["app.kubernetes.io/name"]', ["shop"]),
        (r".metadata.labels['a\'b']", ["quoted"]),
        ("['metadata']['name']", ["web"]),
        (".spec.ports[0].port", [80]),
        (".spec.ports[-1].port", [443]),
        (".spec.ports[7].port", []),
        (".spec.ports[*].port", [80, 443]),
        (".spec.tags.*", ["a", "b"]),
        (".spec.tags[0:1]", ["a"]),
        (".spec.tags[1:]", ["b"]),
        (".spec['replicas','paused']", [3, False]),
        ("..port", [80, 443]),
        ('.status.conditions[?(@.type=="Ready")].status', ["True"]),
        (".status.conditions[?(@.type=='Ready')].status", ["True"]),
        ('.status.conditions[?(@.type != "Ready")].type', ["Synced"]),
        (".status.conditions[?(@.age>5)].type", ["Ready"]),
        (".status.conditions[?(@.age<=5)].type", ["Synced"]),
        (".status.conditions[?(@.ok==true)].type", ["Ready"]),
        (".status.conditions[?(@.ok)].type", ["Ready"]),
        ('.status.conditions[?(@.age>"x")].type', []),
        (".status.absent.deeper", []),
        (".metadata.name.deeper", []),
        (".metadata[0]", []),
    ],
)
def test_a_path_finds_its_values_in_order(path: str, found: list[Json]) -> None:
    assert compile_path(path).all(OBJECT) == found
    assert compile_path(path).first(OBJECT) == (found[0] if found else None)


def test_a_null_on_the_way_is_absent() -> None:
    assert compile_path(".spec.none.deeper").first(OBJECT) is None


@pytest.mark.parametrize(
    "path", ["", "{}", ".a[", ".a[x]", ".a[?(@.b===1)]", ".a[?(b)]", ".a b", ".a[1:2:0]", "..", ".a'"]
)
def test_what_is_no_path_is_refused_when_compiled(path: str) -> None:
    with pytest.raises(JSONPathError):
        compile_path(path)


@given(st.text(alphabet="ab.[]()*?@='\"\\:,-0 {}$<", max_size=20))
def test_any_text_compiles_or_is_refused_and_then_never_fails(text: str) -> None:
    try:
        path = compile_path(text)
    except JSONPathError:
        return
    path.all({"a": [{"b": 1}, "a"], "b": None})
    path.first([])


def nested(depth: int) -> Json:
    value: Json = 1
    for _ in range(depth):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    ("path", "value"),
    [
        pytest.param("..a" * 6, nested(60), id="descents"),
        pytest.param("['a','a','a','a','a','a','a','a']" * 8, nested(60), id="unions"),
        pytest.param("[*]" * 4, [[[[1] * 20] * 20] * 20] * 20, id="wildcards"),
        pytest.param("[?(@..a)]", [nested(90)] * 1000, id="a filter"),
    ],
)
def test_a_path_that_takes_too_many_steps_finds_nothing(path: str, value: Json) -> None:
    compiled = compile_path(path)
    assert compiled.all(value) == []
    assert compiled.first(value) is None


def test_paths_that_share_a_budget_share_the_steps() -> None:
    path, value, budget = compile_path("..a..b"), {"a": [{"b": 1}] * 1000}, Budget()
    for _ in range(3):
        assert path.first(value, budget) == 1
    for _ in range(20):
        found = path.first(value, budget)
    assert found is None
    assert path.first(value) == 1


def test_what_combines_steps_that_find_many_values_is_known() -> None:
    paths = (".a.b", '.a[?(@.type=="b")].c', ".a[*].b", "..a", "..a..b", "['a','b']['c','d']")
    assert [compile_path(each).is_combined for each in paths] == [False] * 4 + [True] * 2


@pytest.mark.parametrize("path", [f".a[{'9' * 5000}]", f".a[0:{'9' * 5000}]", f".a[?(@.b=={'1' * 5000})]", ".a" * 3000])
def test_a_long_path_or_number_is_not_read(path: str) -> None:
    with pytest.raises(JSONPathError):
        compile_path(path)
