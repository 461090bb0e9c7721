"""Globs of one path segment: `*`, `?` and `[..]` classes with `!` or `^`. Pure.

A malformed glob is an error. The time to match is at most the length of the glob times that of the name: names come
from servers and from webhooks.
"""

from __future__ import annotations

import re

from homeostat.objects.memory.cache import cached
from homeostat.operators.sync.engine.errors import ValidationError


def is_glob(segment: str) -> bool:
    return any(each in segment for each in "*?[")


def matches(glob: str, name: str) -> bool:
    """Whether the whole name matches."""
    return _compiled(glob).fullmatch(name) is not None


def check(glob: str) -> None:
    _compiled(glob)


@cached(1024)
def _compiled(glob: str) -> re.Pattern[str]:
    parts, at = [""], 0  # what stands before, between and behind the stars
    while at < len(glob):
        char = glob[at]
        if char == "*":
            parts.append("")
        elif char == "?":
            parts[-1] += "[^/]"
        elif char == "[":
            piece, at = _class(glob, at)
            parts[-1] += piece
        elif char == "\\" and at + 1 < len(glob):
            at += 1
            parts[-1] += re.escape(glob[at])
        else:
            parts[-1] += re.escape(char)
        at += 1
    first, *rest = parts
    if not rest:
        return re.compile(first, re.DOTALL)
    *between, last = rest
    # The first place where a part matches is as good as any later one, so the group need not be left again.
    found = "".join([f"(?>[^/]*?{each})" for each in between if each])
    return re.compile(f"{first}{found}[^/]*{last}", re.DOTALL)


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
