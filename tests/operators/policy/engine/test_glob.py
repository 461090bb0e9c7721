"""Name patterns: the same answers as fnmatch, and no pattern that takes long."""

from __future__ import annotations

from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeostat.operators.policy.engine.glob import compile_names, is_match

texts = st.text("ab-.", max_size=12)
patterns = st.text("ab*?-.", max_size=8)


@given(patterns, texts)
def test_a_pattern_matches_as_fnmatch_does(pattern: str, text: str) -> None:
    assert is_match(pattern, text) == fnmatchcase(text, pattern)


@pytest.mark.parametrize("text", ["a" * 253, "a" * 252 + "b"])
def test_many_stars_are_no_more_work_than_the_lengths_multiplied(text: str) -> None:
    assert is_match("*a" * 500, text) is False
    assert is_match("*a" * 100 + "*b", text) == text.endswith("b")


def test_a_bracket_is_a_bracket() -> None:
    assert is_match("a[b]*", "a[b]c")
    assert not is_match("a[b]", "ab")


def test_names_without_wildcards_match_as_they_are() -> None:
    matches = compile_names(["web", "db-*"])
    assert (matches("web"), matches("db-0"), matches("web-1"), compile_names([])("")) == (True, True, False, False)
