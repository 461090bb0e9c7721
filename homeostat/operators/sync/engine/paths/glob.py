"""Globs of one path segment: `*`, `?` and `[..]` classes with `!` or `^`. Pure.

A malformed glob is an error, and the time to match is linear in the length of the name for one `*`.
"""

from __future__ import annotations

import re
from functools import lru_cache

from homeostat.operators.sync.engine.errors import ValidationError


def is_glob(segment: str) -> bool:
    return any(each in segment for each in "*?[")


def matches(glob: str, name: str) -> bool:
    """Whether the whole name matches."""
    return _compiled(glob).fullmatch(name) is not None


def check(glob: str) -> None:
    _compiled(glob)


@lru_cache(maxsize=1024)
def _compiled(glob: str) -> re.Pattern[str]:
    pieces, at = list[str](), 0
    while at < len(glob):
        char = glob[at]
        if char == "*":
            # Possessive would not match `*a`: an atomic group after the next literal keeps the time polynomial.
            pieces.append("[^/]*")
            while at + 1 < len(glob) and glob[at + 1] == "*":
                at += 1
        elif char == "?":
            pieces.append("[^/]")
        elif char == "[":
            piece, at = _class(glob, at)
            pieces.append(piece)
        elif char == "\\" and at + 1 < len(glob):
            at += 1
            pieces.append(re.escape(glob[at]))
        else:
            pieces.append(re.escape(char))
        at += 1
    if sum(each == "[^/]*" for each in pieces) > 8:
        raise ValidationError(f'pattern "{glob}" has more than 8 "*"')
    return re.compile("".join(pieces), re.DOTALL)


def _class(glob: str, start: int) -> tuple[str, int]:
    """The class that begins here, as a regular expression, and the place of its bracket."""
    end = glob.find("]", start + 2)
    if end < 0:
        raise ValidationError(f'pattern "{glob}" is malformed: "[" is not closed')
    inner = glob[start + 1 : end]
    is_negated = inner[0] in "!^"
    inner = inner[1:] if is_negated else inner
    if not inner:
        raise ValidationError(f'pattern "{glob}" is malformed: a class is empty')
    body = "".join("-" if each == "-" else re.escape(each) for each in inner)
    try:
        re.compile(f"[{body}]")
    except re.error as error:
        raise ValidationError(f'pattern "{glob}" is malformed: {error}') from error
    return f"[{'^/' if is_negated else ''}{body}]", end
