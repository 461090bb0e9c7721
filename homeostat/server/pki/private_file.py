"""Files that only their owner may read: keys, tokens, kubeconfigs.

Writes are atomic: to a temporary file, synced, renamed. The functions block; they are for starts and commands.
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
    """Create a file that never changes, unless it exists already. Returns its content in both cases."""
    with private_beside(path) as (file, beside), suppress(FileExistsError):
        file.write(data)
        sync_file(file)
        os.link(beside, path)
    sync_directory(path.parent)
    return path.read_bytes()


def read_private(path: Path) -> bytes | None:
    """The content of the file; None if it does not exist. Removes the permissions of other users first."""
    try:
        if path.stat().st_mode & 0o077:
            path.chmod(0o600)
        return path.read_bytes()
    except FileNotFoundError:
        return None
