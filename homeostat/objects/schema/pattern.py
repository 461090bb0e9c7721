"""The regular expressions of schemas: the same engine as CEL's `matches`.

A schema has no error for a text that is too long to be matched, so such a text is invalid. A pattern that only the slow
engine could match makes the schema invalid.
"""

from __future__ import annotations

from typing import Final

from homeostat.cel.regex import Pattern, PatternError, compile_pattern

_SURE_WEIGHT: Final = 1000
"""The engine accepts every pattern up to this length. Compiling one to find out loads some megabytes of its code,
which a server whose definitions have no objects never needs.
"""


def schema_pattern(pattern: str) -> Pattern:
    """The compiled pattern; `PatternError` if Go would reject it or the engine cannot compile it."""
    found = compile_pattern(pattern)
    if found.weight > _SURE_WEIGHT and found.engine is None:
        raise PatternError(f"error parsing regexp: expression too large: `{pattern[:200]}`")
    return found


def fits(pattern: str, text: str) -> bool:
    """Whether the text has a match; False if matching would take too long, and for an invalid pattern."""
    try:
        found = schema_pattern(pattern)
    except PatternError:
        return False
    return not found.is_too_long(text) and found.is_match(text)


def is_too_long(pattern: str, text: str) -> bool:
    try:
        return compile_pattern(pattern).is_too_long(text)
    except PatternError:
        return False
