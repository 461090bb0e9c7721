"""When output is coloured, and which colour a state or a severity has.

`--color` decides; without it output is coloured on a terminal unless NO_COLOR is set or TERM is `dumb`. Colour never
carries information of its own: the text says the same.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import IO, Any, Final

import click

_CODES: Final = {"bold": 1, "red": 31, "green": 32, "yellow": 33, "cyan": 36, "bold red": "1;31"}
_COLOURS: Final = {
    "green": "active approved available bound clean complete completed established healthy normal ok pass passed ready "
    "running succeeded success synced true",
    "yellow": "deleting medium pending progressing reconciling released terminating unknown waiting warning",
    "red": "crashloopbackoff error errimagepull evicted fail failed failure false high imagepullbackoff invalid lost "
    "oomkilled refused stalled",
    "bold red": "critical",
    "cyan": "info low",
}
_BY_STATE: Final = {state: colour for colour, states in _COLOURS.items() for state in states.split()}
_COLUMNS: Final = frozenset({"STATUS", "PHASE", "READY", "SEVERITY", "SYNCED", "HEALTHY", "OUTCOME", "RESULT"})
_VERDICTS: Final = frozenset({"True", "False", "Unknown"})
_chosen: ContextVar[bool | None] = ContextVar("chosen", default=None)
_counted = re.compile(r"(\d+)/(\d+)").fullmatch


def colour_of(heading: str, text: str) -> str:
    """The colour of a cell: that of its state in a column of states; empty for none."""
    if heading not in _COLUMNS or text == heading:
        return ""
    if heading == "STATUS" and text in _VERDICTS:
        # Of a condition: whether True is good depends on the condition.
        return ""
    if counted := _counted(text):
        return "green" if counted[1] == counted[2] else "yellow"
    return _BY_STATE.get(text.lower(), "")


def paint(text: str, colour: str, stream: IO[Any]) -> str:
    """The text in a colour, if the stream is coloured."""
    return f"\x1b[{_CODES[colour]}m{text}\x1b[0m" if colour and text and is_coloured(stream) else text


def is_coloured(stream: IO[Any]) -> bool:
    if (chosen := _chosen.get()) is not None:
        return chosen
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb" and stream.isatty()


def colour_option() -> click.Option:
    """`--color`, of every command: before the name of the command or after it."""
    return click.Option(
        ["--color"],
        type=click.Choice(["auto", "always", "never"]),
        default=None,
        is_eager=True,
        expose_value=False,
        callback=_set_colour,
        help="Colour states and severities.  [default: auto, on a terminal without NO_COLOR]",
    )


def _set_colour(context: click.Context, _: click.Parameter, value: str | None) -> None:
    if value is not None:
        choose_colour(context, is_coloured={"auto": None, "always": True, "never": False}[value])


def choose_colour(context: click.Context, *, is_coloured: bool | None) -> None:
    """For the rest of this run; None leaves it to the terminal."""
    context.color = is_coloured
    _chosen.set(is_coloured)


@contextmanager
def colour_of_one_run() -> Iterator[None]:
    """What `--color` chooses holds until the error of the command is printed, and not longer."""
    token = _chosen.set(None)
    try:
        yield
    finally:
        _chosen.reset(token)
