"""The layers of validation, policies, overrides and schemas beyond the recorded cases."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeostat.operators.contracts.engine.bundle.bundle import Bundle, Unresolved
from homeostat.operators.contracts.engine.document.contract import VERSIONS
from homeostat.operators.contracts.engine.document.overrides import guess
from homeostat.operators.contracts.engine.document.parse import ParseError, parse_contract
from homeostat.operators.contracts.engine.policy import MAX_POLICIES
from homeostat.operators.contracts.engine.reference import (
    InvalidReferenceError,
    last_segment,
    location,
    masked,
    parse_oci,
    registry_reference,
)
from homeostat.operators.contracts.engine.schema.contract_schema import contract_schema
from homeostat.operators.contracts.engine.schema.json_schema import InvalidSchemaError, JsonSchema, compile_schema
from homeostat.operators.contracts.engine.validate import Overrides, load, load_contract, validate, validate_files

_HEAD = 'pactoVersion: "1.2"\nservice: {name: a, version: 1.0.0}\n'


def _files(text: str = "", **files: Any) -> dict[str, bytes]:
    content = {"pacto.yaml": (_HEAD + text).encode()}
    return content | {f"{name}.json": json.dumps(value).encode() for name, value in files.items()}


_RUNTIME = """
interfaces:
  - {name: rpc, type: grpc, port: 90, contract: a.json}
  - {name: paid, type: event, contract: a.json}
  - {name: web, type: http, port: 80}
runtime:
  workload: service
  state: {type: stateless, persistence: {scope: local, durability: ephemeral}, dataCriticality: low}
