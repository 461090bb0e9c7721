"""File locks between processes: shared for use of a directory, exclusive for changing its structure.

A program inherits the open file and with it the lock: if this process is killed, the lock is held until the last
program that it started has ended. Waiting ends with `CacheBusyError`.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import IO, Final

from homeostat.external.files import make_private
from homeostat.external.git.errors import CacheBusyError

_FIRST_PAUSE_S: Final = 0.005
_LONGEST_PAUSE_S: Final = 0.2


@asynccontextmanager
async def file_lock(
    path: Path, *, timeout_s: float, is_shared: bool = False, is_removed: bool = False
) -> AsyncIterator[int]:
    """The open file, which programs can inherit. With `is_removed` its name is gone after use."""
    while True:
        with _opened(path) as file:
            await _acquire(file, fcntl.LOCK_SH if is_shared else fcntl.LOCK_EX, timeout_s)
            # If the file or its directory was removed while we waited, nobody else sees this lock.
            if _is_current(file, path):
                try:
                    yield file.fileno()
                finally:
                    if is_removed:
                        _remove(path)
                return


@contextmanager
def idle_lock(path: Path) -> Iterator[int | None]:
    """An exclusive lock if nobody uses the directory now, else None."""
    with _opened(path) as file:
        yield file.fileno() if _try(file, fcntl.LOCK_EX) and _is_current(file, path) else None


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    with _open(path) as file:
        yield file


def _open(path: Path) -> IO[bytes]:
    while True:
        make_private(path.parent)
        # Another process may remove the directory in between.
        with suppress(FileNotFoundError):
            return path.open("ab")


def _remove(path: Path) -> None:
    path.unlink(missing_ok=True)


def _is_current(file: IO[bytes], path: Path) -> bool:
    try:
        return os.fstat(file.fileno()).st_ino == path.stat().st_ino
    except FileNotFoundError:
        return False


async def _acquire(file: IO[bytes], kind: int, timeout_s: float) -> None:
    pause = _FIRST_PAUSE_S
    try:
        async with asyncio.timeout(timeout_s):
            while not _try(file, kind):
                await asyncio.sleep(pause)
                pause = min(pause * 2, _LONGEST_PAUSE_S)
    except TimeoutError as error:
        raise CacheBusyError(f"the cache of the repository is still in use after {timeout_s:g} s; retrying") from error


def _try(file: IO[bytes], kind: int) -> bool:
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
