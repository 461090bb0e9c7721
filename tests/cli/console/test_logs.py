"""A record is one line, whatever is in it."""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Iterator

import pytest

from homeostat.cli.console.logs import OneLine, UnblockedHandler


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


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    yield ends
    for each in ends:
        os.close(each)


def test_a_line_is_written_at_once_if_there_is_room(pipe: tuple[int, int]) -> None:
    reader, writer = pipe
    handler = UnblockedHandler(writer)
    handler.handle(record("started"))
    os.set_blocking(reader, False)
    assert os.read(reader, 100) == b"started\n"


def test_logging_to_a_pipe_that_nobody_reads_does_not_wait(pipe: tuple[int, int]) -> None:
    reader, writer = pipe
    handler = UnblockedHandler(writer, most_bytes=400_000)
    lines = [f"{number} {'x' * 1000}" for number in range(1000)]
    for line in lines:
        handler.handle(record(line))
    dropped = handler.dropped
    assert 500 < dropped < 600

    read = b""
    while b"dropped" not in read:
        read += os.read(reader, 65536)
    handler.flush()
    *written, notice = read.decode().splitlines()
    assert notice == "dropped log lines"
    assert len(written) == len(lines) - dropped
    # Those that were dropped need not be the last: the thread that waits takes a line from those that are kept.
    assert written == [each for each in lines if each in set(written)]

    handler.handle(record("after"))
    assert os.read(reader, 100) == b"after\n"


def test_logging_to_a_closed_pipe_is_no_error(pipe: tuple[int, int]) -> None:
    _, writer = pipe
    gone, closed = os.pipe()
    os.close(gone)
    os.dup2(closed, writer)
    os.close(closed)
    handler = UnblockedHandler(writer)
    handler.handle(record("to nobody"))
    handler.flush()
    assert handler.dropped == 0


def test_the_end_of_the_process_writes_lines_that_wait_for_their_reader(pipe: tuple[int, int]) -> None:
    reader, writer = pipe
    handler = UnblockedHandler(writer)
    lines = [f"{number} {'x' * 1000}" for number in range(1000)]
    for line in lines:
        handler.handle(record(line))
    read = bytearray()

    def drain() -> None:
        while read.count(b"\n") < len(lines):
            read.extend(os.read(reader, 65536))

    draining = threading.Thread(target=drain)
    draining.start()
    with handler.lock:  # type: ignore[union-attr]  # As `logging.shutdown` does.
        handler.flush()
        written = read.decode().splitlines()[:-1]
    draining.join()
    assert len(written) > 200, "the pipe alone holds 64"


def test_a_log_call_with_wrong_arguments_does_not_fail_its_caller(pipe: tuple[int, int]) -> None:
    reader, writer = pipe
    handler = UnblockedHandler(writer)
    handler.setFormatter(OneLine())
    handler.handle(record("%d found", args=("three",)))
    line = os.read(reader, 1000).decode()
    assert 'WARNING homeostat.x "failed to format log record" template="%d found" reason="TypeError: ' in line
