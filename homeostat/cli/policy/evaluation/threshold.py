"""The thresholds of `--fail-on`, which make a command exit with 1."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from typing import Any, Final, Protocol, TypeVar

import click

from homeostat.objects.report.report import SEVERITIES, Severity, Summary
from homeostat.operators.policy.engine.check import is_at_least

F = TypeVar("F", bound=Callable[..., Any])
FAILED: Final = 1
UNREADABLE: Final = 4
_score_below = re.compile(r"score\s*<\s*(\d{1,3})").fullmatch


class Threshold(Protocol):
    """Whether findings of these severities, or these scores, fail the command."""

    def __call__(self, severities: Collection[Severity], scores: Collection[Summary]) -> bool: ...


class _ThresholdType(click.ParamType[Threshold]):
    name = "threshold"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Threshold:
        threshold = _threshold_of(str(value).strip().lower())
        if threshold is None:
            self.fail(f"{value!r} is not a threshold; expected {', '.join(SEVERITIES)}, score<80 or never", param, ctx)
        return threshold


def fail_on_option(*, default: str) -> Callable[[F], F]:
    return click.option(
        "--fail-on",
        "thresholds",
        type=_ThresholdType(),
        multiple=True,
        default=[default],
        show_default=True,
        metavar="SEVERITY|score<N|never",
        help="Exit with 1 for a finding of this severity or higher, or a score below N; may be given several times.",
    )


def is_failed(
    thresholds: Iterable[Threshold], *, severities: Collection[Severity], scores: Collection[Summary]
) -> bool:
    return any(threshold(severities, scores) for threshold in thresholds)


def _threshold_of(text: str) -> Threshold | None:
    severity = next((each for each in SEVERITIES if each == text), None)
    if severity is not None:
        return lambda severities, scores: any(is_at_least(each, severity) for each in severities)  # noqa: ARG005
    if found := _score_below(text):
        bound = int(found[1])
        return lambda severities, scores: any(each.score is not None and each.score < bound for each in scores)  # noqa: ARG005
    return (lambda severities, scores: False) if text == "never" else None  # noqa: ARG005
