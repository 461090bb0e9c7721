"""Semantic versions, parsed leniently, and their order. Pure.

`v1`, `1.2` and `01.2.3` are versions: a leading `v` is dropped and missing numbers are zero. Tags such as `20260101`
are therefore versions, too. Build metadata is ignored in comparisons.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache, total_ordering
from typing import Final

_PART: Final = r"[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*"
_version = re.compile(rf"v?([0-9]+)(?:\.([0-9]+))?(?:\.([0-9]+))?(?:-({_PART}))?(?:\+({_PART}))?", re.ASCII).fullmatch
_LARGEST: Final = 2**64 - 1
_LONGEST: Final = 256


@total_ordering
class Version:
    __slots__ = ("_rank", "major", "minor", "patch", "prerelease")

    def __init__(self, major: int, minor: int, patch: int, prerelease: str = "") -> None:
        self.major, self.minor, self.patch, self.prerelease = major, minor, patch, prerelease
        # A release is above all of its pre-releases; numbers are below words, and a longer list is above its start.
        parts = tuple((0, int(each), "") if each.isdigit() else (1, 0, each) for each in prerelease.split("."))
        self._rank = (major, minor, patch, not prerelease, parts if prerelease else ())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Version) and self._rank == other._rank

    def __lt__(self, other: Version) -> bool:
        return self._rank < other._rank

    def __hash__(self) -> int:
        return hash(self._rank)

    def __repr__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}{self.prerelease and f'-{self.prerelease}'}"


def parse_version(text: str) -> Version | None:
    """Parse a version; None if the text is not one."""
    return _parsed(text) if len(text) <= _LONGEST else None


@lru_cache(4096)
def _parsed(text: str) -> Version | None:
    found = _version(text)
    if found is None:
        return None
    numbers = [int(each or 0) for each in found.group(1, 2, 3)]
    prerelease = found[4] or ""
    if max(numbers) > _LARGEST or any(_has_leading_zero(each) for each in prerelease.split(".")):
        return None
    major, minor, patch = numbers
    return Version(major, minor, patch, prerelease)


def versions_of(tags: Iterable[str]) -> list[tuple[Version, str]]:
    """Return the tags that are versions, newest first, in their original spelling."""
    found = [(version, tag) for tag in tags if (version := parse_version(tag)) is not None]
    return sorted(found, key=lambda each: each[0], reverse=True)


def _has_leading_zero(part: str) -> bool:
    return len(part) > 1 and part.isdigit() and part[0] == "0"
