"""Repositories opened through a cache, for as long as a test lasts, and what is on disk of them."""

from __future__ import annotations

from collections.abc import Awaitable
from pathlib import Path
from typing import Protocol

from homeostat.external.git.access import Remote
from homeostat.external.git.repository import Repository


class Open(Protocol):
    def __call__(self, remote: Remote, **limits: float) -> Awaitable[Repository]: ...


def bare_of(cache: Path) -> Path:
    """The newest of the one repository in the cache."""
    return max(cache.glob("*/bare.*"))


def size(directory: Path) -> int:
    return sum(each.stat().st_size for each in files(directory))


def files(directory: Path) -> list[Path]:
    return [each for each in directory.rglob("*") if each.is_file()]
