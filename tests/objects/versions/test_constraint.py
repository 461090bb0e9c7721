"""Ranges of versions beyond the recorded choices."""

from __future__ import annotations

import contextlib
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeostat.objects.versions import semver
from homeostat.objects.versions.constraint import InvalidConstraintError, best_tag, parse_constraint
from homeostat.objects.versions.semver import parse_version


@pytest.mark.parametrize(
    ("constraint", "allowed", "refused"),
    [
        ("*", ["0.0.1", "9.9.9"], ["1.0.0-rc.1"]),
        ("^0", ["0.0.1", "0.9.9"], ["1.0.0"]),
        ("^0.0", ["0.0.1", "0.0.9"], ["0.1.0"]),
        ("~0.0.0", ["0.0.0", "7.0.0"], []),
        ("~1.2", ["1.2.9"], ["1.3.0", "1.1.9"]),
        ("~>2", ["2.0.0", "2.9.0"], ["3.0.0"]),
        ("!=1.x", ["2.0.0", "0.9.0"], ["1.2.3"]),
        ("!=1.2", ["1.3.0"], ["1.2.9"]),
        ("!=2.0.0", ["1.0.0", "2.0.1"], ["2.0.0", "2.0.1-rc"]),
        (">1", ["2.0.0"], ["1.9.9"]),
        ("<=1.2", ["1.2.9", "0.1.0"], ["1.3.0", "2.0.0"]),
        ("=<1", ["1.9.9"], ["2.0.0"]),
        ("=1.2", ["1.2.0", "1.2.7"], ["1.3.0"]),
        (">=1.0.0-0 <2.0.0", ["1.5.0-rc.1"], ["2.0.0"]),
        (">=1.0.0 <2.0.0 || >=3.0.0-0", ["1.5.0", "3.0.0-rc.1"], ["1.5.0-rc.1", "2.5.0"]),
        ("1.0.0 - 2", ["1.0.0", "2.9.9"], ["3.0.0", "0.9.0"]),
        (" >= 1 , < 3 ", ["1.0.0", "2.9.9"], ["3.0.0"]),
        ("v1.2.3+build", ["1.2.3", "v1.2.3+other"], ["1.2.4"]),
    ],
)
def test_a_constraint_allows(constraint: str, allowed: list[str], refused: list[str]) -> None:
    found = parse_constraint(constraint)
    versions = [(text, parse_version(text)) for text in allowed + refused]
    assert [text for text, version in versions if version is not None and found.allows(version)] == allowed


@pytest.mark.parametrize(
    "text", ["", " ", "nope", "1.2.3.4", ">1<3", "1,", ",1", "|| 1", "1 ||", "==1", "1.0.0-", "^", "1" * 600, "1|2"]
)
def test_what_is_no_range_is_refused(text: str) -> None:
    with pytest.raises(InvalidConstraintError):
        parse_constraint(text)


@pytest.mark.parametrize(
    "text", ["1.2.3.4", "latest", "", "V1", "1.0.0-01", "1.0.0-", "1.0.0+", f"{2**64}.0.0", "1." * 200, "1.0.0\n"]
)
def test_what_is_no_version_is_refused(text: str) -> None:
    assert parse_version(text) is None


def test_pre_releases_are_in_the_order_of_their_parts() -> None:
    texts = [
        "1.0.0-1",
        "1.0.0-2",
        "1.0.0-11",
        "1.0.0-alpha",
        "1.0.0-alpha.1",
        "1.0.0-alpha.beta",
        "1.0.0-beta",
        "1.0.0",
    ]
    versions = [parse_version(each) for each in texts]
    assert all(a is not None and b is not None and a < b for a, b in itertools.pairwise(versions))


def test_without_a_constraint_a_pre_release_is_chosen() -> None:
    assert best_tag(["1.9.0", "2.0.0-rc.1"]) == "2.0.0-rc.1"


@given(st.text("0123456789.xX*-^~<>=!|, vab+", max_size=30))
def test_any_text_is_a_range_or_refused(text: str) -> None:
    version = parse_version("1.2.3")
    assert version is not None
    with contextlib.suppress(InvalidConstraintError):
        parse_constraint(text).allows(version)


def test_long_texts_are_no_versions_and_not_kept() -> None:
    semver._parsed.cache_clear()
    assert [parse_version(f"1.2.3-{'x' * size}") is None for size in (10, 1_000_000)] == [False, True]
    assert semver._parsed.cache_info().currsize == 1
