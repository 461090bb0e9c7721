"""How good is good enough: the bar below which a command ends with an exit code of its own."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from typing import Any, Final, Protocol, TypeVar

import click

from homeostat.objects.report.report import SEVERITIES, Severity, Summary
from homeostat.operators.policy.engine.check import is_as_grave

F = TypeVar("F", bound=Callable[..., Any])
FOUND: Final = 1
UNREADABLE: Final = 4
_score_below = re.compile(r"score\s*<\s*(\d{1,3})").fullmatch


class Bar(Protocol):
    """Whether something is below it, by what was found and how it scored."""

    def __call__(self, severities: Collection[Severity], scores: Collection[Summary]) -> bool: ...


class _BarType(click.ParamType[Bar]):
    name = "bar"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Bar:
        bar = _bar_of(str(value).strip().lower())
        if bar is None:
            self.fail(f"{value!r} is not a threshold; expected {', '.join(SEVERITIES)}, score<80 or never", param, ctx)
        return bar


def bar_option(*, default: str) -> Callable[[F], F]:
    return click.option(
        "--fail-on",
        "bars",
        type=_BarType(),
        multiple=True,
        default=[default],
        show_default=True,
        metavar="SEVERITY|score<N|never",
        help="Exit with 1 for a finding of this severity or higher, or a score below N; may be given several times.",
    )


def is_below(bars: Iterable[Bar], *, severities: Collection[Severity], scores: Collection[Summary]) -> bool:
    return any(bar(severities, scores) for bar in bars)


def _bar_of(text: str) -> Bar | None:
    severity = next((each for each in SEVERITIES if each == text), None)
    if severity is not None:
        return lambda severities, scores: any(is_as_grave(each, severity) for each in severities)  # noqa: ARG005
    if found := _score_below(text):
        bound = int(found[1])
        return lambda severities, scores: any(each.score is not None and each.score < bound for each in scores)  # noqa: ARG005
    return (lambda severities, scores: False) if text == "never" else None  # noqa: ARG005
