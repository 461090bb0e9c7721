"""Manifests and layers on disk, by digest; shared by processes.

Promises, each with a test: what is read matches its digest, and a damaged file is removed and fetched again; a file
appears whole or not at all, also after a crash; together the files stay below a limit, and those used least recently go
first; nothing is written outside the directory. A cache that cannot be written is no error: the next run fetches again.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from homeostat.external.files import PARTIAL, replace_private_file
from homeostat.external.oci.digest import check_digest, verify
from homeostat.external.oci.errors import DigestMismatchError

LIMIT_BYTES: Final = 512 << 20
_STALE_S: Final = 3600.0
"""A partial file of this age is left over from a process that ended while it wrote."""
_KEPT: Final = 0.8
"""The share of the limit that remains after files were removed, so that not every write removes some."""


@dataclass(frozen=True, slots=True)
class _Held:
    path: Path
    size: int
    used_s: float


class BlobCache:
    """Its methods block for as long as the disk does: call them in a thread where that matters."""

    def __init__(self, directory: Path, *, limit_bytes: int = LIMIT_BYTES) -> None:
        self._directory, self._limit = directory, limit_bytes
        self._total: int | None = None

    def read(self, digest: str) -> bytes | None:
        path = self._path(digest)
        try:
            handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
            with os.fdopen(handle, "rb") as file:
                data = file.read(self._limit + 1)
            verify(data, digest, str(path))
            os.utime(path)
        except DigestMismatchError:
            with suppress(OSError):
                path.unlink()
            return None
        except OSError:
            return None
        return data

    def write(self, digest: str, data: bytes) -> None:
        """`data` must have been verified."""
        if len(data) > self._limit * _KEPT:
            return
        path = self._path(digest)
        with suppress(OSError):
            replace_private_file(path, data)
            self._shrink(len(data))

    def _path(self, digest: str) -> Path:
        algorithm, _, text = check_digest(digest).partition(":")
        return self._directory / algorithm / text

    def _shrink(self, added: int) -> None:
        if self._total is not None and self._total + added <= self._limit:
            self._total += added
            return
        held = sorted(self._held(), key=lambda each: each.used_s)
        total = sum(each.size for each in held)
        goal = self._limit * _KEPT if total > self._limit else total
        for each in held:
            if total <= goal:
                break
            with suppress(FileNotFoundError):
                each.path.unlink()
            total -= each.size
        self._total = total

    def _held(self) -> list[_Held]:
        found = []
        for folder in self._directory.iterdir():
            for path in folder.iterdir() if folder.is_dir() else ():
                with suppress(FileNotFoundError):
                    state = path.stat(follow_symlinks=False)
                    if path.name.endswith(PARTIAL):
                        if time.time() - state.st_mtime > _STALE_S:
                            path.unlink()
                        continue
                    found.append(_Held(path, state.st_size, state.st_mtime))
        return found
