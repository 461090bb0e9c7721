"""Sets of characters: ranges, the named classes of Perl and POSIX, and properties of Unicode."""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

MAX_CODE = 0x10FFFF
Ranges = tuple[tuple[int, int], ...]


def _of(text: str) -> Ranges:
    return tuple((ord(text[index]), ord(text[index + 1])) for index in range(0, len(text), 2))


PERL: dict[str, Ranges] = {"d": _of("09"), "w": _of("09AZ__az"), "s": _of("\t\n\f\r  ")}
POSIX: dict[str, Ranges] = {
    "alnum": _of("09AZaz"),
    "alpha": _of("AZaz"),
    "ascii": _of("\x00\x7f"),
    "blank": _of("\t\t  "),
    "cntrl": _of("\x00\x1f\x7f\x7f"),
    "digit": _of("09"),
    "graph": _of("!~"),
    "lower": _of("az"),
    "print": _of(" ~"),
    "punct": _of("!/:@[`{~"),
    "space": _of("\t\r  "),
    "upper": _of("AZ"),
    "word": _of("09AZ__az"),
    "xdigit": _of("09AFaf"),
}
CATEGORIES = frozenset(
    [
        "C",
        "Cc",
        "Cf",
        "Co",
        "Cs",
        "L",
        "Ll",
        "Lm",
        "Lo",
        "Lt",
        "Lu",
        "M",
        "Mc",
        "Me",
        "Mn",
        "N",
        "Nd",
        "Nl",
        "No",
        "P",
        "Pc",
        "Pd",
        "Pe",
        "Pf",
        "Pi",
        "Po",
        "Ps",
        "S",
        "Sc",
        "Sk",
        "Sm",
        "So",
        "Z",
        "Zl",
        "Zp",
        "Zs",
        "Any",
    ]
)


def merged(ranges: Iterable[tuple[int, int]]) -> Ranges:
    done: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if done and low <= done[-1][1] + 1:
            done[-1] = (done[-1][0], max(done[-1][1], high))
        else:
            done.append((low, high))
    return tuple(done)


def complement(ranges: Iterable[tuple[int, int]]) -> Ranges:
    kept = []
    start = 0
    for low, high in merged(ranges):
        if start < low:
            kept.append((start, low - 1))
        start = high + 1
    if start <= MAX_CODE:
        kept.append((start, MAX_CODE))
    return tuple(kept)


@dataclass(frozen=True, slots=True)
class Chars:
    """One character out of a set. `properties` are Unicode's, each with whether it is negated."""

    ranges: Ranges
    properties: tuple[tuple[str, bool], ...] = ()
    is_negated: bool = False
    ignores_case: bool = False

    @property
    def is_wide(self) -> bool:
        """Whether it has characters beyond ASCII."""
        return self.is_negated or bool(self.properties) or (bool(self.ranges) and self.ranges[-1][1] > 0x7F)

    def matches(self, character: str) -> bool:
        variants = {character}
        if self.ignores_case:
            variants |= {character.lower(), character.upper(), character.casefold(), _FOLDS.get(character, character)}
        return any(len(each) == 1 and self._holds(each) for each in variants) is not self.is_negated

    def _holds(self, character: str) -> bool:
        code = ord(character)
        index = bisect_right(self.ranges, (code, MAX_CODE)) - 1
        if index >= 0 and self.ranges[index][0] <= code <= self.ranges[index][1]:
            return True
        return any(_has(character, name) is not is_negated for name, is_negated in self.properties)


_FOLDS = {"k": "\u212a", "K": "\u212a", "s": "\u017f", "S": "\u017f"}
"""Characters whose fold leaves ASCII in one direction only."""


def _has(character: str, name: str) -> bool:
    return name == "Any" or unicodedata.category(character).startswith(name)
