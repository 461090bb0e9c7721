"""No text from outside controls a terminal: not in tables, not in lines, not in other forms of output."""

from __future__ import annotations

import io
import sys
from typing import TextIO

import click
import pytest

from homeostat.cli.console.colour import paint
from homeostat.cli.console.output import print_object
from homeostat.cli.console.table import Table
from homeostat.cli.terminal import drawn_on, guard_terminal, safe_for_terminal

HOSTILE = "a\x1b]0;taken\x07b\x1b[2Jc\x9b2Kd\u202egpj\u202ce\rf\x00\u200b\x1b[8mhidden"
SHOWN = r"a\x1b]0;taken\x07b\x1b[2Jc\x9b2Kd\u202egpj\u202ce\x0df\x00\u200b\x1b[8mhidden"
HARMLESS = "naïve 日本語 \t “quotes” <script> 👩‍💻 \xa0"


class Terminal(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True


def guarded(monkeypatch: pytest.MonkeyPatch) -> TextIO:
    """Standard output of a program on a terminal."""
    found = Terminal(io.BytesIO(), "utf-8", newline="", write_through=True)
    monkeypatch.setattr(sys, "stdout", found)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    guard_terminal()
    return found


def printed(terminal: TextIO) -> str:
    assert isinstance(terminal.buffer, io.BytesIO)
    return terminal.buffer.getvalue().decode()


def test_what_a_terminal_might_obey_is_shown_and_the_rest_stays() -> None:
    assert safe_for_terminal(HOSTILE) == SHOWN
    assert safe_for_terminal(HARMLESS) == HARMLESS
    assert safe_for_terminal("a\r\nb\n") == "a\nb\n"


def test_lines_objects_and_tables_cannot_control_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = guarded(monkeypatch)
    click.echo(f"{HOSTILE}\n{paint('error', 'bold red', sys.stdout)}")
    print_object({"metadata": {"name": HOSTILE}}, "json")
    print_object({"metadata": {"name": HOSTILE}}, "jsonpath={.metadata.name}")
    Table(["NAME", HOSTILE]).print([["x" * 10, HOSTILE]])
    text = printed(terminal)
    assert SHOWN in text
    left = text.replace("\x1b[1;31merror\x1b[0m", "").replace("\x1b[1m", "").replace("\x1b[0m", "")
    assert [each for each in left if not each.isprintable() and each != "\n"] == []


def test_bytes_cannot_control_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = guarded(monkeypatch)
    # What `get --raw`, reports and payloads of synced servers are written by.
    click.echo(HOSTILE.encode(), nl=False)
    sys.stdout.buffer.write(HOSTILE.encode() + b"\xff\n")
    sys.stdout.buffer.flush()
    assert printed(terminal) == rf"{SHOWN}{SHOWN}\xff" + "\n"


def test_a_display_that_is_redrawn_has_the_terminal_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = guarded(monkeypatch)
    assert sys.stdout is not terminal
    assert drawn_on(sys.stdout) is terminal


def test_a_pipe_gets_every_byte(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    guard_terminal()
    print_object({"metadata": {"name": HOSTILE}}, "jsonpath={.metadata.name}")
    assert HOSTILE.encode() in capfdbinary.readouterr().out
