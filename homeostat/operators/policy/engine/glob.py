"""Name patterns with `*` (any text) and `?` (any character). Pure.

A pattern is matched in time proportional to its length times that of the name, whatever it is: a regular expression of
several `*` may take exponential time, and compiling thousands of them takes seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable


def compile_names(patterns: Iterable[str]) -> Callable[[str], bool]:
    """Whether a name matches one of the patterns."""
    given = tuple(patterns)
    plain = frozenset(each for each in given if "*" not in each and "?" not in each)
    globs = tuple(each for each in given if each not in plain)

    def matches(name: str) -> bool:
        return name in plain or any(is_match(each, name) for each in globs)

    return matches


def is_match(pattern: str, text: str) -> bool:
    """Follows the text once; after a mismatch only the last `*` takes one more character."""
    at = place = 0
    star, resumed = -1, 0
    while place < len(text):
        if at < len(pattern) and pattern[at] == "*":
            star, resumed = at, place
            at += 1
        elif at < len(pattern) and pattern[at] in ("?", text[place]):
            at += 1
            place += 1
        elif star >= 0:
            resumed += 1
            at, place = star + 1, resumed
        else:
            return False
    return all(each == "*" for each in pattern[at:])
