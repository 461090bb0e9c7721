"""A bundle in a directory, as a mapping of its files.

A file is read when it is first needed: a contract often lies in a repository with thousands of other files. Files that
`.pactoignore` hides do not exist. Links are never followed: a link in a checkout could otherwise publish a file from
elsewhere on the machine. `snapshot` reads all files within the limits of a bundle, for those who pack or hash them.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import msgspec

from homeostat.operators.contracts.engine.bundle.ignore import read_ignore
from homeostat.operators.contracts.engine.files import (
    CONTRACT_FILE,
    IGNORE_FILE,
    MAX_ENTRIES,
    MAX_FILE_BYTES,
    MAX_TOTAL_BYTES,
    is_path,
)
from homeostat.operators.contracts.sources.errors import InvalidBundleError, NotFoundError

_FLAGS: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_ABSENT: Final = (FileNotFoundError, NotADirectoryError)


class DirectoryLimits(msgspec.Struct, frozen=True, kw_only=True):
    file_bytes: int = MAX_FILE_BYTES
    total_bytes: int = MAX_TOTAL_BYTES
    entries: int = MAX_ENTRIES
    path_length: int = 1024


class Directory(Mapping[str, bytes]):
    """Raises `NotFoundError` unless the path is a directory. What cannot be read is an `InvalidBundleError`."""

    def __init__(self, root: str | Path, limits: DirectoryLimits | None = None) -> None:
        self.root = str(root)
        self._limits = limits or DirectoryLimits()
        if not os.path.isdir(self.root):
            problem = "is a file; name the directory that holds it" if os.path.exists(self.root) else "does not exist"
            raise NotFoundError(f'cannot read the bundle: "{self.root}" {problem}')
        self._read: dict[str, bytes | None] = {}
        self._ignore = read_ignore(self._contents(IGNORE_FILE))
        self._names: list[str] | None = None

    def __getitem__(self, path: str) -> bytes:
        if path not in self._read:
            is_visible = is_path(path) and (path == CONTRACT_FILE or not self._ignore.hides(path))
            self._read[path] = self._contents(path) if is_visible else None
        found = self._read[path]
        if found is None:
            raise KeyError(path)
        return found

    def __iter__(self) -> Iterator[str]:
        if self._names is None:
            self._names = [path for path, entry in self._walk() if entry.is_file(follow_symlinks=False)]
        return iter(self._names)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def below(self, folder: str) -> Iterator[str]:
        """The files in a folder; the rest of the directory is not visited."""
        steps = folder.split("/")
        parents = [steps[:end] for end in range(1, len(steps) + 1)]
        if not is_path(folder) or any(self._ignore.hides_entry(tuple(each), is_directory=True) for each in parents):
            return
        if any(os.path.islink(os.path.join(self.root, *each)) for each in parents):
            return
        if os.path.isdir(os.path.join(self.root, folder)):
            yield from (path for path, entry in self._walk(f"{folder}/") if entry.is_file(follow_symlinks=False))

    def snapshot(self) -> dict[str, bytes]:
        """Read all files. A link, a device and a bundle beyond the limits are errors."""
        files: dict[str, bytes] = {}
        total = 0
        for path, entry in self._walk():
            if not entry.is_file(follow_symlinks=False):
                raise InvalidBundleError(
                    f'"{path}" is a link or a device; a bundle holds files and directories. '
                    f"Replace it with a file, or name it in {IGNORE_FILE}"
                )
            files[path] = self[path]
            total += len(files[path])
            if total > self._limits.total_bytes:
                raise InvalidBundleError(
                    f'"{self.root}" has more than {self._limits.total_bytes} bytes; exclude files in {IGNORE_FILE}'
                )
        return files

    def _walk(self, start: str = "") -> Iterator[tuple[str, os.DirEntry[str]]]:
        """All visible entries but directories, in a stable order."""
        waiting, count = [start], 0
        while waiting:
            folder = waiting.pop()
            for entry in self._entries(folder):
                path = f"{folder}{entry.name}"
                is_directory = entry.is_dir(follow_symlinks=False)
                if self._ignore.hides_entry(tuple(path.split("/")), is_directory=is_directory):
                    continue
                count += 1
                self._check_entry(path, count)
                if is_directory:
                    waiting.append(f"{path}/")
                else:
                    yield path, entry

    def _entries(self, folder: str) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(os.path.join(self.root, folder)) as entries:
                return sorted(entries, key=lambda each: each.name)
        except OSError as error:
            raise InvalidBundleError(f'cannot read "{folder or self.root}": {error.strerror}') from error

    def _check_entry(self, path: str, count: int) -> None:
        if count > self._limits.entries:
            raise InvalidBundleError(
                f'"{self.root}" has more than {self._limits.entries} entries; exclude directories in {IGNORE_FILE}'
            )
        if len(path) > self._limits.path_length or not path.isprintable() or "\\" in path:
            raise InvalidBundleError(f"{path[:200]!r} is not a path that a bundle may hold; rename or ignore it")

    def _contents(self, path: str) -> bytes | None:
        """None if there is no such file. A link on the way counts as an error."""
        whole = os.path.join(self.root, path)
        steps = path.split("/")
        try:
            for end in range(1, len(steps)):
                if stat.S_ISLNK(os.lstat(os.path.join(self.root, *steps[:end])).st_mode):
                    raise InvalidBundleError(f'"{path}" lies below a link; links are not followed')
            handle = os.open(whole, _FLAGS)
        except _ABSENT:
            return None
        except OSError as error:
            problem = "is a link; links are not followed" if os.path.islink(whole) else error.strerror
            raise InvalidBundleError(f'cannot read "{path}": {problem}') from error
        try:
            is_file = stat.S_ISREG(os.fstat(handle).st_mode)
            data = _read_bounded(handle, self._limits.file_bytes) if is_file else None
        finally:
            os.close(handle)
        if data is not None and len(data) > self._limits.file_bytes:
            raise InvalidBundleError(f'"{path}" has more than {self._limits.file_bytes} bytes, the limit of a file')
        return data


def _read_bounded(handle: int, limit: int) -> bytes:
    """At most one byte more than the limit."""
    with os.fdopen(handle, "rb", closefd=False) as file:
        return file.read(limit + 1)
