"""Reports of contract checks, for the output formats that all checks share. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from homeostat.objects.report.report import Entry, Report, Severity, Summary, Terms
from homeostat.operators.contracts.engine.checks.evaluate import Evaluation
from homeostat.operators.contracts.engine.checks.resources import Target
from homeostat.operators.contracts.engine.checks.verdict import CONTRACT_VALID, Verdict
from homeostat.operators.contracts.engine.document.reader import Document
from homeostat.operators.contracts.engine.finding import Finding, Findings

TERMS: Final = Terms(
    topic="contract", origin="contract", part="field", finding="finding", subject="object", has_scores=False
)
_OF_SERVICE: Final = ("ServiceExists", "PortsValid", "HealthEndpointValid", "MetricsEndpointValid")
_SEVERITIES: Final[dict[str, Severity]] = {"error": "high", "warning": "medium"}

Lines = Mapping[tuple[str, str], tuple[str, int]]
"""File and line of an object by kind and name; empty for objects of a cluster."""


def check_report(evaluation: Evaluation, target: Target, *, namespace: str, lines: Lines | None = None) -> Report:
    """Report the failed checks of a contract against a target."""
    contract = evaluation.contract
    name = "contract" if contract is None else f"{contract.service.name}@{contract.service.version}"
    entries = [
        _check_entry(each, name, target, namespace, lines or {}) for each in evaluation.verdicts if each.is_failed
    ]
    summary = Summary(title=name, classification=evaluation.status, subjects=1, findings=len(entries))
    return Report(terms=TERMS, entries=tuple(entries), summaries=(summary,))


def validation_report(name: str, findings: Findings, document: Document | None, *, source: str) -> Report:
    """Report the findings of validation with their lines in the contract's file."""
    entries = [
        _finding_entry(each, severity, name, document, source)
        for severity, found in (("error", findings.errors), ("warning", findings.warnings))
        for each in found
    ]
    status = "valid" if findings.is_valid else "invalid"
    summary = Summary(title=name, classification=status, subjects=1, findings=len(entries))
    return Report(terms=TERMS, entries=tuple(entries), summaries=(summary,))


def _check_entry(verdict: Verdict, contract: str, target: Target, namespace: str, lines: Lines) -> Entry:
    kind, name = ("Service", target.service) if verdict.check in _OF_SERVICE else (target.kind, target.workload)
    if verdict.check == CONTRACT_VALID:
        kind, name = "Contract", contract
    source, line = lines.get((kind, name), ("", 1))
    return Entry(
        origin=contract,
        kind=kind,
        namespace=namespace,
        name=name,
        type=verdict.check,
        severity=_SEVERITIES[verdict.severity],
        message=verdict.message,
        source=source,
        line=line,
    )


def _finding_entry(finding: Finding, severity: str, name: str, document: Document | None, source: str) -> Entry:
    return Entry(
        origin=name,
        kind="Contract",
        namespace="",
        name=name,
        type=finding.code,
        severity=_SEVERITIES[severity],
        message=finding.message,
        part=finding.path,
        source=source,
        line=1 if document is None else document.line_at(finding.path),
    )
