"""Runs the layers of validation in order; a layer with errors is the last one. Pure.

The layers are loading, structure, rules between fields, semantics, policies and, on request, the readiness gate. The
caller fetches the bundles that policies refer to (see `policy`).
"""

from __future__ import annotations

from datetime import date

import msgspec

from homeostat.operators.contracts.engine.document.overrides import OverrideError, apply_overrides
from homeostat.operators.contracts.engine.document.parse import (
    Parsed,
    ParseError,
    parse_contract,
    parse_document,
    read_contract,
)
from homeostat.operators.contracts.engine.document.reader import Document
from homeostat.operators.contracts.engine.files import CONTRACT_FILE, Files
from homeostat.operators.contracts.engine.finding import Findings, failed
from homeostat.operators.contracts.engine.policy import Fetched, enforce, enforce_local
from homeostat.operators.contracts.engine.readiness import assess, describe_gate
from homeostat.operators.contracts.engine.rules.bundled import (
    check_configuration_files,
    check_interface_files,
    check_policy_files,
)
from homeostat.operators.contracts.engine.rules.endpoints import check_endpoints, check_ports
from homeostat.operators.contracts.engine.rules.names import (
    check_dependencies,
    check_names,
    check_references,
    check_service,
)
from homeostat.operators.contracts.engine.rules.operation import check_readiness, check_scaling, check_upgrade
from homeostat.operators.contracts.engine.schema.contract_schema import check_structure


class Overrides(msgspec.Struct, frozen=True):
    """Changes of a command line, applied before validation."""

    values: tuple[tuple[str, bytes], ...] = ()
    """Values files: name and content."""
    settings: tuple[str, ...] = ()
    """Such as `interfaces[0].port=8080`."""

    def __bool__(self) -> bool:
        return bool(self.values or self.settings)


class Validation(msgspec.Struct, frozen=True):
    findings: Findings
    missing: tuple[str, ...] = ()
    """Policy references to fetch; the findings are incomplete until there are none."""


def load(files: Files, overrides: Overrides | None = None) -> Parsed:
    """Load the contract of a bundle and apply overrides; raises `ParseError`, also if overrides make it invalid."""
    if CONTRACT_FILE not in files:
        raise ParseError(f"the bundle has no {CONTRACT_FILE}")
    return load_contract(files[CONTRACT_FILE], overrides)


def load_contract(data: bytes, overrides: Overrides | None = None) -> Parsed:
    if not overrides:
        return parse_contract(data)
    document = read_contract(data)
    changed = Document()
    try:
        changed.value = apply_overrides(document.as_written(), overrides.values, overrides.settings)
    except OverrideError as error:
        raise ParseError(str(error)) from error
    broken = check_structure(changed.value)
    if broken.errors:
        problems = "; ".join(f"{each.path}: {each.message}" if each.path else each.message for each in broken.errors)
        raise ParseError(f"the overrides make the contract invalid: {problems}")
    return parse_document(changed)


def validate_files(
    files: Files,
    *,
    overrides: Overrides | None = None,
    fetched: Fetched | None = None,
    gate_on: date | None = None,
) -> Validation:
    """Validate a bundle; a bundle that cannot be loaded has one PARSE_ERROR."""
    try:
        parsed = load(files, overrides)
    except ParseError as error:
        return Validation(failed("PARSE_ERROR", str(error)))
    return validate(parsed, files, fetched=fetched, gate_on=gate_on)


def validate(
    parsed: Parsed, files: Files | None, *, fetched: Fetched | None = None, gate_on: date | None = None
) -> Validation:
    """Validate a contract. If `fetched` is None, policy references are only warned about; `gate_on` checks the
    readiness gate on that day.
    """
    findings = check_contract(parsed, files)
    missing: tuple[str, ...] = ()
    if findings.is_valid:
        policies, missing = _policies(parsed, files, fetched)
        findings.extend([policies])
    if gate_on is not None:
        _check_gate(parsed, gate_on, findings)
    return Validation(findings, missing)


def _policies(parsed: Parsed, files: Files | None, fetched: Fetched | None) -> tuple[Findings, tuple[str, ...]]:
    if fetched is None:
        return enforce_local(parsed.contract, parsed.raw, files), ()
    enforcement = enforce(parsed.contract, parsed.raw, files, fetched)
    return enforcement.findings, enforcement.missing


def _check_gate(parsed: Parsed, day: date, findings: Findings) -> None:
    """Also if the contract is invalid: the result then reports both."""
    assessment = assess(parsed.contract, day)
    if assessment is not None and not assessment.is_passing:
        findings.error("READINESS_GATE_UNMET", "readiness", describe_gate(assessment))


def check_contract(parsed: Parsed, files: Files | None) -> Findings:
    """Check structure, rules and semantics, which need no other bundle."""
    findings = check_structure(parsed.raw)
    if not findings.is_valid:
        return findings
    _check_rules(parsed, files, findings)
    if findings.is_valid:
        check_upgrade(parsed.contract, findings)
    return findings


def _check_rules(parsed: Parsed, files: Files | None, findings: Findings) -> None:
    contract = parsed.contract
    for check in (
        check_service,
        check_names,
        check_ports,
        check_endpoints,
        check_references,
        check_dependencies,
        check_scaling,
        check_readiness,
    ):
        check(contract, findings)
    if files is not None:
        check_interface_files(contract, files, findings)
        check_configuration_files(contract, files, findings)
        check_policy_files(contract, files, findings)
