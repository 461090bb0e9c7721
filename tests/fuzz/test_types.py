"""A wrong type is named and refused, whichever field has it and however it comes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from homeostat.objects.meta import ObjectMeta
from tests.api.conftest import APPLY, JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH
from tests.api.objects import CONFIGMAPS, configmap
from tests.fuzz.driver import Driver, assert_answered_well
from tests.fuzz.kinds import REVIEWS, TARGETS, Target
from tests.fuzz.values import ODD_VALUES, Path, paths_of, with_value

DRY = "dryRun=All"
JSON = "application/json"
METADATA_FIELDS = (*ObjectMeta.__struct_encode_fields__, "unknown")


Way = tuple[str, str, str]
"""Method, content type, query."""
WAYS: tuple[Way, ...] = (
    ("POST", JSON, DRY),
    ("PUT", JSON, DRY),
    ("PATCH", APPLY, f"{DRY}&fieldManager=fuzz&force=true"),
    ("PATCH", MERGE_PATCH, DRY),
    ("PATCH", STRATEGIC_PATCH, DRY),
)


def check(driver: Driver, target: Target, obj: Any, ways: Sequence[Way] = WAYS) -> None:
    """Send an object in each of these ways."""
    for method, media, query in ways:
        path = target.collection if method == "POST" else target.path
        assert_answered_well(driver.send(method, path, obj, query=query, type=media))


def check_fields(driver: Driver, target: Target, paths: Iterable[Path]) -> None:
    """Every value in every field; the ways take turns, so that each field and each value comes in all of them."""
    for at, path in enumerate(paths):
        for number, value in enumerate(ODD_VALUES.values()):
            check(driver, target, with_value(target.base, path, value), [WAYS[(at + number) % len(WAYS)]])


def test_any_field_may_be_sent_with_any_type(driver: Driver, target: Target) -> None:
    check_fields(driver, target, paths_of(target.base))


def test_any_field_of_metadata_may_be_sent_with_any_type(driver: Driver, target: Target) -> None:
    check_fields(driver, target, (("metadata", field) for field in METADATA_FIELDS))


def test_any_value_may_be_sent_for_an_object(driver: Driver, target: Target) -> None:
    for value in ODD_VALUES.values():
        check(driver, target, value)
        assert_answered_well(driver.send("PATCH", target.path, value, query=DRY, type=JSON_PATCH))
        assert_answered_well(driver.send("DELETE", f"{target.collection}/nobody", value))
        assert_answered_well(driver.send("DELETE", target.collection, value, query=DRY))


@pytest.mark.parametrize("part", ["status", "scale", "finalize", "token", "nothing"])
def test_any_value_may_be_sent_for_a_part_of_an_object(driver: Driver, target: Target, part: str) -> None:
    path = f"{target.path}/{part}"
    for value in ODD_VALUES.values():
        for body in (value, {"spec": value, "status": value}, {"metadata": value}):
            assert_answered_well(driver.send("PUT", path, body, query=DRY))
            assert_answered_well(driver.send("POST", path, body, query=DRY))
            for media in (JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY):
                assert_answered_well(driver.send("PATCH", path, body, query=f"{DRY}&fieldManager=fuzz", type=media))


@pytest.mark.parametrize("review", REVIEWS, ids=lambda review: review.name)
def test_any_field_of_a_review_may_be_sent_with_any_type(driver: Driver, review: Target) -> None:
    for path in paths_of(review.base):
        for value in ODD_VALUES.values():
            answer = driver.send("POST", review.collection, with_value(review.base, path, value))
            assert_answered_well(answer)
            assert not answer.has_written


WRONG = {
    "a number for a name": ("name", 1),
    "a list for labels": ("labels", ["a"]),
    "a number among labels": ("labels", {"a": 1}),
    "an object among annotations": ("annotations", {"a": {}}),
    "a string for finalizers": ("finalizers", "a"),
    "an owner that is a string": ("ownerReferences", ["a"]),
    "a number for an owner's uid": ("ownerReferences", [{"uid": 1}]),
    "a string for the generation": ("generation", "1"),
    "a number for the revision": ("resourceVersion", 1),
    "a string for managed fields": ("managedFields", "x"),
    "an integer beyond 64 bits": ("generation", 10**30),
}


@pytest.mark.parametrize(("field", "value"), WRONG.values(), ids=WRONG)
def test_a_wrong_type_in_metadata_is_a_bad_request_that_names_it(driver: Driver, field: str, value: Any) -> None:
    answer = driver.send("POST", CONFIGMAPS, configmap("wrong", metadata={field: value}))
    assert (answer.status, answer.json["reason"]) == (400, "BadRequest")
    assert f"metadata.{field}" in answer.json["message"]
    assert driver.send("GET", f"{CONFIGMAPS}/wrong").status == 404


@pytest.mark.parametrize("field", ["apiVersion", "kind"])
@pytest.mark.parametrize("value", [0, 1, False, True, [], {}, "Other", "v1/v1/v1"], ids=repr)
def test_a_wrong_identity_is_a_bad_request(driver: Driver, field: str, value: Any) -> None:
    answer = driver.send("POST", CONFIGMAPS, {**configmap("wrong"), field: value})
    assert (answer.status, answer.json["reason"]) == (400, "BadRequest")


@pytest.mark.parametrize("field", ["apiVersion", "kind"])
@pytest.mark.parametrize("value", [None, ""], ids=repr)
def test_an_empty_identity_is_that_of_the_url(driver: Driver, field: str, value: Any) -> None:
    answer = driver.send("POST", CONFIGMAPS, {**configmap("right"), field: value}, query=DRY)
    assert (answer.status, answer.json["apiVersion"], answer.json["kind"]) == (201, "v1", "ConfigMap")


def test_every_target_is_still_as_it_was(driver: Driver) -> None:
    for target in TARGETS:
        assert driver.send("GET", target.path).json["metadata"]["name"] == target.base["metadata"]["name"]