"""
_READY = "readiness: {expires: 2099-01-01, checks: [{id: a, type: url, status: done, evidence: x, weight: 10}]}"
_SHA = "b" * 64
_FOUND: dict[str, tuple[str, str]] = {
    "a number as port in hexadecimal": ("interfaces: [{name: a, type: http, port: 0x1F90}]", ""),
    "a fraction as port": ("interfaces: [{name: a, type: http, port: 80.5}]", "SCHEMA_VIOLATION interfaces.0.port"),
    "a text as port": ('interfaces: [{name: a, type: http, port: "80"}]', "PARSE_ERROR"),
    "no type": ("interfaces: [{name: a, port: 1}]", "SCHEMA_VIOLATION interfaces.0"),
    "no interfaces": ("interfaces: []", ""),
    "no policies": ("policies: []", "SCHEMA_VIOLATION policies"),
    "two sources of a policy": ("policies: [{name: a, schema: a.json, ref: x}]", "SCHEMA_VIOLATION policies.0"),
    "health of an event": (
        f"{_RUNTIME}  health: {{interface: paid}}",
        "HEALTH_INTERFACE_INVALID runtime.health.interface",
    ),
    "metrics of an event": (
        f"{_RUNTIME}  metrics: {{interface: paid, path: /m}}",
        "METRICS_INTERFACE_INVALID runtime.metrics.interface",
    ),
    "metrics of nothing": (
        f"{_RUNTIME}  metrics: {{interface: no, path: /m}}",
        "METRICS_INTERFACE_NOT_FOUND runtime.metrics.interface",
    ),
    "a path for grpc": (f"{_RUNTIME}  health: {{interface: rpc, path: /h}}", "HEALTH_PATH_IGNORED runtime.health.path"),
    "metrics with a path for grpc": (
        f"{_RUNTIME}  metrics: {{interface: rpc, path: /h}}",
        "METRICS_PATH_IGNORED runtime.metrics.path",
    ),
    "health without interface": (f"{_RUNTIME}  health: {{path: /h}}", "SCHEMA_VIOLATION runtime.health"),
    "an empty lifecycle": (f"{_RUNTIME}  lifecycle: {{}}", ""),
    "less than no time": (
        f"{_RUNTIME}  lifecycle: {{gracefulShutdownSeconds: -5}}",
        "SCHEMA_VIOLATION runtime.lifecycle.gracefulShutdownSeconds",
    ),
    "a policy at no place": ('policies: [{name: a, ref: "oci://x"}]', "INVALID_POLICY_REF policies[0].ref"),
    "a dependency at no place": (
        'dependencies: [{name: d, ref: "oci://d", compatibility: "1"}]',
        "INVALID_OCI_REF dependencies[0].ref",
    ),
    "a dependency with tag and digest": (
        f'dependencies: [{{name: d, ref: "oci://a.io/b:1@sha256:{_SHA}", compatibility: "1"}}]',
        "",
    ),
    "a number as constraint": (
        "dependencies: [{name: d, ref: ../d, compatibility: 1}]",
        "SCHEMA_VIOLATION dependencies.0.compatibility",
    ),
    "scaling from more to less": ("scaling: {min: 5, max: 2}", "SCALING_MIN_EXCEEDS_MAX scaling"),
    "scaling to nothing": ("scaling: {min: 0, max: 0}", ""),
    "half of a range": ("scaling: {min: 5}", "SCHEMA_VIOLATION scaling"),
    "a path with a dot": ("configurations: [{name: a, schema: ./a.json}]", "FILE_NOT_FOUND configurations[0].schema"),
    "a path outside": ("configurations: [{name: a, schema: ../a.json}]", "FILE_NOT_FOUND configurations[0].schema"),
    "a schema of no type": (
        "configurations: [{name: a, schema: b.json}]",
        "INVALID_CONFIG_SCHEMA configurations[0].schema",
    ),
    "values that are a list": ("configurations: [{name: a, schema: a.json, values: [1]}]", "PARSE_ERROR"),
    "no values": ("configurations: [{name: a, schema: c.json, values: {}}]", ""),
    "a date that is not quoted": (_READY, ""),
    "a short date": (_READY.replace("2099-01-01", "2099-1-1"), "INVALID_READINESS_EXPIRES readiness.expires"),
    "a time as date": (
        _READY.replace("2099-01-01", "2099-01-01T00:00:00Z"),
        "INVALID_READINESS_EXPIRES readiness.expires",
    ),
    "no checks": ("readiness: {expires: 2099-01-01, checks: []}", "SCHEMA_VIOLATION readiness.checks"),
    "a weight beyond the limit": (_READY.replace("10", "101"), "SCHEMA_VIOLATION readiness.checks.0.weight"),
    "merged keys": ("metadata: {a: &a {b: 1}, c: {<<: *a, b: 2}}", ""),
}


@pytest.mark.parametrize("case", _FOUND)
def test_a_mistake_has_one_code_and_its_path(case: str) -> None:
    text, expected = _FOUND[case]
    findings = validate_files(_files(text, a={}, b={"type": "strnig"}, c={"required": ["x"]})).findings
    found = {f"{each.code} {each.path}".strip() for each in (*findings.errors, *findings.warnings)}
    assert found == ({expected} if expected else set())


def _codes(files: dict[str, bytes], **options: Any) -> list[str]:
    found = validate_files(files, **options).findings
    return [each.code for each in found.errors + found.warnings]


@pytest.mark.parametrize(
    ("text", "code", "path"),
    [
        ("scaling: {min: 3, max: 1}", "SCALING_MIN_EXCEEDS_MAX", "scaling"),
        ("scaling: {}", "SCHEMA_VIOLATION", "scaling"),
        ("policies: []", "SCHEMA_VIOLATION", "policies"),
        ("policies: [{name: p, schema: a, ref: b}]", "SCHEMA_VIOLATION", "policies.0"),
        ("interfaces: [null]", "SCHEMA_VIOLATION", "interfaces.0"),
        ("metadata:", "SCHEMA_VIOLATION", "metadata"),
        ("interfaces: [{name: 3, type: http, port: 1}]", "SCHEMA_VIOLATION", "interfaces.0.name"),
        ("interfaces: [{name: w, type: http, port: 80.5}]", "SCHEMA_VIOLATION", "interfaces.0.port"),
        ('dependencies: [{name: d, ref: "oci://r", compatibility: "1"}]', "INVALID_OCI_REF", "dependencies[0].ref"),
    ],
)
def test_a_defect_is_reported_at_its_place(text: str, code: str, path: str) -> None:
    found = validate_files(_files(text)).findings.errors
    assert [(each.code, each.path) for each in found][:1] == [(code, path)]
    assert {each.path for each in found} == {path}


def test_a_number_as_version_of_the_format_is_unsupported() -> None:
    found = validate_files({"pacto.yaml": b"pactoVersion: 1.0\nservice: {name: a, version: 1.0.0}\n"}).findings
    assert [(each.code, each.path) for each in found.errors] == [("UNSUPPORTED_PACTO_VERSION", "pactoVersion")]
    assert "quotes" in found.errors[0].message


@pytest.mark.parametrize("version", VERSIONS)
def test_the_schemas_are_schemas(version: str) -> None:
    JsonSchema(contract_schema(version))


def test_a_text_owner_is_valid_up_to_1_1() -> None:
    text = 'pactoVersion: "{}"\nservice: {{name: a, version: 1.0.0, owner: core}}\n'
    verdicts = [validate_files({"pacto.yaml": text.format(each).encode()}).findings.is_valid for each in VERSIONS]
    assert verdicts == [True, True, False]


def test_references_of_policies_are_fetched_until_none_is_missing() -> None:
    files = _files('policies: [{name: p, ref: "oci://r/a"}, {name: q, ref: "oci://r/b"}]')
    first = validate_files(files, fetched={})
    assert first.missing == ("oci://r/a", "oci://r/b")
    rules = Bundle(load(_files()).contract, {"policy/schema.json": b'{"required": ["runtime"]}'})
    found = validate_files(files, fetched={"oci://r/a": rules, "oci://r/b": Unresolved("no answer")})
    assert found.missing == ()
    assert [each.code for each in found.findings.errors] == ["POLICY_VIOLATION", "POLICY_REF_UNRESOLVED"]


def test_the_gate_is_checked_beside_other_errors() -> None:
    checks = "checks: [{id: a, type: other, status: not-done, evidence: x, weight: 1}]"
    text = (
        f'pactoVersion: "1.2"\nservice: {{name: A, version: 1.0.0}}\nreadiness: {{expires: "2027-01-01", {checks}}}\n'
    )
    findings = validate_files({"pacto.yaml": text.encode()}, gate_on=date(2026, 11, 17)).findings
    assert [each.code for each in findings.errors] == ["SCHEMA_VIOLATION", "READINESS_GATE_UNMET"]


def test_one_policy_over_two_ways_is_no_cycle() -> None:
    def names(*refs: str) -> Bundle:
        policies = ", ".join(f'{{name: p{place}, ref: "{ref}"}}' for place, ref in enumerate(refs))
        return Bundle(load(_files(f"policies: [{policies}]")).contract, {})

    leaf = Bundle(load(_files()).contract, {"policy/schema.json": b"{}"})
    fetched = {"oci://r/a": names("oci://r/c"), "oci://r/b": names("oci://r/c"), "oci://r/c": leaf}
    files = _files('policies: [{name: p, ref: "oci://r/a"}, {name: q, ref: "oci://r/b"}]')
    assert _codes(files, fetched=fetched) == []


def test_policies_that_multiply_are_stopped() -> None:
    fetched: dict[str, Bundle | Unresolved] = {}
    for level in range(12):
        pair = ", ".join(f'{{name: p{side}, ref: "oci://r/{level + 1}-{side}"}}' for side in "ab")
        for side in "ab":
            fetched[f"oci://r/{level}-{side}"] = Bundle(load(_files(f"policies: [{pair}]")).contract, {})
    leaf = Bundle(load(_files()).contract, {"policy/schema.json": b"{}"})
    fetched |= {"oci://r/12-a": leaf, "oci://r/12-b": leaf}
    codes = _codes(_files('policies: [{name: p, ref: "oci://r/0-a"}]'), fetched=fetched)
    assert "POLICY_ENFORCEMENT_ERROR" in codes
    assert len(codes) < MAX_POLICIES


def test_without_a_resolver_a_reference_is_a_warning() -> None:
    assert _codes(_files('policies: [{name: p, ref: "oci://r/a"}]')) == ["POLICY_REF_NOT_ENFORCED"]


def test_a_contract_without_a_bundle_has_no_missing_files() -> None:
    parsed = parse_contract(_files("interfaces: [{name: w, type: http, port: 1, contract: none.yaml}]")["pacto.yaml"])
    assert validate(parsed, None).findings.is_valid
    assert not validate(parsed, {}).findings.is_valid


@pytest.mark.parametrize("path", ["./c.json", "../c.json", "/c.json", "sub//c.json"])
def test_a_path_that_is_no_path_of_a_bundle_is_not_found(path: str) -> None:
    assert _codes(_files(f"configurations: [{{name: c, schema: {path}}}]", c={})) == ["FILE_NOT_FOUND"]


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "http://127.0.0.1:1/x"},
        {"$ref": "file:///etc/passwd"},
        {"$ref": "other.json"},
        {"pattern": "(?=a)b"},
        {"type": "nonsense"},
        [],
    ],
)
def test_a_schema_that_reads_elsewhere_or_is_none_is_refused(schema: Any) -> None:
    with pytest.raises(InvalidSchemaError):
        compile_schema(json.dumps(schema).encode())


def test_a_pattern_takes_linear_time() -> None:
    schema = compile_schema(b'{"pattern": "^(a+)+$"}')
    assert len(schema.violations("a" * 5000 + "b")) == 1


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("-2", -2),
        ("1.0", 1.0),
        ("1e3", 1000.0),
        ("1e999", "1e999"),
        ("1.0.0", "1.0.0"),
        ("true", True),
        ("yes", "yes"),
        ("", ""),
        ("5.", 5.0),
        (".5", 0.5),
        ("9" * 5000, "9" * 5000),
    ],
    ids=lambda value: str(value)[:9],
)
def test_a_setting_is_guessed(text: str, value: Any) -> None:
    assert guess(text) == value
    assert type(guess(text)) is type(value)


def _overridden(*settings: str, values: bytes = b"") -> Any:
    text = _HEAD + "metadata: {a: {b: 1}, list: [1, 2], day: 2026-01-02}\n"
    files = (("v.yaml", values),) if values else ()
    return load_contract(text.encode(), Overrides(files, settings)).raw["metadata"]


def test_settings_win_over_files_and_make_maps() -> None:
    assert _overridden("metadata.a.b=3", "metadata.new.deep=x", values=b"metadata: {a: {b: 2, c: 1}, list: [9]}") == {
        "a": {"b": 3, "c": 1},
        "list": [9],
        "day": "2026-01-02",
        "new": {"deep": "x"},
    }


@pytest.mark.parametrize(
    "setting", ["metadata.list[7]=1", "metadata.a.b.c=1", "nothing", "=1", "a..b=1", "metadata[0]=1"]
)
def test_a_setting_that_cannot_be_applied_is_an_error(setting: str) -> None:
    with pytest.raises(ParseError):
        _overridden(setting)


@pytest.mark.parametrize("values", [b"- 1", b"a: [", b"metadata: {a: 1, a: 2}"])
def test_a_values_file_that_is_none_is_an_error(values: bytes) -> None:
    with pytest.raises(ParseError, match=r"v\.yaml"):
        _overridden(values=values)


@pytest.mark.parametrize(
    "text", ["", "nginx", "/x", "r/", "r/x:bad tag", "r/x@sha256:12", f"r/x@sha256:{'A' * 64}", "r/x:" + "a" * 129]
)
def test_what_is_no_reference_is_refused(text: str) -> None:
    with pytest.raises(InvalidReferenceError):
        parse_oci(text)


@pytest.mark.parametrize(
    "text", [":" * 5000, "a:" * 3000 + "@", "-" * 50_000 + "/"], ids=["colons", "words", "one word"]
)
def test_a_long_text_that_is_no_reference_is_refused_at_once(text: str) -> None:
    began = time.thread_time()
    with pytest.raises(InvalidReferenceError):
        parse_oci(text)
    assert time.thread_time() - began < 0.5
    assert masked("r.test/x user:pw@r.test/a:1@sha256:0") == "r.test/x ***@r.test/a:1@sha256:0"


def test_a_reference_of_an_object_may_be_escaped() -> None:
    assert registry_reference("oci://r.test%3A5000/a/b") == "r.test:5000/a/b"
    assert registry_reference("r.test/a/b:1") == "r.test/a/b:1"


def test_the_last_segment_is_the_name() -> None:
    assert last_segment("oci://registry:5000/a/weir:1.0.0") == "weir"
    assert last_segment("../weir") == "weir"


_MARKS = "ab1:-[]{}&*!<>|'\"#%@ \n\t.,?=é\ufffe"
_scalars = (
    st.none() | st.booleans() | st.integers(-5, 70000) | st.sampled_from([0.5, 8080.0]) | st.text(_MARKS, max_size=8)
)
_parts = st.recursive(
    _scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", max_size=3), inner, max_size=3),
    max_leaves=8,
)
_names = st.sampled_from(list(contract_schema("1.2")["properties"]))


@given(st.dictionaries(_names, _parts, max_size=6), st.sampled_from(VERSIONS))
def test_any_document_is_valid_or_has_findings(document: dict[str, Any], version: str) -> None:
    document = {"service": {"name": "a", "version": "1.0.0"}, **document, "pactoVersion": version}
    found = validate_files({"pacto.yaml": json.dumps(document).encode()}, fetched={}, gate_on=date(2026, 11, 17))
    assert found.findings.is_valid or all(each.code and each.message for each in found.findings.errors)


@given(st.text(_MARKS, max_size=200))
def test_any_text_is_a_contract_or_refused(text: str) -> None:
    with suppress(ParseError):
        parse_contract(text.encode(errors="surrogatepass"))


@given(st.binary(max_size=200))
def test_any_bytes_are_a_contract_or_refused(data: bytes) -> None:
    with suppress(ParseError):
        parse_contract(data)


def test_a_value_that_is_not_allowed_is_reported_with_all_that_are() -> None:
    schema = compile_schema(b'{"enum": ["done", "partial", "not-done", "deferred"]}')
    (found,) = schema.violations("missing")
    assert found.message == '"missing" is not one of "done", "partial", "not-done", "deferred"'


@pytest.mark.parametrize("ref", ["jo:pw-77@registry.test/a/b", "jo:pw-77@registry.test", "oci://jo:pw-77@b:1"])
def test_a_password_in_a_reference_is_refused_and_not_repeated(ref: str) -> None:
    with pytest.raises(InvalidReferenceError) as caught:
        parse_oci(location(ref))
    assert "pw-77" not in str(caught.value)
    assert masked("registry.test:5000/a/b:1@sha256:0") == "registry.test:5000/a/b:1@sha256:0"
