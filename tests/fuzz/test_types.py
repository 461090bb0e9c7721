"""A wrong type is named and refused, whichever field has it and however it comes."""

from __future__ import annotations

from typing import Any

import pytest

from homeostat.objects.meta import ObjectMeta
from tests.api.conftest import APPLY, JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH
from tests.api.objects import CONFIGMAPS, configmap
from tests.fuzz.driver import Driver, assert_answered_well
from tests.fuzz.kinds import REVIEWS, TARGETS, Target
from tests.fuzz.values import ODD_VALUES, paths_of, with_value

DRY = "dryRun=All"
METADATA_FIELDS = (*ObjectMeta.__struct_encode_fields__, "unknown")


def check_everywhere(driver: Driver, target: Target, obj: Any) -> None:
    """Send an object in each of the ways there are."""
    applied = f"{DRY}&fieldManager=fuzz&force=true"
    assert_answered_well(driver.send("POST", target.collection, obj, query=DRY))
    assert_answered_well(driver.send("PUT", target.path, obj, query=DRY))
    assert_answered_well(driver.send("PATCH", target.path, obj, query=applied, type=APPLY))
    for media in (MERGE_PATCH, STRATEGIC_PATCH):
        assert_answered_well(driver.send("PATCH", target.path, obj, query=DRY, type=media))


def test_any_field_may_be_sent_with_any_type(driver: Driver, target: Target) -> None:
    for path in paths_of(target.base):
        for value in ODD_VALUES.values():
            check_everywhere(driver, target, with_value(target.base, path, value))


def test_any_field_of_metadata_may_be_sent_with_any_type(driver: Driver, target: Target) -> None:
    for field in METADATA_FIELDS:
        for value in ODD_VALUES.values():
            check_everywhere(driver, target, with_value(target.base, ("metadata", field), value))


def test_any_value_may_be_sent_for_an_object(driver: Driver, target: Target) -> None:
    for value in ODD_VALUES.values():
        check_everywhere(driver, target, value)
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
@pytest.mark.parametrize("value", [1, True, [], {}, "", "Other", "v1/v1/v1"], ids=repr)
def test_a_wrong_identity_is_a_bad_request(driver: Driver, field: str, value: Any) -> None:
    answer = driver.send("POST", CONFIGMAPS, {**configmap("wrong"), field: value})
    assert (answer.status, answer.json["reason"]) == (400, "BadRequest")


def test_every_target_is_still_as_it_was(driver: Driver) -> None:
    for target in TARGETS:
        assert driver.send("GET", target.path).json["metadata"]["name"] == target.base["metadata"]["name"]
