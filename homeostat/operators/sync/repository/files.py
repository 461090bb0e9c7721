"""A repository in a directory: the part that a command needs is read once, and files are replaced atomically.

A file that several commands change has a lock, `.NAME.lock` beside it, that is removed after each change.

Links are not followed when reading, and a write that would leave the directory through a link is refused.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from homeostat.external.files import read_limited, replace_file
from homeostat.operators.sync.engine.errors import ConflictError, ValidationError
from homeostat.operators.sync.engine.paths.logical import segments
from homeostat.operators.sync.engine.paths.selector import is_wild, selects
from homeostat.operators.sync.engine.tree.directory import LARGEST_FILE, TOO_LARGE, Directory

MOST_FILES: Final = 200_000
MOST_BYTES: Final = 1 << 30
DEEPEST: Final = 64


class FileRepository:
    def __init__(self, base: Path) -> None:
        self.base = base

    async def load(self, path: str, *, is_recursive: bool, depth: int = 1) -> Directory:
        """The tree with all metadata that holds for a path, and the files of the path: of all below it if
        `is_recursive`, else of so many levels.
        """
        reader = _Reader(DEEPEST if is_recursive else depth)
        return await asyncio.to_thread(reader.read, self.base, segments(path))

    async def write(self, files: Mapping[str, bytes | None]) -> None:
        """Replace these files, named by paths relative to the directory; None deletes one and empty parents."""
        await asyncio.to_thread(self._write, files)

    def _write(self, files: Mapping[str, bytes | None]) -> None:
        for name, data in files.items():
            target = self.base / name
            self._check(target)
            if data is None:
                target.unlink(missing_ok=True)
                self._prune(target.parent)
            else:
                target.parent.mkdir(parents=True, exist_ok=True)
                self._check(target)
                replace_file(target, data)

    def _check(self, target: Path) -> None:
        base = self.base.resolve()
        if not target.parent.resolve().is_relative_to(base) or target.is_symlink():
            raise ValidationError(f"{target.name} would be written through a link that leads out of the repository")

    def _prune(self, directory: Path) -> None:
        while directory != self.base and directory.is_relative_to(self.base):
            try:
                directory.rmdir()
            except OSError:
                return
            directory = directory.parent


def read_file(path: Path, *, noun: str, most: int) -> bytes:
    """Raises `ValidationError` for a file that cannot be read or is larger than that."""
    try:
        return read_limited(path, most)
    except OSError as error:
        raise ValidationError(f"{noun} {path} cannot be read: {error.strerror}") from error


@asynccontextmanager
async def exclusive_file(target: Path, *, timeout_s: float) -> AsyncIterator[None]:
    """No other command changes the file until the end, so that none is lost that changes it at the same time."""
    # Imported here, as most commands only read.
    from homeostat.external.git.errors import CacheBusyError
    from homeostat.external.git.lock import file_lock

    try:
        async with file_lock(target.with_name(f".{target.name}.lock"), timeout_s=timeout_s, is_removed=True):
            yield
    except CacheBusyError as error:
        raise ConflictError(f"another command has locked {target} for {timeout_s:g} s; try again") from error


class _Reader:
    def __init__(self, levels: int) -> None:
        self._levels, self._files, self._bytes = levels, 0, 0

    def read(self, directory: Path, parts: Sequence[str]) -> Directory:
        """On the way to the path, only what leads to it or matches it; from there on everything."""
        if not directory.is_dir():
            return Directory()
        return self._on_the_way(directory, parts) if parts else self._whole(directory, self._levels)

    def _on_the_way(self, directory: Path, parts: Sequence[str]) -> Directory:
        links, found = set[str](), dict[str, Directory]()
        for entry in _entries(directory):
            if entry.is_symlink():
                links.add(entry.name)
            elif entry.is_dir(follow_symlinks=False):
                if entry.name == parts[0] and not is_wild(entry.name):
                    found[entry.name] = self.read(Path(entry.path), parts[1:])
                elif is_wild(entry.name) and _selects(entry.name, parts[0]):
                    found[entry.name] = self._whole(Path(entry.path), DEEPEST)
        return Directory({}, found, frozenset(links))

    def _whole(self, directory: Path, levels: int) -> Directory:
        files, links, found = dict[str, bytes](), set[str](), dict[str, Directory]()
        for entry in _entries(directory):
            if entry.is_symlink():
                links.add(entry.name)
            elif entry.is_dir(follow_symlinks=False):
                if entry.name == ".git":
                    continue
                if levels > 0 or entry.name == "_":
                    deeper = max(levels - 1, 1 if is_wild(entry.name) else 0)
                    found[entry.name] = self._whole(Path(entry.path), deeper)
            elif entry.is_file(follow_symlinks=False):
                files[entry.name] = self._content(entry)
        return Directory(files, found, frozenset(links))

    def _content(self, entry: os.DirEntry[str]) -> bytes:
        size = entry.stat(follow_symlinks=False).st_size
        self._files, self._bytes = self._files + 1, self._bytes + size
        if self._files > MOST_FILES or self._bytes > MOST_BYTES:
            raise ValidationError(
                f"the repository has more than {MOST_FILES} files or {MOST_BYTES} bytes below this path; narrow it"
            )
        if size > LARGEST_FILE:
            return TOO_LARGE
        with open(entry.path, "rb") as file:
            return file.read()


def _entries(directory: Path) -> list[os.DirEntry[str]]:
    with os.scandir(directory) as found:
        return list(found)


def _selects(name: str, part: str) -> bool:
    try:
        return selects(name, part)
    except ValidationError:
        # A directory that looks like a malformed pattern matches nothing.
        return False
