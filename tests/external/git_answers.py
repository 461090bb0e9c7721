"""The answers of `git http-backend` that only list refs, kept while the repository's refs and settings stay the same.

Clients ask for the head of a branch again and again, and each answer costs three processes.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

_LISTS_REFS: Final = b"command=ls-refs"
_FILES: Final = ("config", "HEAD", "packed-refs")


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    content: bytes


class Asked(NamedTuple):
    path: str
    query: str
    protocol: str
    body: bytes


class Answers:
    def __init__(self, root: Path) -> None:
        self._root = root
        self._kept: dict[tuple[Asked, tuple[bytes, ...]], Answer] = {}

    def state(self, asked: Asked) -> tuple[bytes, ...]:
        """What the answer depends on; empty if it depends on more than refs and settings."""
        name, _, service = asked.path.strip("/").rpartition("/")
        if service == "refs":
            name = name.removesuffix("/info")
        elif service != "git-upload-pack" or _LISTS_REFS not in asked.body[:40]:
            return ()
        git = self._root / name / ".git"
        if not git.is_dir():
            return ()
        # In the second version of the protocol, the first answer has no refs.
        is_greeting = service == "refs" and asked.protocol == "version=2" and asked.query.endswith("git-upload-pack")
        return (_read(git / "config"),) if is_greeting else tuple(_contents(git))

    def get(self, asked: Asked, state: tuple[bytes, ...]) -> Answer | None:
        return self._kept.get((asked, state)) if state else None

    def keep(self, asked: Asked, state: tuple[bytes, ...], answer: Answer) -> None:
        """Unless somebody pushed meanwhile."""
        if state and answer.status == 200 and self.state(asked) == state:
            self._kept[asked, state] = answer


def _contents(git: Path) -> list[bytes]:
    found = [_read(git / name) for name in _FILES]
    for folder, _, names in os.walk(git / "refs"):
        for name in sorted(names):
            path = Path(folder, name)
            found += [bytes(path), _read(path)]
    return found


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""
