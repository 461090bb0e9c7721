"""`homeostat contract validate`: validates one bundle or many.

A bundle that needs no other is validated without an event loop and without what talks to registries: a shell starts
this command for each of its bundles.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import Any

import click
import msgspec

from homeostat.cli.contract.session.loaded import Loaded, load_local, lock_path
from homeostat.cli.contract.session.overrides import override_options, read_overrides
from homeostat.cli.contract.session.result import finding_fields, print_findings, print_problem, print_result
from homeostat.cli.contract.session.settings import BUNDLE, Settings, current_settings, verify_option
from homeostat.operators.contracts.engine.document.parse import ParseError
from homeostat.operators.contracts.engine.finding import Findings, failed
from homeostat.operators.contracts.engine.reference import is_oci
from homeostat.operators.contracts.engine.validate import Overrides, validate
from homeostat.operators.contracts.sources.errors import SourceError


class _Task(msgspec.Struct, frozen=True):
    """How to validate each of the bundles."""

    values: tuple[str, ...]
    settings: tuple[str, ...]
    gate_on: date | None

    def overrides(self) -> Overrides:
        return read_overrides(self.values, self.settings)


@click.command(short_help="Validate bundles.")
@click.argument("refs", metavar="[BUNDLE]...", nargs=-1, type=BUNDLE)
@click.option("--readiness", "is_gated", is_flag=True, help="Fail if the readiness score is below its minimum.")
@override_options()
@verify_option
def command(refs: tuple[str, ...], is_gated: bool, values: tuple[str, ...], settings: tuple[str, ...]) -> None:
    """Validate contracts: structure, rules between fields, files, policies and, if there is one, the lock.

    BUNDLE is a directory or a reference to a registry; the default is the current directory. The verdict is printed on
    standard output and findings on standard error. Exit code 1 means that a contract is invalid. With several bundles,
    JSON is a list.

    \b
    Examples:
      homeostat contract validate billing
      homeostat contract validate oci://registry.example.org/contracts/billing -o json
      homeostat contract validate services/*/
      homeostat contract validate oci://registry.example.org/contracts/billing --verify-key cosign.pub
      homeostat contract validate billing --readiness --set service.version=1.3.0
    """
    chosen = current_settings()
    task = _Task(values, settings, datetime.now(UTC).date() if is_gated else None)
    names = refs or (os.curdir,)
    results = _validate_all(chosen, names, task)
    fields = [_fields(name, results[name]) for name in names]
    print_result(
        chosen,
        lambda: fields if len(fields) > 1 else fields[0],
        lambda: "\n".join(f"{name} is {'valid' if results[name].is_valid else 'invalid'}" for name in names),
    )
    _report(chosen, names, results)


def _validate_all(chosen: Settings, names: Sequence[str], task: _Task) -> dict[str, Findings]:
    results = {name: None if is_oci(name) else _validate_alone(name, task) for name in names}
    done = {name: found for name, found in results.items() if found is not None}
    left = [name for name in results if name not in done]
    if left:
        from homeostat.cli.contract.session.references import validate_with_references

        done |= validate_with_references(chosen, left, task.overrides, task.gate_on)
    return done


def _validate_alone(name: str, task: _Task) -> Findings | None:
    """None if the bundle has a lock, or policies of other bundles: those have to be resolved."""
    try:
        loaded: Loaded = load_local(name, task.overrides())
        if loaded.root is not None and os.path.lexists(lock_path(loaded.root)):
            return None
        found = validate(loaded.parsed, loaded.files, fetched={}, gate_on=task.gate_on)
    except (SourceError, ParseError) as error:
        return failed("PARSE_ERROR", str(error))
    return None if found.missing else found.findings


def _fields(name: str, findings: Findings) -> dict[str, Any]:
    return {
        "Path": name,
        "Valid": findings.is_valid,
        "Errors": finding_fields(findings.errors),
        "Warnings": finding_fields(findings.warnings),
    }


def _report(chosen: Settings, names: Sequence[str], results: dict[str, Findings]) -> None:
    for name in names:
        if chosen.output != "json":
            if len(names) > 1 and (results[name].errors or results[name].warnings):
                print_problem(f"{name}:")
            print_findings(results[name])
    count = sum(len(results[name].errors) for name in names)
    if count:
        invalid = sum(not results[name].is_valid for name in names)
        where = f" in {invalid} of {len(names)} bundles" if len(names) > 1 else ""
        print_problem(f"validation failed with {count} error(s){where}")
        raise click.exceptions.Exit(1)
