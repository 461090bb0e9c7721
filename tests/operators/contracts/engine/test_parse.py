"""The YAML dialect and the strictness of the parser."""

from __future__ import annotations

from typing import Any

import pytest

from homeostat.operators.contracts.engine.document.parse import ParseError, parse_contract
from homeostat.operators.contracts.engine.document.reader import YamlError, read_document, read_value

_HEAD = 'pactoVersion: "1.2"\nservice: {name: a, version: 1.0.0}\n'


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", "yes"),
        ("on", "on"),
        ("true", True),
        ("~", None),
        ("0x1F90", 8080),
        ("0755", 493),
        ("0o14", 12),
        ("0b11", 3),
        ("1_000", 1000),
        ("08", 8.0),
        ("8080.0", 8080.0),
        ("1e3", 1000.0),
        ("1.2.3", "1.2.3"),
        ("'12'", "12"),
        ("!!str 12", "12"),
        ("!!float 3", 3.0),
        ("!own 12", "12"),
        ("!!binary aGk=", "hi"),
        ("2026-02-01", "2026-02-01T00:00:00Z"),
        ("2026-2-1 10:11:12", "2026-02-01T10:11:12Z"),
        ("2026-02-01T10:11:12.50+02:00", "2026-02-01T10:11:12.5+02:00"),
        ("2026-02-30", "2026-02-30"),
        ("99999999999999999999", 1e20),
        (".inf", ".inf"),
        ("-.INF", "-.INF"),
    ],
)
def test_a_scalar_means(text: str, value: Any) -> None:
    found = read_value(f"a: {text}".encode())["a"]
    assert found == value
    assert type(found) is type(value)


def test_merge_keys_fill_in_what_a_map_lacks() -> None:
    value = read_value(b"base: &b {x: 1, y: 2}\nmore: &m {y: 3, z: 4}\nall: {<<: [*b, *m], x: 0}\n")
    assert value["all"] == {"x": 0, "y": 2, "z": 4}


def test_an_alias_that_refers_to_itself_is_refused() -> None:
    with pytest.raises(YamlError, match="unknown anchor"):
        read_document(b"a: &x [*x]")


def test_nested_aliases_cannot_make_a_small_file_large() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    with pytest.raises(YamlError, match="aliases expand"):
        read_document("\n".join(lines).encode())


def test_the_number_of_values_is_limited() -> None:
    with pytest.raises(YamlError, match="more than 300000 values"):
        read_document(b"[" + b"0," * 300_001 + b"0]")


def test_depth_is_limited() -> None:
    with pytest.raises(YamlError, match="levels deep"):
        read_document(b"[" * 500 + b"]" * 500)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (_HEAD + "colour: blue\n", "line 3: unknown field"),
        (_HEAD + "metadata: {a: 1, a: 2}\n", "already set on line 3"),
        (_HEAD + 'interfaces: [{name: w, type: http, port: "80"}]\n', "line 3: port: expected a number"),
        (_HEAD + "interfaces: {}\n", "line 3: interfaces: expected a list"),
        (_HEAD + "metadata: 3\n", "line 3: metadata: expected a map"),
        (_HEAD + "scaling: {replicas: true}\n", "expected a number, got a boolean"),
        (_HEAD + "scaling: {replicas: 99999999999999999999}\n", "expected a number of 64 bits"),
        (_HEAD + "dependencies: [{required: maybe}]\n", "expected true or false"),
        (_HEAD + "dependencies: [{required: [yes]}]\n", "expected true or false"),
        (_HEAD + "readiness: {checks: [{expires: 2026-01-01}]}\n", "unknown field .*one of .*evidence, id, status"),
        ('pactoVersion: "1.2"\nservice: {name: a, version: "1", owner: me}\n', "owner: expected a map"),
        ('pactoVersion: "1.2"\nservice: {version: 1.0.0}\n', "service.name: is required"),
        ("", "empty"),
        ("- a", "expected a map"),
        ("a: \xff", "unknown field"),
    ],
)
def test_what_is_no_contract_is_refused_with_its_line(text: str, problem: str) -> None:
    with pytest.raises(ParseError, match=problem):
        parse_contract(text.encode())


def test_bytes_that_are_not_text_are_refused() -> None:
    with pytest.raises(ParseError):
        parse_contract(b"pactoVersion: \xff\xfe")


def test_an_unquoted_date_keeps_its_text_in_the_model_and_is_a_time_to_schemas() -> None:
    parsed = parse_contract((_HEAD + "readiness: {expires: 2027-06-30, checks: []}\n").encode())
    assert parsed.contract.readiness is not None
    assert parsed.contract.readiness.expires == "2027-06-30"
    assert parsed.raw["readiness"]["expires"] == "2027-06-30T00:00:00Z"


def test_replicas_are_both_bounds() -> None:
    scaling = parse_contract((_HEAD + "scaling: {replicas: 3}\n").encode()).contract.scaling
    assert scaling is not None
    assert (scaling.replicas, scaling.min, scaling.max) == (3, 3, 3)


def test_an_owner_is_a_text_up_to_1_1() -> None:
    parsed = parse_contract(b'pactoVersion: "1.1"\nservice: {name: a, version: 1.0.0, owner: core}\n')
    assert parsed.contract.service.owner_display == "core"


def test_a_path_leads_to_its_line() -> None:
    document = parse_contract((_HEAD + "interfaces:\n  - name: w\n    type: http\n    port: 80\n").encode()).document
    assert document.line_at("interfaces[0].port") == 6
    assert document.line_at("interfaces.0.contract") == 4
    assert document.line_at("") == 1
