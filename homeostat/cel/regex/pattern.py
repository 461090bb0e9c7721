"""A compiled pattern: whether it matches, and where.

A pattern is parsed when it is created and compiled when it is first matched: a larger schema needs only its text in the
dialect of the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property, lru_cache

import jsonschema_rs

from homeostat.cel.errors import EvaluationError
from homeostat.cel.regex.classes import Chars
from homeostat.cel.regex.machine import Machine
from homeostat.cel.regex.rendering import render
from homeostat.cel.regex.syntax import Alternate, Concat, Repeat, Tree, parse_pattern

MOST_STEPS = 8_000_000
"""The most characters of a text times the weight of a pattern: about 100 ms, during which the engine cannot be
interrupted.
"""
SLIGHT_WEIGHT = 15
"""Patterns up to this weight match texts of any length quickly: the engine can cache all states of such a pattern."""
_LONGEST_KEPT = 4096
_WIDE_WEIGHT, _UNICODE_WEIGHT = 3, 100
"""The weight of a class beyond ASCII: the engine works on UTF-8, where such a class takes several states."""


class Pattern:
    def __init__(self, pattern: str) -> None:
        self._tree = parse_pattern(pattern)
        self.weight = _weight(self._tree)
        """About how many states an engine follows at once, with all repetitions expanded."""

    def is_match(self, text: str) -> bool:
        """Whether a text has a match anywhere in it; `EvaluationError` if that would take too long."""
        if self.is_too_long(text):
            raise EvaluationError(f"a text of {len(text)} characters is too long to be matched against this pattern")
        return (self.engine or self._is_found)(text)

    def is_too_long(self, text: str) -> bool:
        return self.weight > SLIGHT_WEIGHT and len(text) * self.weight > MOST_STEPS

    def find(self, text: str) -> str | None:
        return next(self.find_all(text), None)

    def find_all(self, text: str) -> Iterator[str]:
        if self.is_match(text):
            for start, end in self._machine.find_all(text):
                yield text[start:end]

    @cached_property
    def rust(self) -> str:
        """The same pattern in the dialect of the Rust engine."""
        return render(self._tree)

    @cached_property
    def engine(self) -> Callable[[str], bool] | None:
        """The match function of the Rust engine; None for the few patterns that are too large for it."""
        schema, options = {"pattern": self.rust}, jsonschema_rs.RegexOptions()
        try:
            return jsonschema_rs.Draft202012Validator(schema, pattern_options=options).is_valid
        except ValueError:
            return None

    @cached_property
    def _machine(self) -> Machine:
        return Machine(self._tree)

    def _is_found(self, text: str) -> bool:
        return self._machine.find(text) is not None


def compile_pattern(pattern: str) -> Pattern:
    """`PatternError` for a pattern that RE2 would refuse."""
    # A tree takes a hundred times the memory of its text, and an expression may take the text from an object.
    return _compiled(pattern) if len(pattern) <= _LONGEST_KEPT else Pattern(pattern)


_compiled = lru_cache(maxsize=2048)(Pattern)


def _weight(tree: Tree) -> int:
    match tree:
        case Concat() | Alternate():
            return sum(map(_weight, tree.items))
        case Repeat():
            return _weight(tree.item) * max(tree.low, tree.high or 1)
        case Chars():
            return _UNICODE_WEIGHT if tree.properties else _WIDE_WEIGHT if tree.is_wide else 1
        case _:
            return 0
