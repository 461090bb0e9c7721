"""Parses RE2's syntax into a tree."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, NoReturn

from homeostat.cel.errors import EvaluationError
from homeostat.cel.regex.classes import MAX_CODE, PERL, POSIX, Chars, Ranges, complement, merged

MAX_REPEAT = 1000
MAX_DEPTH = 50
_NAME = re.compile(r"\(\?P?<([A-Za-z0-9_]+)>")
_FLAGS = re.compile(r"\(\?([imsU]*)(?:-([imsU]+))?([:)])")
_REPEAT = re.compile(r"\{(\d{1,9})(,(\d{0,9}))?\}", re.ASCII)
_HEX = re.compile(r"x(?:([0-9a-fA-F]{2})|\{([0-9a-fA-F]{1,8})\})")
_OCTAL = re.compile(r"0[0-7]{0,2}|[1-7][0-7]{1,2}")
_PROPERTY = re.compile(r"([pP])(?:\{(\^?)(\w+)\}|([A-Z]))")
_POSIX = re.compile(r"\[:(\^?)(\w+):\]")
_CONTROLS = {"a": 7, "f": 12, "t": 9, "n": 10, "r": 13, "v": 11}
_NEWLINE: Ranges = ((10, 10),)


@dataclass(frozen=True, slots=True)
class Concat:
    items: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class Alternate:
    items: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    item: Tree
    low: int
    high: int | None
    is_greedy: bool


@dataclass(frozen=True, slots=True)
class Assertion:
    kind: Literal["text start", "text end", "line start", "line end", "word", "not word"]


Tree = Concat | Alternate | Repeat | Assertion | Chars
_ASSERTIONS = {"A": Assertion("text start"), "z": Assertion("text end")} | {
    "b": Assertion("word"),
    "B": Assertion("not word"),
}


class PatternError(EvaluationError):
    """The text is not a regular expression that Go would accept."""


def parse_pattern(pattern: str) -> Tree:
    """The tree of a pattern; `PatternError` says what is wrong with it."""
    return _Parser(pattern).parse()


class _Parser:
    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.position = 0
        self.depth = 0
        self.flags = frozenset[str]()

    def fail(self, reason: str) -> NoReturn:
        raise PatternError(f"error parsing regexp: {reason}: `{self.pattern[:200]}`")

    def parse(self) -> Tree:
        tree = self.alternatives()
        if self.position < len(self.pattern):
            self.fail("unexpected )")
        return tree

    def peek(self) -> str:
        return self.pattern[self.position : self.position + 1]

    def match(self, expression: re.Pattern[str]) -> re.Match[str] | None:
        found = expression.match(self.pattern, self.position)
        if found is not None:
            self.position = found.end()
        return found

    def alternatives(self) -> Tree:
        items = [self.sequence()]
        while self.peek() == "|":
            self.position += 1
            items.append(self.sequence())
        return items[0] if len(items) == 1 else Alternate(tuple(items))

    def sequence(self) -> Tree:
        items: list[Tree] = []
        while (character := self.peek()) and character not in "|)":
            if character in "*+?" or (character == "{" and _REPEAT.match(self.pattern, self.position)):
                self.fail("missing argument to repetition operator")
            items += self.repeated(self.atom())
        return items[0] if len(items) == 1 else Concat(tuple(items))

    def repeated(self, items: list[Tree]) -> list[Tree]:
        """The items with the last of them under its quantifier, if there is one."""
        if not items:
            return items
        bounds = self.quantifier()
        if bounds is None:
            return items
        is_lazy = self.peek() == "?"
        self.position += is_lazy
        if self.peek() and self.peek() in "*+?":
            self.fail("invalid nested repetition operator")
        low, high = bounds
        repeat = Repeat(items[-1], low, high, is_lazy == ("U" in self.flags))
        if _expansion(repeat) > MAX_REPEAT:
            self.fail("invalid repeat count")
        return [*items[:-1], repeat]

    def quantifier(self) -> tuple[int, int | None] | None:
        simple = {"*": (0, None), "+": (1, None), "?": (0, 1)}.get(self.peek())
        if simple is not None:
            self.position += 1
            return simple
        found = self.match(_REPEAT)
        if found is None:
            return None
        low = int(found[1])
        high = low if found[2] is None else (int(found[3]) if found[3] else None)
        if low > MAX_REPEAT or (high is not None and (high > MAX_REPEAT or high < low)):
            self.fail("invalid repeat count")
        return low, high

    def atom(self) -> list[Tree]:
        """One thing; none for a change of flags, several for a quotation."""
        character = self.peek()
        if character == "(":
            return self.group()
        if character == "[":
            return [self.bracket()]
        if character == "\\":
            return self.escape()
        self.position += 1
        if character == ".":
            return [Chars(((0, MAX_CODE),)) if "s" in self.flags else Chars(_NEWLINE, is_negated=True)]
        if character == "^":
            return [Assertion("line start" if "m" in self.flags else "text start")]
        if character == "$":
            return [Assertion("line end" if "m" in self.flags else "text end")]
        return [self.literal(ord(character))]

    def literal(self, code: int) -> Chars:
        return Chars(((code, code),), ignores_case="i" in self.flags)

    def group(self) -> list[Tree]:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.fail("expression nests too deeply")
        flags = self.flags
        if not self.pattern.startswith("(?", self.position):
            self.position += 1
        elif not self.match(_NAME):
            found = self.match(_FLAGS)
            if found is None or found[0] == "(?)":
                self.fail("invalid or unsupported Perl syntax")
            self.flags = (flags | set(found[1])) - set(found[2] or "")
            if found[3] == ")":
                self.depth -= 1
                return []
        tree = self.alternatives()
        if self.peek() != ")":
            self.fail("missing closing )")
        self.position += 1
        self.depth -= 1
        self.flags = flags
        return [tree]

    def escape(self) -> list[Tree]:
        self.position += 1
        character = self.peek()
        if character == "Q":
            end = self.pattern.find("\\E", self.position)
            end = len(self.pattern) if end < 0 else end
            quoted = self.pattern[self.position + 1 : end]
            self.position = end + 2
            return [self.literal(ord(each)) for each in quoted]
        if character in _ASSERTIONS and character:
            self.position += 1
            return [_ASSERTIONS[character]]
        ranges, properties = self.escaped_class()
        if ranges is None:
            return [self.literal(self.escaped_code())]
        return [Chars(ranges, properties, ignores_case="i" in self.flags)]

    def escaped_class(self) -> tuple[Ranges | None, tuple[tuple[str, bool], ...]]:
        """After a backslash: `d`, `W`, `pL` and so on; None for anything else."""
        character = self.peek()
        if character.lower() in PERL and character:
            self.position += 1
            ranges = PERL[character.lower()]
            return (ranges if character.islower() else complement(ranges)), ()
        if found := self.match(_PROPERTY):
            is_negated = (found[1] == "P") != (found[2] == "^")
            return (), ((found[3] or found[4], is_negated),)
        return None, ()

    def escaped_code(self) -> int:
        if found := self.match(_HEX):
            code = int(found[1] or found[2], 16)
            return code if code <= MAX_CODE else self.fail("invalid escape sequence")
        if found := self.match(_OCTAL):
            return int(found[0], 8)
        character = self.peek()
        if not character:
            self.fail("trailing backslash at end of expression")
        self.position += 1
        if character in _CONTROLS:
            return _CONTROLS[character]
        if character.isascii() and not character.isalnum():
            return ord(character)
        return self.fail("invalid escape sequence")

    def bracket(self) -> Tree:
        self.position += 1
        is_negated = self.peek() == "^"
        self.position += is_negated
        ranges: list[tuple[int, int]] = []
        properties: list[tuple[str, bool]] = []
        is_first = True
        while is_first or self.peek() != "]":
            if not self.peek():
                self.fail("missing closing ]")
            is_first = False
            self.bracket_item(ranges, properties)
        self.position += 1
        return Chars(merged(ranges), tuple(properties), is_negated, "i" in self.flags)

    def bracket_item(self, ranges: list[tuple[int, int]], properties: list[tuple[str, bool]]) -> None:
        if found := self.match(_POSIX):
            if found[2] not in POSIX:
                self.fail("invalid character class range")
            ranges += complement(POSIX[found[2]]) if found[1] else POSIX[found[2]]
            return
        if self.peek() == "\\":
            self.position += 1
            named, more = self.escaped_class()
            if named is not None:
                ranges += named
                properties += more
                return
            low = self.escaped_code()
        else:
            low = ord(self.peek())
            self.position += 1
        ranges.append((low, self.range_end(low)))

    def range_end(self, low: int) -> int:
        following = self.pattern[self.position : self.position + 2]
        if len(following) < 2 or following[0] != "-" or following[1] == "]":
            return low
        self.position += 1
        if self.peek() == "\\":
            self.position += 1
            high = self.escaped_code()
        else:
            high = ord(self.peek())
            self.position += 1
        if high < low:
            self.fail("invalid character class range")
        return high


def _expansion(tree: Tree) -> int:
    """How many copies the counted repetitions of a tree make of its innermost item."""
    match tree:
        case Repeat():
            return max(tree.low, tree.high or 1, 1) * _expansion(tree.item)
        case Concat() | Alternate():
            return max(map(_expansion, tree.items), default=1)
        case _:
            return 1
