"""Prints findings as a table or JSON, and derives the exit code."""

from __future__ import annotations

from collections.abc import Sequence

import click

from homeostat.cli.console.failure import Failure, UnreachableFailure
from homeostat.cli.console.output import print_object
from homeostat.cli.console.table import Table
from homeostat.objects.json import JsonObject
from homeostat.runtime.checkup import Finding

CONNECTION = "connection"
_ORDER = {"FAIL": 0, "WARN": 1}


def print_findings(findings: Sequence[Finding], form: str) -> None:
    if form == "table":
        headings = ("CHECK", "RESULT", "DETAIL", "WHAT TO DO")
        # The first rows of a long table must be those that need something done.
        worst = sorted(findings, key=lambda each: _ORDER.get(each.result, len(_ORDER)))
        Table(headings).print([(each.check, each.result, each.detail, each.remedy) for each in worst])
    else:
        print_object(findings_document(findings), form)


def findings_document(findings: Sequence[Finding]) -> JsonObject:
    shown = [
        {"check": each.check, "result": each.result, "detail": each.detail, "remedy": each.remedy} for each in findings
    ]
    return {"result": _worst(findings), "findings": shown}


def _worst(findings: Sequence[Finding]) -> str:
    results = {each.result for each in findings}
    return next((each for each in ("FAIL", "WARN") if each in results), "OK")


def exit_by(findings: Sequence[Finding]) -> None:
    """Ends the command: 3 if the server did not answer, 1 if another check failed."""
    failed = [each.check for each in findings if each.result == "FAIL"]
    if CONNECTION in failed:
        raise click.exceptions.Exit(UnreachableFailure.exit_code)
    if failed:
        raise click.exceptions.Exit(Failure.exit_code)
