from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeostat.objects.errors import BadRequestError
from homeostat.objects.selectors import (
    EVERYTHING,
    MAX_TERMS,
    NOTHING,
    FieldTerm,
    Requirement,
    parse_fields,
    parse_labels,
    selector_of,
)

Json = Any
WEB = {"app": "web", "tier": "front", "example.com/size": "5", "empty": ""}


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("", True),
        (" ", True),
        ("app=web", True),
        ("app==web", True),
        (" app = web ", True),
        ("app=db", False),
        ("app!=db", True),
        ("app!=web", False),
        ("missing=x", False),
        ("missing!=x", True),
        ("app", True),
        ("missing", False),
        ("!missing", True),
        ("! missing", True),
        ("!app", False),
        ("app in (web,db)", True),
        ("app in ( web )", True),
        ("app in(db)", False),
        ("app notin (db)", True),
        ("missing notin (db)", True),
        ("missing in (db)", False),
        ("empty=", True),
        ("empty in ()", True),
        ("empty in (x,)", True),
        ("app=", False),
        ("app=web,tier=front", True),
        ("app=web,tier=back", False),
        ("app=web,tier in (front),!x", True),
        ("example.com/size>4", True),
        ("example.com/size>5", False),
        ("example.com/size<6,app", True),
        ("app>1", False),
        ("missing<1", False),
        ("in in (in)", False),
    ],
)
def test_a_label_selector_matches_as_in_kubernetes(text: str, matches: bool) -> None:
    assert parse_labels(text).matches(WEB) is matches


@pytest.mark.parametrize(
    "text",
    [
        "a=b,",
        ",a=b",
        "a=b c",
        "a in b",
        "a in (b",
        "a in (b c)",
        "a notin",
        "a>x",
        "a>",
        "!a=b",
        "!",
        "=b",
        "a==!b",
        "a/b/c=d",
        "A..=d",
        "-a=b",
        "/a=b",
        "UPPER.com/a=b",
        "a=-b",
        "a=b!c",
        f"{'a' * 64}=b",
        f"a={'b' * 64}",
        f"{'a' * 254}/b=c",
        "é=b",
        "a=\x00",
        "((",
    ],
)
def test_a_malformed_label_selector_is_refused(text: str) -> None:
    with pytest.raises(BadRequestError):
        parse_labels(text)


def test_a_selector_without_requirements_is_false() -> None:
    assert not EVERYTHING
    assert NOTHING
    assert parse_labels("a")


words = st.from_regex(r"[a-z]([a-z0-9-]{0,3}[a-z])?", fullmatch=True)
label_values = st.just("") | words
requirements = st.one_of(
    st.builds(Requirement, words, st.sampled_from(["exists", "!"])),
    st.builds(lambda key, op, value: Requirement(key, op, (value,)), words, st.sampled_from(["=", "!="]), label_values),
    st.builds(
        lambda key, op, values: Requirement(key, op, tuple(values)),
        words,
        st.sampled_from(["in", "notin"]),
        st.lists(label_values, min_size=1, max_size=3, unique=True),
    ),
    st.builds(
        lambda key, op, value: Requirement(key, op, (str(value),)), words, st.sampled_from("<>"), st.integers(0, 99)
    ),
)


@given(st.lists(requirements, min_size=1, max_size=4), st.dictionaries(words, label_values, max_size=4))
def test_a_printed_selector_reads_back_and_means_the_same(found: list[Requirement], labels: dict[str, str]) -> None:
    selector = parse_labels(",".join(map(str, found)))
    again = parse_labels(str(selector))
    assert str(again) == str(selector)
    assert again.matches(labels) is selector.matches(labels)
    assert selector.matches(labels) is all(parse_labels(str(each)).matches(labels) for each in found)


@given(st.text(" ,=!<>()ab/in-1.", max_size=12))
def test_any_text_is_a_selector_or_a_bad_request(text: str) -> None:
    with contextlib.suppress(BadRequestError):
        parse_labels(text).matches(WEB)


@pytest.mark.parametrize(
    ("value", "matches"),
    [
        (None, False),
        ({}, True),
        ({"matchLabels": {"app": "web"}}, True),
        ({"matchLabels": {"app": "web", "tier": "x"}}, False),
        ({"matchLabels": None, "matchExpressions": None}, True),
        ({"matchExpressions": [{"key": "app", "operator": "In", "values": ["web"]}]}, True),
        ({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["web"]}]}, False),
        ({"matchExpressions": [{"key": "app", "operator": "Exists"}]}, True),
        ({"matchExpressions": [{"key": "app", "operator": "DoesNotExist", "values": []}]}, False),
        ({"matchLabels": {"app": "web"}, "matchExpressions": [{"key": "x", "operator": "DoesNotExist"}]}, True),
    ],
)
def test_a_label_selector_object_is_the_same_selector(value: Json, matches: bool) -> None:
    assert selector_of(value).matches(WEB) is matches


@pytest.mark.parametrize(
    "value",
    [
        "app=web",
        {"matchLabels": []},
        {"matchLabels": {"app": 1}},
        {"matchLabels": {"a b": "c"}},
        {"matchExpressions": {}},
        {"matchExpressions": ["a"]},
        {"matchExpressions": [{"key": "a", "operator": "in", "values": ["b"]}]},
        {"matchExpressions": [{"key": "a", "operator": ["In"]}]},
        {"matchExpressions": [{"key": "a", "operator": "In"}]},
        {"matchExpressions": [{"key": "a", "operator": "In", "values": "b"}]},
        {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]},
        {"matchExpressions": [{"operator": "Exists"}]},
    ],
)
def test_a_malformed_label_selector_object_is_refused(value: Json) -> None:
    with pytest.raises(BadRequestError):
        selector_of(value)


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("", ()),
        ("metadata.name=web", (FieldTerm("metadata.name", "web"),)),
        ("metadata.name==web,", (FieldTerm("metadata.name", "web"),)),
        ("a!=b,c=d", (FieldTerm("a", "b", equal=False), FieldTerm("c", "d"))),
        ("a=", (FieldTerm("a", ""),)),
        (r"a=b\,c\=d\\e", (FieldTerm("a", r"b,c=d\e"),)),
        ("a=b!c", (FieldTerm("a", "b!c"),)),
    ],
)
def test_a_field_selector_is_a_list_of_terms(text: str, terms: tuple[FieldTerm, ...]) -> None:
    assert parse_fields(text) == terms


@pytest.mark.parametrize("text", ["a", "a=b,c", "=b", "a=b=c", r"a=\x", "a=b\\"])
def test_a_malformed_field_selector_is_refused(text: str) -> None:
    with pytest.raises(BadRequestError):
        parse_fields(text)


@given(st.lists(st.builds(FieldTerm, words, st.text("ab\\,=! \n", max_size=6), st.booleans()), max_size=3))
def test_printed_field_terms_read_back(terms: list[FieldTerm]) -> None:
    assert parse_fields(",".join(map(str, terms))) == tuple(terms)


@pytest.mark.parametrize("parse", [parse_labels, parse_fields])
def test_a_selector_has_a_limit_of_terms(parse: Callable[[str], object]) -> None:
    parse(",".join(f"a{at}!=b" for at in range(MAX_TERMS)))
    with pytest.raises(BadRequestError, match=r"has 10[01]\d* terms; use at most 100"):
        parse(",".join(f"a{at}!=b" for at in range(MAX_TERMS + 1)))
