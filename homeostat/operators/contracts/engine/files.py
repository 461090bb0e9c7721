"""The files of a bundle, as bytes by path. Pure.

Paths are relative, use slashes and contain neither `.` nor `..`. An inline contract has no bundle: its files are None,
not an empty mapping, and missing files are not reported.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, Protocol, runtime_checkable

Files = Mapping[str, bytes]

CONTRACT_FILE: Final = "pacto.yaml"
LOCK_FILE: Final = "pacto.lock"
IGNORE_FILE: Final = ".pactoignore"
POLICY_FILE: Final = "policy/schema.json"

MAX_FILE_BYTES: Final = 10 * 1024 * 1024
MAX_TOTAL_BYTES: Final = 50 * 1024 * 1024
MAX_ENTRIES: Final = 10_000


def is_path(path: str) -> bool:
    """Return whether a path can name a file of a bundle."""
    return bool(path) and "\0" not in path and all(step not in ("", ".", "..") for step in path.split("/"))


@runtime_checkable
class Folders(Protocol):
    """Files that know their folders, such as those on disk; the others are searched."""

    def below(self, folder: str) -> Iterable[str]: ...


def below(files: Files, folder: str) -> Iterable[str]:
    """Return the files in a folder and its sub-folders."""
    if isinstance(files, Folders):
        return files.below(folder)
    return [each for each in files if each.startswith(f"{folder}/")]


def exists(files: Files, path: str) -> bool:
    """Return whether the path is a file, or a directory that contains one."""
    return path in files or (is_path(path) and any(True for _ in below(files, path)))
