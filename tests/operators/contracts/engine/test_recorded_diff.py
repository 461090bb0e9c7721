"""Recorded differences: the same changes, classifications and values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from homeostat.objects.json import encode
from homeostat.operators.contracts.engine.bundle.bundle import Bundle, Unresolved
from homeostat.operators.contracts.engine.diff.compare import Side, compare
from homeostat.operators.contracts.engine.document.parse import ParseError
from homeostat.operators.contracts.engine.graph.graph import resolve
from homeostat.operators.contracts.engine.reference import is_oci, last_segment
from homeostat.operators.contracts.engine.validate import Overrides, load
from tests.operators.contracts.recorded import comparable_difference, files_of, recorded

_CASES: dict[str, Any] = recorded("diff")


def _side(case: dict[str, Any], name: str) -> Side:
    args = case.get("args", [])
    settings = tuple(args[place + 1] for place, flag in enumerate(args) if flag == f"--{name}-set")
    files = files_of(case[name])
    bundle = Bundle(load(files, Overrides(settings=settings)).contract, files)
    fetched: dict[str, Bundle | Unresolved] = {}
    while True:
        found = resolve(bundle.contract, fetched)
        if not found.missing:
            return Side(name, bundle, found.graph, fetched)
        for each in found.missing:
            fetched[each.ref] = _fetch(each.ref, case.get("siblings", {}), is_new=name == "new")


def _fetch(ref: str, siblings: Mapping[str, Mapping[str, str]], *, is_new: bool) -> Bundle | Unresolved:
    name = last_segment(ref) if is_oci(ref) else ref.removeprefix("../")
    if name not in siblings or (is_oci(ref) and not is_new):
        return Unresolved("not found")
    files = files_of(siblings[name])
    return Bundle(load(files).contract, files)


@pytest.mark.parametrize("name", [name for name, case in _CASES.items() if "error" not in case["expect"]])
def test_a_difference_is_as_recorded(name: str) -> None:
    case = _CASES[name]
    found = json.loads(encode(compare(_side(case, "old"), _side(case, "new"))))
    assert comparable_difference(found) == comparable_difference(case["expect"])


@pytest.mark.parametrize("name", [name for name, case in _CASES.items() if "error" in case["expect"]])
def test_a_side_that_does_not_parse_is_refused(name: str) -> None:
    with pytest.raises(ParseError):
        compare(_side(_CASES[name], "old"), _side(_CASES[name], "new"))
