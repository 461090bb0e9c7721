"""Every recorded case holds: the same requests, files, output and exit codes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.operators.sync.cases import GOLDEN, Case, Rest, rest_server

_CASES = sorted(path.stem for path in (GOLDEN / "cases").glob("*.json"))


@pytest.fixture(scope="module")
def rest() -> Iterator[Rest]:
    with rest_server() as server:
        yield server


@pytest.mark.parametrize("name", _CASES)
def test_a_recorded_case_holds(name: str, rest: Rest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    case = json.loads((GOLDEN / "cases" / f"{name}.json").read_text())
    assert Case(case, tmp_path, rest).run() == []
