"""Operators by name: a file, a module, or one that is installed."""

from __future__ import annotations

from importlib import metadata
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from homeostat.operators import catalog
from homeostat.operators.catalog import (
    BrokenOperatorError,
    UnknownOperatorError,
    find_operator,
    known_operators,
    load_operator,
    operator_name,
)

OPERATOR = """
from __future__ import annotations
import msgspec

class Spec(msgspec.Struct):
    again: Spec | None = None

msgspec.json.schema(Spec)
KINDS = ()

def register(setup):
    pass
"""


def write(path: Path, text: str = OPERATOR) -> str:
    path.write_text(text)
    return str(path)


def test_a_file_is_an_operator_and_its_types_are_found_by_name(tmp_path: Path) -> None:
    module = load_operator(write(tmp_path / "greeter.py"))
    assert module.KINDS == ()
    assert module.register(None) is None  # type: ignore[arg-type,func-returns-value]


def test_a_file_does_not_hide_a_module_of_the_same_name(tmp_path: Path) -> None:
    import json

    load_operator(write(tmp_path / "json.py"))
    import json as again

    assert again is json


def test_a_module_is_named_with_its_package() -> None:
    assert load_operator("tests.runtime.plain_operator").KINDS != ()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("policy", "policy"),
        ("./greeter.py", "greeter"),
        ("/opt/My_Operator.v2.py", "my-operator-v2"),
        ("shop.operators.stock_keeper", "stock-keeper"),
        ("./Größe 7.py", "gr-e-7"),
        ("./_.py", "operator"),
    ],
)
def test_its_short_name_is_one_that_a_lease_may_have(name: str, expected: str) -> None:
    assert operator_name(name) == expected


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param("KINDS = ()", r"does not define register\(setup\)$", id="without register"),
        pytest.param("def register(setup): ...", r"does not define KINDS \(may be empty\)$", id="without kinds"),
        pytest.param("register, KINDS = 1, ()", r"does not define register\(setup\)$", id="register is no function"),
    ],
)
def test_what_is_no_operator_is_refused_with_the_reason(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(UnknownOperatorError, match=told):
        load_operator(write(tmp_path / "broken.py", text))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param("import no_such_module", r"broken.py:1: ModuleNotFoundError: No module named", id="import"),
        pytest.param("def register(", r"broken.py:1: SyntaxError", id="syntax"),
        pytest.param("\n\n1 / 0", r"broken.py:3: ZeroDivisionError: division by zero", id="an error"),
    ],
)
def test_a_broken_one_is_reported_with_its_place(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(BrokenOperatorError, match=told):
        load_operator(write(tmp_path / "broken.py", text))


def test_kinds_that_no_server_takes_are_reported_with_the_operator(tmp_path: Path) -> None:
    text = """
import msgspec
from homeostat.objects.crd.custom_kind import CustomKind
from homeostat.objects.kind import Kind

class Spec(msgspec.Struct):
    tier: bytes = b""

KINDS = (CustomKind(Kind("example.dev", "v1", "things", "Thing", is_namespaced=True), spec=Spec),)
def register(setup): ...
"""
    path = write(tmp_path / "things.py", text)
    with pytest.raises(BrokenOperatorError, match=r'"things" cannot list its kinds: .*TypeError: Spec.tier'):
        find_operator(path)


def test_a_file_that_failed_may_be_loaded_when_it_is_mended(tmp_path: Path) -> None:
    path = write(tmp_path / "mended.py", "raise ZeroDivisionError")
    with pytest.raises(BrokenOperatorError):
        load_operator(path)
    load_operator(write(tmp_path / "mended.py"))


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("gardening", 'unknown operator "gardening"'),
        ("./nowhere.py", 'no such file: "nowhere.py"'),
        ("no.such.module", "No module named 'no'"),
        ("json.decoder", r"is not an operator: it does not define register\(setup\) and KINDS"),
    ],
)
def test_a_missing_one_is_reported(name: str, told: str) -> None:
    with pytest.raises(UnknownOperatorError, match=told):
        load_operator(name)


def test_installed_packages_bring_operators(monkeypatch: pytest.MonkeyPatch) -> None:
    found = EntryPoint("stock", "tests.runtime.plain_operator", catalog.GROUP)

    monkeypatch.setattr(metadata, "entry_points", lambda *, group: [found] if group == catalog.GROUP else [])
    assert known_operators() == [*catalog.OURS, "stock"]
    assert load_operator("stock").KINDS != ()


@pytest.mark.parametrize("name", catalog.OURS)
def test_ours_can_be_loaded(name: str) -> None:
    load_operator(name)
