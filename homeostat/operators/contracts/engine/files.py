"""The files of a bundle, as bytes by path. Pure.

Paths have slashes, are relative and have no `.` or `..` in them. A contract without a bundle (one given as text) has
no files at all, which is None and not an empty mapping: nothing is then said about missing files.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

Files = Mapping[str, bytes]

CONTRACT_FILE: Final = "pacto.yaml"
LOCK_FILE: Final = "pacto.lock"
IGNORE_FILE: Final = ".pactoignore"
POLICY_FILE: Final = "policy/schema.json"

MAX_FILE_BYTES: Final = 10 * 1024 * 1024
MAX_TOTAL_BYTES: Final = 50 * 1024 * 1024
MAX_ENTRIES: Final = 10_000


def is_path(path: str) -> bool:
    """Whether it can name a file of a bundle: relative, and every step a name."""
    return bool(path) and "\0" not in path and all(step not in ("", ".", "..") for step in path.split("/"))


def exists(files: Files, path: str) -> bool:
    """A file, or a directory that holds one."""
    return path in files or (is_path(path) and any(each.startswith(f"{path}/") for each in files))
