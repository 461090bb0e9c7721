"""What validation reports: findings with a code, a path and a message. Pure.

Codes and paths are part of the interface, because scripts compare them; messages are for people.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec


class Finding(msgspec.Struct, frozen=True):
    code: str
    path: str
    message: str


class Findings(msgspec.Struct):
    """Errors and warnings in the order in which the rules found them."""

    errors: list[Finding] = msgspec.field(default_factory=list)
    warnings: list[Finding] = msgspec.field(default_factory=list)

    @property
    def is_valid(self) -> bool:
        return not self.errors

    def error(self, code: str, path: str, message: str) -> None:
        self.errors.append(Finding(code, path, message))

    def warn(self, code: str, path: str, message: str) -> None:
        self.warnings.append(Finding(code, path, message))

    def extend(self, others: Iterable[Findings]) -> None:
        for other in others:
            self.errors += other.errors
            self.warnings += other.warnings


def failed(code: str, problem: str) -> Findings:
    """The findings of a contract that could not be validated at all."""
    return Findings(errors=[Finding(code, "", problem)])
