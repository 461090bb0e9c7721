"""Files that are read up to a limit, and files that are replaced as a whole. Blocking.

    with replacing(path) as file:
        file.write(data)

Whoever reads a file that is replaced gets its old or its new contents, never a part. Nothing is synced to disk: these
files can be made again, or the user sees that one is missing.
"""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

PARTIAL: Final = ".partial"
"""The end of the names of files that are being written; a process that is killed leaves one behind."""
_PRIVATE: Final = 0o600


class FileTooLargeError(OSError):
    def __init__(self, path: Path, most: int) -> None:
        super().__init__(errno.EFBIG, f"it has more than {most} bytes", str(path))


def read_limited(path: Path, most: int) -> bytes:
    """No more than one byte beyond the limit is read. `FileTooLargeError` if there is one."""
    with path.open("rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise FileTooLargeError(path, most)
    return data


def make_private(directory: Path) -> None:
    """Creates a directory and its missing parents for this user only; `Path.mkdir` would open the parents to all."""
    missing = [each for each in (directory, *directory.parents) if not each.exists()]
    for each in reversed(missing):
        each.mkdir(mode=0o700, exist_ok=True)


@contextmanager
def replacing(path: Path, *, mode: int = 0o666) -> Iterator[BinaryIO]:
    """A new file, with the permissions of `mode` that the umask leaves. It takes the place of `path` at the end of the
    block, or is removed if the block fails.
    """
    # A name of its own: somebody else may be replacing the same file. Without the name of the file, which may be as
    # long as a name can be.
    partial = path.with_name(f".{secrets.token_hex(8)}{PARTIAL}")
    opened = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        with os.fdopen(opened, "wb") as file:
            yield file
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def replace_file(path: Path, data: bytes, *, mode: int = 0o666) -> None:
    with replacing(path, mode=mode) as file:
        file.write(data)


def replace_private_file(path: Path, data: bytes) -> None:
    """Only the user may read it, and the directories that are created for it."""
    make_private(path.parent)
    replace_file(path, data, mode=_PRIVATE)
