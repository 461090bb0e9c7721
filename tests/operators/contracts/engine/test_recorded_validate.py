"""Recorded answers of `validate`: the same verdict, codes and paths."""

from __future__ import annotations

import itertools
from datetime import date
from typing import Any

import pytest

from homeostat.operators.contracts.engine.validate import Overrides, Validation, validate_files
from tests.operators.contracts.recorded import Bundles, files_of, finding_pairs, recorded
from tests.operators.contracts.visible import visible

_CASES: dict[str, Any] = recorded("validate")
_TODAY = date(2026, 11, 17)


def _overrides(args: list[str], files: dict[str, bytes]) -> Overrides:
    given = list(itertools.pairwise(args))
    values = [path.removeprefix("@BUNDLE@/") for flag, path in given if flag == "-f"]
    return Overrides(
        values=tuple((path, files[path]) for path in values),
        settings=tuple(text for flag, text in given if flag == "--set"),
    )


def _validate(case: dict[str, Any]) -> Validation:
    args = case.get("args", [])
    files = files_of(case["files"])
    bundles = Bundles(case.get("push"))
    fetched: dict[str, Any] = {}
    while True:
        found = validate_files(
            visible(files),
            overrides=_overrides(args, files),
            fetched=fetched,
            gate_on=_TODAY if "--readiness" in args else None,
        )
        if not found.missing:
            return found
        fetched |= {ref: bundles.fetch(ref) for ref in found.missing}


@pytest.mark.parametrize("name", _CASES)
def test_validation_answers_as_recorded(name: str) -> None:
    expected = _CASES[name]["expect"]
    findings = _validate(_CASES[name]).findings
    assert findings.is_valid == expected["valid"]
    if expected.get("codes") == "any":
        return
    assert {(each.code, each.path) for each in findings.errors} == finding_pairs(expected["errors"])
    assert {(each.code, each.path) for each in findings.warnings} == finding_pairs(expected["warnings"])
