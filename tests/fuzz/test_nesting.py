"""Nesting has a limit far below the stack's, in every language a body can be written in."""

from __future__ import annotations

from typing import Any

import pytest

from homeostat.objects.json import MAX_DEPTH
from tests.api.conftest import APPLY, JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH
from tests.api.objects import CONFIGMAPS, CRDS
from tests.fuzz.driver import Driver, assert_answered_well
from tests.fuzz.kinds import FREES, crd_of
from tests.fuzz.values import nested

TOO_DEEP = [MAX_DEPTH, 500, 990, 1100, 20_000]
FREE = b'{"apiVersion":"example.com/v1","kind":"Free","metadata":{"name":"%s"},"spec":%s}'


@pytest.mark.parametrize("levels", TOO_DEEP)
def test_a_body_nested_too_deeply_is_a_bad_request(driver: Driver, levels: int) -> None:
    body = FREE % (b"base", nested(levels))
    yaml = b"metadata: {name: base}\nspec: " + nested(levels).replace(b":", b": ")
    operations = b'[{"op":"add","path":"/spec","value":%s}]' % nested(levels)
    test = b'[{"op":"test","path":"/spec","value":%s}]' % nested(levels)
    for method, path, media, sent in (
        ("POST", FREES, "", body),
        ("PUT", f"{FREES}/base", "", body),
        ("DELETE", f"{FREES}/base", "", body),
        ("POST", FREES, "application/yaml", yaml),
        ("POST", CONFIGMAPS, "", body),
        ("PATCH", f"{FREES}/base", APPLY, body),
        ("PATCH", f"{FREES}/base", APPLY, yaml),
        ("PATCH", f"{FREES}/base", MERGE_PATCH, body),
        ("PATCH", f"{CONFIGMAPS}/base", STRATEGIC_PATCH, body),
        ("PATCH", f"{FREES}/base", JSON_PATCH, operations),
        ("PATCH", f"{FREES}/base", JSON_PATCH, test),
    ):
        answer = driver.send(method, path, sent, type=media, query="fieldManager=fuzz" if media == APPLY else "")
        assert_answered_well(answer)
        assert answer.status == 400, (method, path, media)


def test_what_is_nested_as_deep_as_it_may_be_can_be_kept_read_and_changed(driver: Driver) -> None:
    # The owners of fields are kept some levels deeper than the fields.
    deep = MAX_DEPTH - 10
    deepest = nested(deep)
    assert driver.send("POST", FREES, FREE % (b"deep", deepest)).status == 201
    path = f"{FREES}/deep"
    table = "application/json;as=Table;v=v1;g=meta.k8s.io"
    for accept in ("application/json", "application/yaml", table):
        for read in (path, FREES):
            assert driver.send("GET", read, headers={"accept": accept}, query="includeObject=Object").status == 200
    other = b'{"spec":%s}' % nested(deep, b"[2]")
    test = b'[{"op":"test","path":"/spec","value":%s}]' % nested(deep, b"[2]")
    assert driver.send("PATCH", path, other, type=MERGE_PATCH).status == 200
    assert driver.send("PATCH", path, test, type=JSON_PATCH).status == 200
    applied = FREE % (b"deep", nested(deep, b'"x"'))
    assert driver.send("PATCH", path, applied, type=APPLY, query="fieldManager=a&force=true").status == 200
    assert driver.send("PUT", path, driver.send("GET", path).body).status == 200
    assert driver.send("DELETE", path).status == 200


def test_a_patch_cannot_nest_deeper_step_by_step(driver: Driver) -> None:
    steps = [{"op": "add", "path": "/spec" + "/a" * at, "value": {}} for at in range(1000)]
    answer = driver.send("PATCH", f"{FREES}/base", steps, type=JSON_PATCH)
    assert_answered_well(answer)
    assert answer.status == 422


SCHEMAS: dict[str, Any] = {
    "properties": lambda schema: {"type": "object", "properties": {"a": schema}},
    "items": lambda schema: {"type": "array", "items": schema},
    "additional properties": lambda schema: {"type": "object", "additionalProperties": schema},
    "allOf": lambda schema: {"allOf": [schema]},
    "anyOf": lambda schema: {"anyOf": [schema, schema]},
    "not": lambda schema: {"not": schema},
}


