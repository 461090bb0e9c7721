"""The audit log: a file of JSON lines, written by a thread of its own.

`write` never waits. Entries wait in memory for the thread, up to a limit; beyond it they are dropped and counted, so
that a slow disk neither delays requests nor fills the memory. A file that has reached its size is renamed with the
time, and the oldest of such files are deleted. Only their owner may read them.
"""

from __future__ import annotations

import glob
import logging
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from queue import Empty, SimpleQueue

from homeostat.server.audit.entry import Entry

log = logging.getLogger(__name__)

MAX_FILE_BYTES = 100 * 1024 * 1024
MAX_BACKUPS = 10
MAX_WAITING = 10_000
MAX_WAITING_BYTES = 64 * 1024 * 1024
_BATCH = 256


class AuditLog:
    """`dropped` are entries that could not be written."""

    def __init__(
        self,
        path: Path,
        *,
        max_bytes: int = MAX_FILE_BYTES,
        max_backups: int = MAX_BACKUPS,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`OSError` if the file cannot be opened."""
        self.written = 0
        self.dropped = 0
        self._path, self._max_bytes, self._max_backups, self._now = path, max_bytes, max_backups, now
        self._queue: SimpleQueue[Entry | None] = SimpleQueue()
        # One counter a thread, so that neither needs a lock.
        self._queued_bytes = self._taken_bytes = 0
        self._file = _open(path)
        self._size = os.fstat(self._file).st_size
        self._is_failing = False
        self._thread = threading.Thread(target=self._run, name="homeostat-audit", daemon=True)
        self._thread.start()

    def write(self, entry: Entry) -> None:
        """Have an entry written soon. Returns at once."""
        size = _size(entry)
        waiting = self._queued_bytes - self._taken_bytes
        if self._queue.qsize() >= MAX_WAITING or waiting + size > MAX_WAITING_BYTES:
            self.dropped += 1
            return
        self._queued_bytes += size
        self._queue.put(entry)

    def close(self, timeout_s: float = 2.0) -> None:
        """Write what waits, within the time, and close the file. Blocking."""
        self._queue.put(None)
        self._thread.join(timeout_s)

    def _run(self) -> None:
        while True:
            batch = [self._queue.get()]
            while len(batch) < _BATCH:
                try:
                    batch.append(self._queue.get_nowait())
                except Empty:
                    break
            entries = [entry for entry in batch if entry is not None]
            self._write(entries)
            self._taken_bytes += sum(map(_size, entries))
            if len(entries) < len(batch):
                os.close(self._file)
                return

    def _write(self, entries: list[Entry]) -> None:
        lines: list[bytes] = []
        for entry in entries:
            try:
                lines.append(entry.line())
            except Exception:  # one unusual request must not end the log
                self.dropped += 1
                log.exception("failed to encode audit event", extra={"request": entry.id})
        data = b"".join(lines)
        if not data:
            return
        try:
            if self._size and self._size + len(data) > self._max_bytes:
                self._rotate()
            self._append(data)
        except OSError as error:
            self.dropped += len(lines)
            if not self._is_failing:
                log.error("failed to write audit log", extra={"path": str(self._path), "reason": str(error)})
            self._is_failing = True
            return
        self._is_failing = False
        self.written += len(lines)

    def _append(self, data: bytes) -> None:
        # Without a buffer: after a failed write, a buffer would keep the data and grow.
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self._file, view) :]
        except OSError:
            self._end_line(data[: len(data) - len(view)])
            raise
        self._size += len(data)

    def _end_line(self, written: bytes) -> None:
        """After a part of the data: without its last line, which has no end. Another process may have appended more."""
        self._size += len(written)
        torn = len(written) - (written.rfind(b"\n") + 1)
        with suppress(OSError):
            if torn and os.fstat(self._file).st_size == self._size:
                self._size -= torn
                os.ftruncate(self._file, self._size)

    def _rotate(self) -> None:
        path, stamp = self._path, self._now().strftime("%Y-%m-%dT%H-%M-%S.%f")
        with suppress(FileNotFoundError):  # somebody else has moved it
            path.rename(path.with_name(f"{path.stem}-{stamp}{path.suffix}"))
        full, self._file = self._file, _open(path)
        self._size = 0
        os.close(full)
        backups = sorted(path.parent.glob(f"{glob.escape(path.stem)}-????-??-??T*{glob.escape(path.suffix)}"))
        for old in backups[: max(0, len(backups) - self._max_backups)]:
            old.unlink(missing_ok=True)


def _open(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)


def _size(entry: Entry) -> int:
    """About the memory that the entry keeps; a response in parts is the store's own memory."""
    size = 1024 + len(entry.uri) + len(entry.user_agent) + len(entry.request)
    if entry.attributes.user is not entry.caller:
        size += sum(map(len, entry.attributes.user.groups))
    if entry.annotations:
        # Of webhooks and policies, 64 KiB each.
        size += sum(map(len, entry.annotations)) + sum(map(len, entry.annotations.values()))
    return size + (len(entry.response) if isinstance(entry.response, bytes) else 0)
