"""Selectors of access reviews, without the server that `tests/differential` compares them with."""

from __future__ import annotations

import pytest

from homeostat.objects.errors import MOST_CAUSES
from homeostat.objects.selectors import MAX_TERMS, FieldTerm
from homeostat.server.access.selectors import (
    Fields,
    Requirement,
    Selector,
    check_fields,
    check_labels,
    fields_of,
    label_problem,
)

IGNORED = "spec.resourceAttributes.fieldSelector ignored due to parse error"
PARTLY = "spec.resourceAttributes.fieldSelector partially ignored due to parse error"
NAMED = Requirement("metadata.name", "In", ("a",))
FIELDS: dict[str, tuple[Selector | None, Fields]] = {
    "none": (None, Fields()),
    "raw": (Selector("a=b,c!=d"), Fields((FieldTerm("a", "b"), FieldTerm("c", "d", False)))),
    "a requirement": (Selector(requirements=(NAMED,)), Fields((FieldTerm("metadata.name", "a"),))),
    "one of two": (
        Selector(requirements=(NAMED, Requirement("x", "Exists"))),
        Fields((FieldTerm("metadata.name", "a"),), PARTLY),
    ),
    "two values": (Selector(requirements=(Requirement("x", "In", ("a", "b")),)), Fields((), IGNORED)),
    "more terms than a list may have": (Selector(",".join(["a=b"] * (MAX_TERMS + 1))), Fields((), IGNORED)),
}


@pytest.mark.parametrize(("selector", "fields"), FIELDS.values(), ids=FIELDS)
def test_a_field_selector_has_the_terms_that_are_understood(selector: Selector | None, fields: Fields) -> None:
    assert fields_of(selector) == fields


def test_a_label_selector_that_is_not_understood_is_named() -> None:
    assert label_problem(Selector("a in (b)")) == ""
    assert label_problem(Selector("a in b")).endswith("labelSelector ignored due to parse error")


def test_an_error_lists_no_more_causes_than_others_do() -> None:
    many = Selector(requirements=(Requirement("", "In"),) * 10_000)
    for check in (check_fields, check_labels):
        assert MOST_CAUSES <= len(check(many, "s")) <= MOST_CAUSES + 10
