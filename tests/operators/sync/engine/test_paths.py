from __future__ import annotations

from fnmatch import fnmatchcase
from time import thread_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeostat.operators.sync.engine.errors import ValidationError
from homeostat.operators.sync.engine.paths.glob import matches
from homeostat.operators.sync.engine.paths.logical import Target, join, overlaps, parse, raw_segments
from homeostat.operators.sync.engine.paths.selector import Selector, parse_selector
from homeostat.operators.sync.engine.paths.variables import singular, variables


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("/customers/acme", Target("/customers/acme")),
        ("/customers//acme/", Target("/customers/acme", True)),
        ("/customers\\acme", Target("/customers/acme")),
        ("/", Target("/")),
    ],
)
def test_a_path_has_one_normal_form(text: str, found: Target) -> None:
    assert parse(text) == found


@pytest.mark.parametrize(
    "text", ["", "  ", "customers/acme", "/customers/../acme", "/a/./b", "/customers/_/x", "/a/\0"]
)
def test_a_path_that_names_nothing_is_refused(text: str) -> None:
    with pytest.raises(ValidationError):
        parse(text)


def test_a_missing_slash_is_accepted_where_the_caller_allows_it() -> None:
    assert parse("customers/acme", allows_relative=True).path == "/customers/acme"


@given(st.text(max_size=40))
def test_the_normal_form_of_a_normal_form_is_itself(text: str) -> None:
    try:
        found = parse(text)
    except ValidationError:
        return
    assert parse(found.path).path == found.path


@pytest.mark.parametrize(
    ("a", "b", "is_overlapping"),
    [
        ("/customers/acme", "/customers/acme", True),
        ("/customers", "/customers/acme", True),
        ("/customers/acme", "/customers/beta", False),
        ("/cust", "/customers", False),
        ("/", "/customers", True),
    ],
)
def test_paths_overlap_on_segments(a: str, b: str, is_overlapping: bool) -> None:
    assert overlaps(a, b) is is_overlapping
    assert overlaps(b, a) is is_overlapping


def test_joining_trims_and_refuses_reserved_names() -> None:
    assert join("/customers", " acme ") == "/customers/acme"
    assert join("/customers", "acme/dev") == "/customers/acme/dev"
    assert join("/", "customers") == "/customers"
    for each in ("", " ", "_"):
        with pytest.raises(ValidationError):
            join("/customers", each)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("/", Selector((), True)),
        ("/admin/realms/master", Selector(("admin", "realms", "master"), False)),
        ("/admin/realms/", Selector(("admin", "realms"), True)),
        ("/admin/realms/_/clients/_", Selector(("admin", "realms", "_", "clients"), True, True)),
        ("/customers/*/items", Selector(("customers", "*", "items"), True, True)),
    ],
)
def test_a_selector_names_a_resource_a_collection_or_a_pattern(text: str, found: Selector) -> None:
    assert parse_selector(text) == found


def test_a_malformed_glob_is_refused() -> None:
    with pytest.raises(ValidationError):
        parse_selector("/admin/[realms")


@pytest.mark.parametrize(
    ("glob", "name", "is_match"),
    [
        ("a*", "acme", True),
        ("*", "a/b", False),
        ("**", "", True),
        ("[a-c]?", "b1", True),
        ("[!a]x", "ax", False),
        ("x", "x", True),
        ("*a*b?*c", "xaabbxbc", True),
        ("*ab*ab", "xab", False),
        ("a*?b*", "aab", True),
        ("*[xy]*z", "yxz", True),
    ],
)
def test_a_glob_matches_one_segment(glob: str, name: str, is_match: bool) -> None:
    assert matches(glob, name) is is_match


@given(glob=st.text("ab*?", max_size=8), name=st.text("ab", max_size=10))
def test_a_glob_matches_as_that_of_a_shell(glob: str, name: str) -> None:
    assert matches(glob, name) is fnmatchcase(name, glob)


def test_a_glob_of_many_stars_takes_no_longer_on_a_long_name() -> None:
    began = thread_time()
    assert not matches("*a" * 50 + "b", "a" * 20_000)
    assert thread_time() - began < 1.0


def test_segments_of_a_path_become_variables() -> None:
    assert variables("/sites/north/sub-nets/office") == {"site": "north", "net": "office"}
    assert variables("/policies/p")["policy"] == "p"
    assert variables("/admin/realms/master/x", ["/admin/realms/{{/realm}}/y"])["realm"] == "master"
    assert singular("class") == "class"


def test_a_slash_inside_of_a_template_separates_nothing() -> None:
    assert raw_segments("/a/{{/b/c}}/d") == ["a", "{{/b/c}}", "d"]
