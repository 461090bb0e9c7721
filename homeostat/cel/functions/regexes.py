"""`matches`, `find` and `findAll`."""

from __future__ import annotations

from itertools import islice

from homeostat.cel.regex import compile_pattern
from homeostat.cel.registry import Overload, function, member


def _matches(text: str, pattern: str) -> bool:
    return compile_pattern(pattern).is_match(text)


def _find(text: str, pattern: str) -> str:
    return compile_pattern(pattern).find(text) or ""


def _find_all(text: str, pattern: str, count: int = -1) -> list[str]:
    found = compile_pattern(pattern).find_all(text)
    return list(found if count < 0 else islice(found, count))


def _match_cost(text: str, pattern: str) -> int:
    """Kubernetes' estimate: a tenth a character, times a quarter a character of the pattern."""
    return (len(text) // 10 + 1) * (len(pattern) // 4 + 1)


def _find_cost(text: str, pattern: str, _: int = 0) -> int:
    """Finding runs in Python: a character takes some microseconds, a hundred times as long as for `matches`."""
    return 25 * (len(text) + 1) * (len(pattern) // 4 + 1)


def _match_size(text: int, pattern: int, _: int = 0) -> int:
    """As for `matches`, so that the estimated cost of a schema equals that of Kubernetes."""
    return (text // 10 + 1) * (pattern // 4 + 1)


REGEXES: tuple[Overload, ...] = (
    function("matches(string, string) -> bool", _matches, _match_cost),
    member("string.matches(string) -> bool", _matches, _match_cost),
    member("string.find(string) -> string", _find, _find_cost, result_size=lambda text, _: text, estimate=_match_size),
    member(
        "string.findAll(string) -> list(string)",
        _find_all,
        _find_cost,
        result_size=lambda text, _: text,
        estimate=_match_size,
    ),
    member(
        "string.findAll(string, int) -> list(string)",
        _find_all,
        _find_cost,
        result_size=lambda text, *_: text,
        estimate=_match_size,
    ),
)
