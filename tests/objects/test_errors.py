"""No more faults are searched for than a refusal lists."""

from __future__ import annotations

from typing import Any

import pytest

from homeostat.objects.crd.definition import default_crd, validate_crd
from homeostat.objects.errors import MOST_CAUSES, BadRequestError, Cause
from homeostat.objects.json import MAX_CONTAINERS, decode
from homeostat.objects.names import MAX_OWNERS, SUBDOMAIN, check_metadata, check_metadata_update
from homeostat.objects.schema.explain import explain
from homeostat.objects.schema.list_types import list_plan
from homeostat.objects.schema.openapi import schema_of
from homeostat.objects.schema.rules.evaluate import Rules
from homeostat.objects.wire.builtin_schema import builtin_schema
from homeostat.objects.wire.typed import conform_types

MANY = 10 * MOST_CAUSES
ROOM = 3
"""One value may have several faults, and the last one checked is reported whole."""


def metadata_causes(**members: object) -> list[Cause]:
    return check_metadata({"name": "many", "namespace": "default", **members}, namespaced=True, rule=SUBDOMAIN)


def definition_causes(names: dict[str, Any], schema: dict[str, Any]) -> list[Cause]:
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    spec = {"group": "example.dev", "scope": "Cluster", "names": names, "versions": [version]}
    crd: dict[str, Any] = {"metadata": {"name": "manies.example.dev"}, "spec": spec}
    default_crd(crd)
    return validate_crd(crd)


def rules_that_fail() -> list[Cause]:
    rules = [{"rule": "self.size > 0"}] * MANY
    schema = {"type": "object", "properties": {"size": {"type": "integer"}}, "x-kubernetes-validations": rules}
    return Rules(schema_of(schema)).check({"size": 0})


def repeated_items() -> list[Cause]:
    plan = list_plan(schema_of({"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "integer"}}))
    assert plan is not None
    return plan.duplicates([*range(MANY), *range(MANY)])


def wrong_types() -> list[Cause]:
    pod = {"spec": {"containers": [{"name": 1, "image": 2}] * MANY}}
    return conform_types(pod, builtin_schema("", "v1", "Pod"))


NAMES = {"plural": "manies", "kind": "Many"}
FAULTS = {
    "labels": lambda: metadata_causes(labels={f"-{at}": "-" for at in range(MANY)}),
    "annotations": lambda: metadata_causes(annotations={f"-{at}": "" for at in range(MANY)}),
    "finalizers": lambda: metadata_causes(finalizers=[""] * MANY),
    "owners": lambda: metadata_causes(ownerReferences=[{}] * MAX_OWNERS),
    "controllers": lambda: metadata_causes(
        ownerReferences=[{"apiVersion": "v1", "kind": "A", "name": "a", "uid": "u", "controller": True}] * MAX_OWNERS
    ),
    "types": wrong_types,
    "rules": rules_that_fail,
    "rules that do not compile": lambda: definition_causes(
        NAMES, {"type": "object", "x-kubernetes-validations": [{"rule": "self.size > 0"}] * MANY}
    ),
    "short names": lambda: definition_causes({**NAMES, "shortNames": ["A"] * MANY}, {"type": "object"}),
    "required members": lambda: explain(
        {}, schema_of({"type": "object", "required": [f"m{at}" for at in range(MANY)]})
    ),
    "repeated items": repeated_items,
}


@pytest.mark.parametrize("faults", FAULTS.values(), ids=FAULTS.keys())
def test_validation_stops_at_the_most_causes(faults: Any) -> None:
    assert MOST_CAUSES <= len(faults()) <= MOST_CAUSES + ROOM


def test_finalizers_that_come_too_late_are_all_named_in_one_cause() -> None:
    old = {"deletionTimestamp": "2024-01-01T00:00:00Z", "finalizers": [f"a/{at}" for at in range(MANY)]}
    new = {**old, "finalizers": [*old["finalizers"], "a/new", "a/newer"]}
    (cause,) = check_metadata_update(new, old)
    assert cause.message.endswith('[]string{"a/new", "a/newer"}')


def test_a_supported_value_far_down_the_list_is_found_and_true_is_not_one() -> None:
    schema = schema_of({"enum": [*range(5_000), "last"]})
    assert explain("last", schema) == []
    assert len(explain(True, schema)) == 1


def test_brackets_in_texts_are_no_objects() -> None:
    assert decode(b'{"text":"%s\\"{"}' % (b"{[" * MAX_CONTAINERS))["text"].endswith('["{')


def test_too_many_objects_are_refused_however_they_stand() -> None:
    with pytest.raises(BadRequestError, match="more than 100000 objects and arrays"):
        decode(b'["a\\\\",' + b'{"a":"{"},' * MAX_CONTAINERS + b"1]")


def test_nulls_that_would_become_objects_count_as_such() -> None:
    pod: dict[str, Any] = {"spec": {"containers": [None] * (MAX_CONTAINERS + 1)}}
    (cause,) = conform_types(pod, builtin_schema("", "v1", "Pod"))
    assert (cause.field, cause.message) == ("spec.containers", "has more than 100000 nulls")
