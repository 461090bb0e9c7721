"""Texts with holes, and differences in declared fields."""

from __future__ import annotations

from typing import Any

import pytest

from homeostat.operators.actions.plugins.difference import differences
from homeostat.operators.actions.plugins.template import TemplateError, fill, fill_url

VALUES = {"name": "db", "spec": {"size": 3, "tags": {"a": "b"}, "odd": "a/b?c#d e", "up": "..", "on": True}}


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("/x/${name}", "/x/db"),
        ("/x/${spec.size}/${spec.on}", "/x/3/true"),
        ("/x/${spec.odd}", "/x/a%2Fb%3Fc%23d%20e"),
        ("/x", "/x"),
    ],
)
def test_a_value_is_one_segment_of_an_address(template: str, expected: str) -> None:
    assert fill_url(template, VALUES) == expected


@pytest.mark.parametrize("template", ["${nothing}", "${spec.none.deeper}", "${spec.tags}", "/x/${spec.up}"])
def test_what_cannot_stand_in_an_address_is_an_error(template: str) -> None:
    with pytest.raises(TemplateError):
        fill_url(template, VALUES)


def test_in_a_body_a_value_keeps_its_type_and_what_is_missing_is_left_out() -> None:
    template = {"n": "${spec.size}", "t": "${spec.tags}", "text": "size ${spec.size}", "none": "${spec.none}", "k": 1}
    assert fill(template, VALUES) == {"n": 3, "t": {"a": "b"}, "text": "size 3", "k": 1}


@pytest.mark.parametrize(
    ("declared", "found", "expected"),
    [
        pytest.param({"a": 1}, {"a": 1, "b": 2}, [], id="more-is-none-of-ours"),
        pytest.param({"a": 1}, {"a": 1.0}, [], id="one-number"),
        pytest.param({"a": {"b": 1, "c": 2}}, {"a": {"b": 1}}, ["a.c: null becomes 2"], id="missing"),
        pytest.param({"a": [1, 2]}, {"a": [2, 1]}, ["a: [2,1] becomes [1,2]"], id="order-of-a-list"),
        pytest.param({"a": [{"b": 1}]}, {"a": [{"b": 1, "id": 7}]}, [], id="more-inside-a-list"),
        pytest.param({"a": True}, {"a": 1}, ["a: 1 becomes true"], id="true-is-not-one"),
        pytest.param({"a": None}, {}, [], id="null-is-absent"),
        pytest.param({"a": {}}, {"a": 1}, ["a: 1 becomes {}"], id="another-type"),
    ],
)
def test_only_declared_fields_are_compared(declared: Any, found: Any, expected: list[str]) -> None:
    assert list(map(str, differences(declared, found))) == expected
