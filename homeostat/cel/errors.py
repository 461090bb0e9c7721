"""The errors of an expression: when it is compiled, when it is evaluated, or because it costs too much.

`EvaluationError` is a value of the language: `&&`, `||` and the macros built on them may absorb it. `CostLimitError`
is not: nothing inside an expression can catch it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_LONGEST_SHOWN = 512
ABSORBING_COST = 20
"""What it costs to go on after an error, which takes Python longer than a step."""


class CelError(Exception):
    """Any error of this package."""


@dataclass(frozen=True, slots=True)
class Issue:
    """One issue that the compiler found, with its offset in code points."""

    offset: int
    text: str
    undeclared: str = ""
    """The name that is not declared, if that is the issue."""


class CompileError(CelError):
    """The text is not an expression of its environment; in the words and the layout of Kubernetes."""

    def __init__(self, source: str, issues: Sequence[Issue]) -> None:
        self.source = source
        self.issues = tuple(sorted(issues, key=lambda issue: issue.offset))
        super().__init__("\n".join(_layout(source, issue) for issue in self.issues))


class EvaluationError(CelError):
    """The expression has no value for these bindings: a missing key, a division by zero, an overflow."""


class NoSuchOverloadError(EvaluationError):
    """No function or operator takes values of these types."""

    def __init__(self, text: str = "no such overload") -> None:
        super().__init__(text)


class CostLimitError(CelError):
    """The evaluation was stopped because it cost more than its budget."""

    def __init__(self) -> None:
        super().__init__("operation cancelled: actual cost limit exceeded")


def no_such_key(key: object) -> EvaluationError:
    return EvaluationError(f"no such key: {shown(key)}")


def shown(value: object) -> str:
    """A value in a message: of a long text the beginning, because an expression may raise and absorb many errors."""
    text = str(value)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."


def place(source: str, offset: int) -> tuple[int, int]:
    """Line from 1 and column from 1 of an offset."""
    start = source.rfind("\n", 0, offset) + 1
    return source.count("\n", 0, offset) + 1, offset - start + 1


def _layout(source: str, issue: Issue) -> str:
    line, column = place(source, issue.offset)
    shown = source.split("\n")[line - 1]
    return f"ERROR: <input>:{line}:{column}: {issue.text}\n | {shown}\n | {'.' * (column - 1)}^"
