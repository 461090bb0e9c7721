"""The log of a command: each record is one line on standard error, with a constant message followed by its fields.

2026-01-31T12:00:00.123Z WARNING homeostat.server.verbs.watch "watcher cut off" key=pods behind=1048576

Logging never waits: standard error may be a pipe that nobody reads, and whoever logs may be the event loop. A line is
written at once if there is room for it. Otherwise it is kept for a thread that waits; beyond a limit, lines are dropped
and counted.
"""

from __future__ import annotations

import logging
import os
import select
import sys
import threading
from collections import deque
from contextlib import suppress
from datetime import UTC, datetime

_LEVELS = (logging.WARNING, logging.INFO, logging.DEBUG)
_MAX_WAITING_BYTES = 4 * 1024 * 1024
_LAST_LINES_S = 1.0
"""How long the end of the process waits for lines that nobody has read."""
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class OneLine(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3]
        fields = {name: value for name, value in vars(record).items() if name not in _STANDARD}
        if record.exc_info:
            fields["traceback"] = self.formatException(record.exc_info)
        texts = [f"{at}Z", record.levelname, record.name, _text(record.getMessage())]
        return " ".join([*texts, *(f"{name}={_text(value)}" for name, value in fields.items())])


def _text(value: object) -> str:
    """Unquoted if that is unambiguous, else a JSON string, in which all that a terminal might obey is escaped."""
    text = str(value)
    if text and text.isprintable() and not any(each in ' "=' for each in text):
        return text
    # Imported here: a start that logs nothing does not need it.
    from json import dumps

    return "".join([each if each.isprintable() else f"\\u{ord(each):04x}" for each in dumps(text, ensure_ascii=False)])


class UnblockedHandler(logging.Handler):
    """Writes lines to a file descriptor, in order, and never makes the caller wait for its reader."""

    def __init__(self, fd: int, *, most_bytes: int = _MAX_WAITING_BYTES) -> None:
        super().__init__()
        self.dropped = 0
        """Lines since the reader was last up to date."""
        self._fd, self._most_bytes = fd, most_bytes
        self._waiting: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._order = threading.Lock()
        """Not the lock of the handler: the end of the process holds that one while it waits in `flush`."""
        self._is_idle = threading.Event()
        self._is_idle.set()

    def emit(self, record: logging.LogRecord) -> None:
        line = f"{self._formatted(record)}\n".encode(errors="backslashreplace")
        with self._order:
            if self._is_idle.is_set():
                line = self._write(line, wait_s=0)
            if line:
                self._keep(line)

    def _formatted(self, record: logging.LogRecord) -> str:
        try:
            return self.format(record)
        except Exception as error:  # Any, from the arguments of any library: whoever logs must not fail by it.
            facts = {"template": record.msg, "reason": f"{type(error).__name__}: {error}"}
            return self.format(_warning(record.name, "failed to format log record", **facts))

    def _write(self, line: bytes, wait_s: float | None) -> bytes:
        """The rest of the line, if there is no room for it. A ready pipe has room for `PIPE_BUF` bytes."""
        with suppress(OSError):
            while line and select.select((), (self._fd,), (), wait_s)[1]:
                line = line[os.write(self._fd, line[: select.PIPE_BUF]) :]
            return line
        return b""  # nobody will read it

    def _keep(self, line: bytes) -> None:
        if self._waiting_bytes + len(line) > self._most_bytes:
            self.dropped += 1
            return
        self._waiting.append(line)
        self._waiting_bytes += len(line)
        if self._is_idle.is_set():
            self._is_idle.clear()
            threading.Thread(target=self._write_waiting, name="homeostat-log", daemon=True).start()

    def _write_waiting(self) -> None:
        while line := self._first():
            self._write(line, wait_s=None)

    def _first(self) -> bytes:
        """The next line; afterwards how many were dropped. The thread ends with an empty one."""
        with self._order:
            if self._waiting:
                line = self._waiting.popleft()
                self._waiting_bytes -= len(line)
                return line
            if self.dropped:
                record = _warning(__name__, "dropped log lines", count=self.dropped)
                self.dropped = 0
                return f"{self.format(record)}\n".encode()
            self._is_idle.set()
            return b""

    def flush(self) -> None:
        self._is_idle.wait(_LAST_LINES_S)


def _warning(name: str, message: str, **fields: object) -> logging.LogRecord:
    facts = {"name": name, "levelno": logging.WARNING, "levelname": "WARNING", "msg": message}
    return logging.makeLogRecord({**facts, **fields})


def set_up_logging(verbosity: int) -> None:
    """0 logs warnings, 1 also information, 2 also debug records."""
    handler = _handler()
    handler.setFormatter(OneLine())
    logging.basicConfig(level=_LEVELS[min(verbosity, 2)], handlers=[handler], force=True)


def _handler() -> logging.Handler:
    try:
        return UnblockedHandler(sys.stderr.fileno())
    except (AttributeError, OSError):  # no file, as in a test
        return logging.StreamHandler(sys.stderr)
