"""Prints results and failures as the original does: results on stdout, problems on stderr without a prefix, exit 1.

Scripts look for codes such as `LOCK_STALE:` at the beginning of a line, so failures have no `error:` in front here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import IO, Any

import click
import msgspec

from homeostat.cli.console.failure import Failure, one_line
from homeostat.cli.contract.session.settings import Settings
from homeostat.operators.contracts.engine.bundle.artifact import PublishError
from homeostat.operators.contracts.engine.document.parse import ParseError
from homeostat.operators.contracts.engine.finding import Finding, Findings
from homeostat.operators.contracts.engine.lock.lock import LockError
from homeostat.operators.contracts.sources.errors import SourceError


class ContractFailure(Failure):
    def show(self, file: IO[Any] | None = None) -> None:
        print_problem(self.message)


@contextmanager
def failures() -> Iterator[None]:
    """What goes wrong with a bundle, a registry or a file is one message."""
    try:
        yield
    except (SourceError, ParseError, LockError, PublishError) as error:
        raise ContractFailure(str(error)) from error
    except OSError as error:
        name = f' "{error.filename}"' if error.filename else ""
        raise ContractFailure(f"cannot read or write{name}: {error.strerror or error}") from error


def print_problem(text: str) -> None:
    """The lines of a text on stderr, safe for a terminal."""
    for line in text.splitlines():
        click.echo(one_line(line), err=True)


def print_result(settings: Settings, value: Callable[[], Any], text: Callable[[], str]) -> None:
    """Print one of the two; a struct and plain data are both JSON."""
    if settings.output == "json":
        data = msgspec.json.format(msgspec.json.encode(value()), indent=2) + b"\n"
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    else:
        click.echo(safe_text(text()))


def safe_text(text: str) -> str:
    """Text of a contract without control characters, and without the last line break."""
    return "\n".join(
        "".join(mark if mark.isprintable() else " " for mark in line) for line in text.rstrip("\n").split("\n")
    )


def print_findings(findings: Findings) -> None:
    for line in finding_lines(findings):
        click.echo(line, err=True)


def finding_lines(findings: Findings) -> Iterable[str]:
    for label, found in (("ERROR", findings.errors), ("WARN ", findings.warnings)):
        for each in found:
            yield f"  {label} [{each.code}] {one_line(each.path)}: {one_line(each.message)}"


def finding_fields(findings: Iterable[Finding]) -> list[dict[str, str]] | None:
    """None and not an empty list, as the original writes it."""
    return [{"Path": each.path, "Code": each.code, "Message": each.message} for each in findings] or None
