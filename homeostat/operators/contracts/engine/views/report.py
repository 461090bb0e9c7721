"""Reports of contract checks, for the output formats that all checks share. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from homeostat.objects.report.report import Entry, Report, Severity, Summary, Terms
from homeostat.operators.contracts.engine.checks.evaluate import Evaluation
from homeostat.operators.contracts.engine.checks.resources import Target
from homeostat.operators.contracts.engine.checks.verdict import CONTRACT_VALID, OF_SERVICE, Verdict
from homeostat.operators.contracts.engine.document.reader import Document
from homeostat.operators.contracts.engine.finding import Finding
from homeostat.operators.contracts.engine.views.field import field_of

TERMS: Final = Terms(
    topic="contract", origin="contract", part="field", finding="finding", subject="object", has_scores=False
)
_SEVERITIES: Final[dict[str, Severity]] = {"error": "high", "warning": "medium"}

Lines = Mapping[tuple[str, str], tuple[str, int]]
"""File and line of an object by kind and name; empty for objects of a cluster."""


class ContractFile(msgspec.Struct, frozen=True):
    """The file of a contract; `document` is None if it cannot be parsed, and `line` is where the problem is then."""

    source: str
    document: Document | None = None
    line: int = 1

    def line_at(self, path: str) -> int:
        return self.line if self.document is None else self.document.line_at(path)


def check_report(
    evaluation: Evaluation,
    target: Target,
    *,
    namespace: str,
    lines: Lines | None = None,
    file: ContractFile | None = None,
) -> Report:
    """Report the failed checks of a contract against a target. A missing object has the line of the contract that
    names it.
    """
    contract = evaluation.contract
    name = "contract" if contract is None else f"{contract.service.name}@{contract.service.version}"
    entries: list[Entry] = []
    for each in evaluation.verdicts:
        if each.check == CONTRACT_VALID and each.is_failed:
            entries += _invalid_entries(evaluation, name, file)
        elif each.is_failed:
            entries.append(_check_entry(each, name, target, namespace, lines or {}, evaluation, file))
    summary = Summary(title=name, classification=evaluation.status, subjects=1, findings=len(entries))
    return Report(terms=TERMS, entries=tuple(entries), summaries=(summary,))


def _check_entry(
    verdict: Verdict,
    contract: str,
    target: Target,
    namespace: str,
    lines: Lines,
    evaluation: Evaluation,
    file: ContractFile | None,
) -> Entry:
    kind, name = ("Service", target.service) if verdict.check in OF_SERVICE else (target.kind, target.workload)
    otherwise = ("", 1) if file is None else (file.source, file.line_at("service.name"))
    source, line = lines.get((kind, name), otherwise)
    return Entry(
        origin=contract,
        kind=kind,
        namespace=namespace,
        name=name,
        type=verdict.check,
        severity=_SEVERITIES[verdict.severity],
        message=verdict.message,
        part=field_of(verdict, kind, evaluation.contract),
        source=source,
        line=line,
    )


def _invalid_entries(evaluation: Evaluation, name: str, file: ContractFile | None) -> Iterator[Entry]:
    for each in evaluation.fields["validation"]["errors"]:
        finding = Finding(each.get("code") or CONTRACT_VALID, each.get("path", ""), each["message"])
        yield _finding_entry(finding, "error", name, file or ContractFile(""))


def _finding_entry(finding: Finding, severity: str, name: str, file: ContractFile) -> Entry:
    return Entry(
        origin=name,
        kind="Contract",
        namespace="",
        name=name,
        type=finding.code,
        severity=_SEVERITIES[severity],
        message=finding.message,
        part=finding.path,
        source=file.source,
        line=file.line_at(finding.path),
    )