@pytest.mark.parametrize("wrap", SCHEMAS.values(), ids=SCHEMAS)
@pytest.mark.parametrize("levels", [12, 60, 90, 150])
def test_a_schema_is_taken_or_refused_at_any_depth(driver: Driver, wrap: Any, levels: int) -> None:
    schema: Any = {"type": "object"}
    for _ in range(levels if wrap is not SCHEMAS["anyOf"] else min(levels, 12)):
        schema = wrap(schema)
    spec = schema if "type" in schema else {"type": "object", **schema}
    definition = crd_of("Deep", {"type": "object", "properties": {"spec": spec}})
    answer = driver.send("POST", CRDS, definition, query="dryRun=All")
    assert_answered_well(answer)
    assert answer.took_s < 15  # exponential work would take minutes


RULES = {
    "brackets": lambda n: "(" * n + "true" + ")" * n,
    "negations": lambda n: "!" * n + "true",
    "signs": lambda n: "-" * n + "1 == 1",
    "lists": lambda n: "[" * n + "]" * n + " == []",
    "maps": lambda n: "{1:" * n + "1" + "}" * n + " == {}",
    "sums": lambda n: "1" + " + 1" * n + " == 1",
    "conditions": lambda n: "true ? " * n + "true" + " : true" * n,
    "conjunctions": lambda n: "true" + " && true" * n,
    "members": lambda n: "self" + ".a" * n,
    "indices": lambda n: "self" + "[0]" * n,
    "calls": lambda n: "size(" * n + "'a'" + ")" * n,
    "loops": lambda n: "[1].all(x, " * n + "true" + ")" * n,
    "no end": lambda n: "(" * n,
    "a text without end": lambda n: "'" + "a" * n,
    "NULs": lambda n: "\0" * n,
    "digits": lambda n: "9" * n + " == 1",
}


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
@pytest.mark.parametrize("length", [50, 300, 5000])
def test_a_rule_is_taken_or_refused_at_any_depth(driver: Driver, rule: Any, length: int) -> None:
    spec = {"type": "object", "x-kubernetes-validations": [{"rule": rule(length), "messageExpression": rule(length)}]}
    definition = crd_of("Ruled", {"type": "object", "properties": {"spec": spec}})
    answer = driver.send("POST", CRDS, definition, query="dryRun=All")
    assert_answered_well(answer)
    assert answer.status in {201, 422}
    assert answer.took_s < 15  # exponential work would take minutes


PATTERNS = {
    "groups": lambda n: "(" * n + "a" + ")" * n,
    "open groups": lambda n: "(" * n,
    "stars": lambda n: "(a*)*" * n,
    "repeats": lambda n: "a{1000}" * n,
    "repeated repeats": lambda n: "(" * 8 + "a" + "{1000})" * 8,
    "brackets": lambda n: "[" * n,
    "alternatives": lambda n: "(?i)" * n + "|" * n,
    "a class without end": lambda n: r"\p{" + "L" * n,
    "a quote without end": lambda n: r"\Q" + "(" * n,
}


@pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS)
@pytest.mark.parametrize("length", [10, 1000])
def test_a_pattern_is_taken_or_refused_at_any_depth(driver: Driver, pattern: Any, length: int) -> None:
    spec = {"type": "string", "pattern": pattern(length), "default": "a"}
    definition = crd_of("Patterned", {"type": "object", "properties": {"spec": spec}})
    answer = driver.send("POST", CRDS, definition, query="dryRun=All")
    assert_answered_well(answer)
    assert answer.status in {201, 422}
    assert answer.took_s < 15  # exponential work would take minutes


@pytest.mark.parametrize("path", [".a[" * 2000, "." * 5000, ".a[?(@.b==" * 500, "{" * 5000, ".a" * 5000, "[*]" * 2000])
def test_a_column_s_path_is_taken_or_refused_at_any_depth(driver: Driver, path: str) -> None:
    columns = [{"name": "x", "type": "string", "jsonPath": path}]
    definition = crd_of("Shown", {"type": "object"}, additionalPrinterColumns=columns)
    answer = driver.send("POST", CRDS, definition, query="dryRun=All")
    assert_answered_well(answer)
    assert answer.took_s < 15  # exponential work would take minutes
