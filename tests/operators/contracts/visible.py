"""The files of a directory that belong to its bundle."""

from __future__ import annotations

from homeostat.operators.contracts.engine.bundle.ignore import read_ignore
from homeostat.operators.contracts.engine.files import IGNORE_FILE, Files


def visible(files: Files) -> dict[str, bytes]:
    return {path: files[path] for path in read_ignore(files.get(IGNORE_FILE)).visible(files)}
