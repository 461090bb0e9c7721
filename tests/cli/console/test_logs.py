"""A record is one line, whatever is in it."""

from __future__ import annotations

import logging
import sys

import pytest

from homeostat.cli.console.logs import OneLine


def record(message: str, **further: object) -> logging.LogRecord:
    return logging.makeLogRecord(
        {"name": "homeostat.x", "levelname": "INFO", "msg": message, "created": 86400.5, **further}
    )


@pytest.mark.parametrize(
    ("made", "line"),
    [
        pytest.param(record("started"), "started", id="a bare word"),
        pytest.param(record("watch ended", kind="pods"), '"watch ended" kind=pods', id="fields"),
        pytest.param(record("x", path="/a b", count=3), 'x path="/a b" count=3', id="a field with a space"),
        pytest.param(record("x", text='a\nb"'), r'x text="a\nb\""', id="a field of several lines"),
        pytest.param(
            record("x", text="\x1b[2J \x9b31m\u202e\x7f"),
            r'x text="\u001b[2J \u009b31m\u202e\u007f"',
            id="orders to a terminal",
        ),
        pytest.param(record("x", text=""), 'x text=""', id="an empty field"),
    ],
)
def test_a_record_is_time_level_name_message_and_fields(made: logging.LogRecord, line: str) -> None:
    assert OneLine().format(made) == f"1970-01-02T00:00:00.500Z INFO homeostat.x {line}"


def test_a_traceback_is_a_field() -> None:
    try:
        raise ValueError("no")
    except ValueError:
        line = OneLine().format(record("failed", exc_info=sys.exc_info()))
    assert "\n" not in line
    assert 'failed traceback="Traceback' in line
