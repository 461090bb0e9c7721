"""Files that only their owner may read: keys, tokens, kubeconfigs.

A file is either as it was or as it was to be, whatever happens in between: written beside, synced, renamed. Blocking,
and meant for starts and commands.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from homeostat.store.files import private_beside, sync_directory, sync_file


def make_private_directory(directory: Path) -> None:
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    if directory.stat().st_mode & 0o077:
        directory.chmod(0o700)


def write_private(path: Path, data: bytes) -> None:
    with private_beside(path) as (file, beside):
        file.write(data)
        sync_file(file)
        beside.replace(path)
    sync_directory(path.parent)


def keep_private(path: Path, data: bytes) -> bytes:
    """Make a file that is never changed, unless somebody was quicker; what is in it either way."""
    with private_beside(path) as (file, beside), suppress(FileExistsError):
        file.write(data)
        sync_file(file)
        os.link(beside, path)
    sync_directory(path.parent)
    return path.read_bytes()


def read_private(path: Path) -> bytes | None:
    """What is in the file; None if there is none. One that others may read is closed to them first."""
    try:
        if path.stat().st_mode & 0o077:
            path.chmod(0o600)
        return path.read_bytes()
    except FileNotFoundError:
        return None
