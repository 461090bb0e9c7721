"""The regular expressions of schemas: the same engine as CEL's `matches`.

A schema has no error for a text that is too long to be matched, so such a text does not fit; and a pattern that only
the slow engine could take is refused with the schema.
"""

from __future__ import annotations

from typing import Final

from homeostat.cel.regex import Pattern, PatternError, compile_pattern

_SURE_WEIGHT: Final = 1000
"""Up to here the engine holds every pattern. Compiling one to see touches some megabytes of its code, which a server
whose definitions have no objects never needs.
"""


def schema_pattern(pattern: str) -> Pattern:
    """Compiled; `PatternError` if Go would refuse it or the engine cannot hold it."""
    found = compile_pattern(pattern)
    if found.weight > _SURE_WEIGHT and found.engine is None:
        raise PatternError(f"error parsing regexp: expression too large: `{pattern[:200]}`")
    return found


def fits(pattern: str, text: str) -> bool:
    """Whether the text has a match, as far as that can be said in time; never for a pattern that is refused."""
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
