"""Which version of a type counts for a resource."""

from __future__ import annotations

import msgspec
import pytest

from homeostat.operators.actions.api import ResourceType
from homeostat.operators.actions.types.effective import kept_by, types_in_force, versions_in_force


def declared(
    version: str, *, age: int = 1, reason: str = "Defined", name: str = "Thing", told: str = ""
) -> ResourceType:
    ready = {"type": "Ready", "status": "Unknown", "reason": reason, "message": ""}
    return msgspec.convert(
        {
            "metadata": {"name": f"{version}-{age}", "creationTimestamp": f"2026-01-0{age}T00:00:00Z"},
            "spec": {"name": name, "version": version, "description": told},
            "status": msgspec.Raw(msgspec.json.encode({"plural": "things", "conditions": [ready]})),
        },
        ResourceType,
    )


TYPES = [declared("v1", age=3), declared("v2", age=2), declared("v1beta1", age=4), declared("2.1", age=5)]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        pytest.param({}, "v2", id="the-newest-by-the-order-of-versions"),
        pytest.param({"homeostat.dev/type-version": "v1"}, "v1", id="its-own"),
        pytest.param({"homeostat.dev/type-version": "2.1"}, "2.1", id="as-the-type-is-called"),
        pytest.param({"homeostat.dev/type-version": "v7"}, "v2", id="one-that-is-gone"),
    ],
)
def test_a_resource_is_kept_by_the_version_that_it_was_declared_by(labels: dict[str, str], expected: str) -> None:
    assert kept_by(versions_in_force(TYPES)["Thing"], labels).version == expected


def test_of_two_of_one_version_the_older_counts() -> None:
    types = [declared("v1", age=2, told="younger"), declared("v1", age=1, told="older")]
    assert versions_in_force(types)["Thing"]["v1"].description == "older"


@pytest.mark.parametrize(("reason", "expected"), [("Defining", "v1"), ("Redefining", "v2"), ("Incompatible", "v2")])
def test_a_type_counts_once_the_server_has_its_definition(reason: str, expected: str) -> None:
    types = [declared("v1"), declared("v2", reason=reason)]
    assert {kind: each.version for kind, each in types_in_force(types).items()} == {"Thing": expected}
