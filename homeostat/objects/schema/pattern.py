r"""The regular expressions of schemas: Go's syntax, matched in linear time.

A pattern comes from whoever may create a CustomResourceDefinition, so a backtracking engine is out of the question.
The engine is the one of `jsonschema_rs`, which reads the syntax of ECMAScript; `translate` rewrites what Go spells
differently: `\z`, `\A`, `\pL`, `\Q..\E`, `(?P<name>..)`, `(?i)` and `(?s)`, `[[:alpha:]]`, `\x{41}`, loose braces.

Linear in the text is still the text times the pattern, in one step that nothing can interrupt: `fits` gives up on what
would take longer than `MOST_STEPS`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

import jsonschema_rs

_CLASSES = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": r"\x00-\x7f",
    "blank": r"\t ",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-\/:-@\[-`{-~",
    "space": r"\t\n\x0b\f\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
_REPEAT = re.compile(r"\{\d+(,\d*)?\}")
_GROUP = re.compile(r"\(\?(?:P?<\w+>|(?P<flags>[ims]*)(?:-(?P<off>[ims]+))?(?P<end>[:)]))")
_ESCAPES = {"A": "^", "z": "$", "a": r"\x07", "C": r"[\s\S]"}
_MOST_REPEATS = 1000
# Every alternative repeats the groups that flags have opened before it.
_MOST_FLAGS = 20
_MODIFIERS = ("i", "s")
_ANY_WEIGHT, _UNICODE_WEIGHT = 3, 100

MOST_STEPS = 8_000_000
"""Characters of a text times the weight of a pattern: about 100 ms."""
SLIGHT_WEIGHT = 15
"""Up to here a text of any length is matched in no time: the engine can hold all that such a pattern may come to."""


class PatternError(ValueError):
    """The text is not a regular expression that Go would take."""


@lru_cache(maxsize=2048)
def matcher(pattern: str) -> Callable[[str], bool]:
    """Tells whether a string has a match for the pattern anywhere; `PatternError` if the pattern is none."""
    try:
        validator = jsonschema_rs.Draft7Validator(
            {"pattern": translate(pattern)}, pattern_options=jsonschema_rs.RegexOptions()
        )
    except (ValueError, RecursionError, jsonschema_rs.ValidationError) as error:
        raise PatternError(f"error parsing regexp: {pattern!r} is not in the syntax of Go") from error
    return validator.is_valid


def fits(pattern: str, text: str) -> bool:
    """Whether the text has a match, as far as that can be said in time; `PatternError` if the pattern is none."""
    return not is_too_long(pattern, text) and matcher(pattern)(text)


def is_too_long(pattern: str, text: str) -> bool:
    try:
        states = weight(pattern)
    except PatternError:
        return False
    return states > SLIGHT_WEIGHT and len(text) * states > MOST_STEPS


def weight(pattern: str) -> int:
    """About how many states an engine has to follow at once, with all repeats written out; `PatternError`."""
    return _read(pattern)[1]


def translate(pattern: str) -> str:
    """The same expression in the syntax of ECMAScript."""
    return _read(pattern)[0]


@lru_cache(maxsize=2048)
def _read(pattern: str) -> tuple[str, int]:
    reader = _Reader(pattern)
    translated = reader.sequence("")
    if reader.at < len(pattern):
        raise PatternError("unexpected )")
    return translated, reader.weight


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.weight = 0
        """Of what was read last: a character, a class, or a whole sequence."""

    def sequence(self, flags: str) -> str:
        """Reads up to the end or to the bracket that closes a group, which is left unread."""
        out: list[str] = []
        weights = [0]
        opened: list[
            str
        ] = []  # groups that bare flags have opened: they end with the sequence, not with an alternative
        while self.at < len(self.text) and self.text[self.at] != ")":
            char = self.text[self.at]
            self.weight = 1
            if char == "\\":
                out.append(self.escape(in_class=False))
            elif char == "[":
                out.append(self.bracket())
            elif char == "(":
                piece, flags, is_open = self.group(flags)
                out.append(piece)
                opened += [piece] if is_open else []
                if len(opened) > _MOST_FLAGS:
                    raise PatternError("flags are changed too often")
            elif char == "|":
                self.at += 1
                self.weight = 0
                out += [")" * len(opened), "|", *opened]
            else:
                self.at += 1
                out.append(self.plain(char, flags))
                if _REPEAT.fullmatch(out[-1]):
                    weights[-1] *= max(map(int, re.findall(r"\d+", out[-1])))
                    continue
            weights.append(self.weight)
        self.weight = sum(weights)
        return "".join(out) + ")" * len(opened)

    def plain(self, char: str, flags: str) -> str:
        if char in "*+?^$":
            self.weight = 0
        if char == ".":
            self.weight = _ANY_WEIGHT
            return r"[\s\S]" if "s" in flags else r"[^\n]"
        if char == "{":
            repeat = _REPEAT.match(self.text, self.at - 1)
            if repeat is None:
                return r"\{"
            if any(int(count) > _MOST_REPEATS for count in re.findall(r"\d+", repeat.group())):
                raise PatternError("invalid repeat count")
            self.at = repeat.end()
            return repeat.group()
        return "\\" + char if char in "]}" else char

    def group(self, flags: str) -> tuple[str, str, bool]:
        """The translated group, the flags from here on, and whether it is one that a bare flag has opened."""
        found = _GROUP.match(self.text, self.at)
        if self.text.startswith("(?", self.at) and found is None:
            raise PatternError("this group is not supported")
        self.at = found.end() if found else self.at + 1
        opening, inner = "(?:", flags
        if found and found["end"]:
            on, off = found["flags"], found["off"] or ""
            if "m" in on:
                raise PatternError("multi-line mode is not supported")
            inner = "".join(flag for flag in _MODIFIERS if (flag in flags or flag in on) and flag not in off)
            opening = "(?i:" if "i" in on else "(?-i:" if "i" in off and "i" in flags else "(?:"
            if found["end"] == ")":
                return opening, inner, True
        body = self.sequence(inner)
        if self.at >= len(self.text):
            raise PatternError("missing closing )")
        self.at += 1
        return f"{opening}{body})", flags, False

    def escape(self, *, in_class: bool) -> str:
        if self.at + 1 >= len(self.text):
            raise PatternError("trailing backslash at end of expression")
        char = self.text[self.at + 1]
        self.at += 2
        if char == "Q" and not in_class:
            end = self.text.find(r"\E", self.at)
            literal = self.text[self.at : end if end >= 0 else len(self.text)]
            self.at = end + 2 if end >= 0 else len(self.text)
            self.weight = len(literal)
            return "".join(_literal(each) for each in literal)
        if char in "pP":
            return self.unicode_class(char)
        if char == "x" and self.text.startswith("{", self.at):
            end = self.text.find("}", self.at)
            code = self.text[self.at + 1 : end]
            if end < 0 or not re.fullmatch("[0-9A-Fa-f]{1,6}", code) or int(code, 16) > 0x10FFFF:
                raise PatternError("invalid escape sequence")
            self.at = end + 1
            return _literal(chr(int(code, 16)))
        if not in_class and char in _ESCAPES:
            return _ESCAPES[char]
        if char.isalnum() and char not in ("dDwWsSbBfnrtvx" if not in_class else "dDwWsSfnrtvx"):
            raise PatternError("invalid escape sequence")
        return f"\\{char}" if char.isalnum() else _literal(char)

    def unicode_class(self, negation: str) -> str:
        self.weight = _UNICODE_WEIGHT
        if self.text.startswith("{", self.at):
            end = self.text.find("}", self.at)
            if end < 0:
                raise PatternError("invalid character class range")
            name = self.text[self.at + 1 : end]
            self.at = end + 1
        else:
            name = self.text[self.at : self.at + 1]
            self.at += 1
        if name.startswith("^"):
            negation, name = ("P" if negation == "p" else "p"), name[1:]
        return f"\\{negation}{{{name}}}"

    def bracket(self) -> str:
        self.at += 1
        out = ["["]
        if self.text.startswith("^", self.at):
            self.at += 1
            out.append("^")
            self.weight = _ANY_WEIGHT
        first = True
        while first or not self.text.startswith("]", self.at):
            if self.at >= len(self.text):
                raise PatternError("missing closing ]")
            out.append(self.class_item())
            first = False
        self.at += 1
        return "".join(out) + "]"

    def class_item(self) -> str:
        named = re.compile(r"\[:(\^?)(\w+):\]").match(self.text, self.at)
        if named:
            if named[1] or named[2] not in _CLASSES:
                raise PatternError("invalid character class range")
            self.at = named.end()
            return _CLASSES[named[2]]
        low = self.class_char()
        if len(self.text) > self.at + 1 and self.text[self.at] == "-" and self.text[self.at + 1] != "]":
            if re.fullmatch(r"\\[dDwWsS]|\\[pP]\{.*\}", low):
                return low  # a dash after a class is a dash, and is read next
            self.at += 1
            return f"{low}-{self.class_char()}"
        return low

    def class_char(self) -> str:
        if self.at >= len(self.text):
            raise PatternError("missing closing ]")
        if self.text[self.at] == "\\":
            return self.escape(in_class=True)
        self.at += 1
        char = self.text[self.at - 1]
        return f"\\{char}" if char in "]-^[" else char


def _literal(char: str) -> str:
    if ord(char) < 0x80 and not char.isalnum():
        return f"\\x{ord(char):02x}"
    return char
