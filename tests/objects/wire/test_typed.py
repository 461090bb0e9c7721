"""Values of built-in kinds are what Go structs hold."""

from __future__ import annotations

from typing import Any

import pytest

from homeostat.objects.wire.builtin_schema import builtin_schema
from homeostat.objects.wire.typed import as_read, conform_types

POD = builtin_schema("", "v1", "Pod")
LEASE = builtin_schema("coordination.k8s.io", "v1", "Lease")


def _container(**fields: Any) -> dict[str, Any]:
    pod = {"spec": {"containers": [{"name": "c", **fields}]}}
    assert conform_types(pod, POD) == []
    (found,) = pod["spec"]["containers"]
    return found


@pytest.mark.parametrize(
    "zero", [{"args": []}, {"stdin": False}, {"workingDir": ""}, {"ports": []}, {"tty": None}], ids=str
)
def test_a_zero_that_go_leaves_out_is_absent(zero: dict[str, Any]) -> None:
    assert _container(**zero) == {"name": "c"}


@pytest.mark.parametrize(
    "kept",
    [
        {"securityContext": {"runAsNonRoot": False, "runAsUser": 0}},
        {"resources": {}},
        {"image": "b"},
        {"name": ""},
    ],
    ids=str,
)
def test_a_zero_behind_a_pointer_a_struct_and_what_go_always_writes_are_kept(kept: dict[str, Any]) -> None:
    assert _container(**kept) == {"name": "c", **kept}


@pytest.mark.parametrize("wrong", [{"args": ""}, {"stdin": 0}, {"workingDir": []}], ids=str)
def test_a_zero_of_the_wrong_type_is_refused(wrong: dict[str, Any]) -> None:
    assert len(conform_types({"spec": {"containers": [wrong]}}, POD)) == 1


@pytest.mark.parametrize(
    ("written", "read"),
    [(1, "1"), (0.5, "500m"), ("1024Mi", "1Gi"), ("1000m", "1"), ("2", "2"), (None, "0"), (" 3 ", "3")],
)
def test_a_quantity_is_canonical_text(written: Any, read: str) -> None:
    assert _container(resources={"limits": {"cpu": written}})["resources"]["limits"] == {"cpu": read}


@pytest.mark.parametrize(
    "wrong", ["", "1Zi", True, [], "9" * 1000], ids=["empty", "suffix", "boolean", "list", "digits"]
)
def test_what_is_no_quantity_is_refused(wrong: Any) -> None:
    pod = {"spec": {"containers": [{"resources": {"limits": {"cpu": wrong}}}]}}
    assert [each.field for each in conform_types(pod, POD)] == ["spec.containers[0].resources.limits.cpu"]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("2024-01-01T00:00:00.123456Z", "2024-01-01T00:00:00.123456Z"),
        ("2024-01-01T02:00:00.000001+02:00", "2024-01-01T00:00:00.000001Z"),
    ],
)
def test_a_time_in_microseconds_is_in_utc(written: str, read: str) -> None:
    lease = {"spec": {"renewTime": written}}
    assert conform_types(lease, LEASE) == []
    assert lease["spec"]["renewTime"] == read


@pytest.mark.parametrize("fraction", ["", ".1", ".123", ".123456789"])
def test_a_time_in_microseconds_needs_six_digits_which_go_reads(fraction: str) -> None:
    (cause,) = conform_types({"spec": {"renewTime": f"2024-01-01T00:00:00{fraction}Z"}}, LEASE)
    assert "six digits" in cause.message


@pytest.mark.parametrize(
    ("written", "read"),
    [("2024-01-01T00:00:00.9Z", "2024-01-01T00:00:00Z"), ("2024-01-01T00:00:00-01:00", "2024-01-01T01:00:00Z")],
)
def test_other_times_are_whole_seconds_in_utc(written: str, read: str) -> None:
    pod = {"status": {"startTime": written}}
    assert conform_types(pod, POD) == []
    assert pod["status"]["startTime"] == read


@pytest.mark.parametrize(
    "wrong", ["2024-13-01T00:00:00Z", "2024-01-01T24:00:00Z", "2024-01-01T00:00:00", "0001-01-01T00:00:00+01:00", ""]
)
def test_a_time_that_go_does_not_read_is_refused(wrong: str) -> None:
    assert len(conform_types({"status": {"startTime": wrong}}, POD)) == 1


def test_the_managers_of_an_object_can_be_cleared() -> None:
    pod: dict[str, Any] = {"metadata": {"managedFields": [], "labels": {}}}
    assert conform_types(pod, POD) == []
    assert pod == {"metadata": {"managedFields": []}}


def test_a_stored_object_is_read_without_changing_it() -> None:
    stored = {"spec": {"hostIPC": False, "containers": [{"args": []}]}}
    assert as_read(stored, POD) == {"spec": {"containers": [{}]}}
    assert stored["spec"]["hostIPC"] is False
