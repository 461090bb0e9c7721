"""Times in options: `30s`, `5m`, `1h30m`, or a number of seconds."""

from __future__ import annotations

import click

from homeostat.objects.time.duration import DurationError, parse_seconds


class Seconds(click.ParamType[float]):
    """A duration that is not negative, in seconds."""

    name = "duration"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, int | float):
            return float(value)
        text = str(value)
        try:
            return parse_seconds(text if not text.isdigit() else f"{text}s")
        except DurationError:
            self.fail(f"{text!r} is not a duration; expected one like 30s, 5m or 1h30m", param, ctx)


def seconds_text(seconds: float) -> str:
    return f"{seconds:g} s"
