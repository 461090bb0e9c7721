"""Writes the files of a bundle to a directory, through no link."""

from __future__ import annotations

import os
from pathlib import Path

from homeostat.cli.contract.session.result import ContractFailure
from homeostat.operators.contracts.engine.files import Files


def write_files(directory: Path, files: Files) -> None:
    """The paths have been checked."""
    for path in sorted(files):
        folder = directory
        for step in path.split("/")[:-1]:
            folder.mkdir(parents=True, exist_ok=True)
            folder = folder / step
            if folder.is_symlink():
                raise ContractFailure(f'"{folder}" is a link; remove it, or choose another directory with -o')
        folder.mkdir(parents=True, exist_ok=True)
        _write(folder / path.rpartition("/")[2], files[path])


def _write(path: Path, data: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        handle = os.open(path, flags, 0o644)
    except OSError as error:
        if path.is_symlink():
            raise ContractFailure(f'"{path}" is a link; remove it, or choose another directory with -o') from error
        raise
    with os.fdopen(handle, "wb") as file:
        file.write(data)
