"""Issues the credentials of a first start in a process of its own, while the plane imports its modules.

To import the cryptography package takes a fifth of a first start, and it would stay in memory for as long as the plane
runs. The process is forked while there are no threads, keeps everything in memory and ends when it has sent the
credentials. It writes no file: the plane does, once it holds the lock of its store. If the process fails, or there is
none, the plane issues the credentials itself.
"""

from __future__ import annotations

import os
import select
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import NoReturn

import msgspec

_WITHIN_S = 10.0
_CHUNK_BYTES = 65_536


def issue_ahead(directory: Path, *, bind: str, address: str) -> IssuedAhead | None:
    """Begin to issue the credentials of a first start; None if the directory exists already, or cannot be read."""
    try:
        if directory.exists():
            return None
    except OSError:
        return None

    def issue() -> Mapping[str, bytes]:
        from homeostat.server.pki.authority import issue_all
        from homeostat.server.pki.directory import hosts_of

        return issue_all(hosts_of(bind, address), now=datetime.now(UTC))

    return IssuedAhead.begin(issue)


class IssuedAhead:
    """The credentials that another process issues, by the name of their file in the directory."""

    def __init__(self, pid: int, pipe: int) -> None:
        self._pid, self._pipe = pid, pipe
        self._is_open = True

    @classmethod
    def begin(cls, issue: Callable[[], Mapping[str, bytes]]) -> IssuedAhead | None:
        """Run `issue` in another process; None where a fork is not safe, or not possible."""
        if not _has_one_thread():
            return None
        reader, writer = os.pipe()
        try:
            pid = os.fork()
        except OSError:
            # The limit of processes is reached.
            os.close(reader)
            os.close(writer)
            return None
        if not pid:
            _send(issue, writer)
        os.close(writer)
        return cls(pid, reader)

    def read(self) -> Mapping[str, bytes]:
        """Wait for the credentials; blocks. None are there if the process failed, or they were read already."""
        if not self._is_open:
            return {}
        data = b""
        poll = select.poll()
        poll.register(self._pipe, select.POLLIN)
        while poll.poll(_WITHIN_S * 1000) and (chunk := os.read(self._pipe, _CHUNK_BYTES)):
            data += chunk
        self.close()
        try:
            return msgspec.msgpack.decode(data, type=dict[str, bytes])
        except msgspec.DecodeError:
            return {}

    def close(self) -> None:
        """End the process, if it has not ended."""
        if self._is_open:
            self._is_open = False
            os.close(self._pipe)
            with suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)
            with suppress(ChildProcessError):
                os.waitpid(self._pid, 0)


def _has_one_thread() -> bool:
    """False where that is unknown, as without /proc."""
    if sys.platform != "linux":
        return False
    try:
        return len(os.listdir("/proc/self/task")) == 1
    except OSError:
        return False


def _send(issue: Callable[[], Mapping[str, bytes]], pipe: int) -> NoReturn:
    """The whole life of the process. Nothing that the parent has set up may run at its end, so it leaves at once."""
    try:
        with os.fdopen(pipe, "wb") as file:
            file.write(msgspec.msgpack.encode(issue()))
    finally:
        os._exit(0)
