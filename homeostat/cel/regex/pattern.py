"""A compiled pattern: whether it matches, and where."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

import jsonschema_rs

from homeostat.cel.errors import EvaluationError
from homeostat.cel.regex.machine import Machine
from homeostat.cel.regex.rendering import render
from homeostat.cel.regex.syntax import Alternate, Concat, Repeat, Tree, parse_pattern

MOST_STEPS = 8_000_000
"""Characters of a text times the weight of a pattern: about 100 ms, in which nothing can interrupt the engine."""
_SLIGHT_WEIGHT = 15
"""Up to here a text of any length is matched in no time: the engine can hold all that such a pattern may come to."""


class Pattern:
    __slots__ = ("_accepts", "_machine", "_tree", "_weight")

    def __init__(self, pattern: str) -> None:
        self._tree = parse_pattern(pattern)
        self._weight = _weight(self._tree)
        self._machine: Machine | None = None
        self._accepts = _accepting(self._tree) or self._is_found

    def is_match(self, text: str) -> bool:
        """Whether a text has a match anywhere in it; `EvaluationError` where that would take too long to say."""
        if self._weight > _SLIGHT_WEIGHT and len(text) * self._weight > MOST_STEPS:
            raise EvaluationError(f"a text of {len(text)} characters is too long to be matched against this pattern")
        return self._accepts(text)

    @property
    def machine(self) -> Machine:
        if self._machine is None:
            self._machine = Machine(self._tree)
        return self._machine

    def find(self, text: str) -> str | None:
        return next(self.find_all(text), None)

    def find_all(self, text: str) -> Iterator[str]:
        if self.is_match(text):
            for start, end in self.machine.find_all(text):
                yield text[start:end]

    def _is_found(self, text: str) -> bool:
        return self.machine.find(text) is not None


@lru_cache(maxsize=1024)
def compile_pattern(pattern: str) -> Pattern:
    """`EvaluationError` for a pattern that RE2 would refuse."""
    return Pattern(pattern)


def _weight(tree: Tree) -> int:
    """About how many states an engine has to follow at once, with all repeats written out."""
    match tree:
        case Concat() | Alternate():
            return sum(map(_weight, tree.items))
        case Repeat():
            return _weight(tree.item) * max(tree.low, tree.high or 1)
        case _:
            return 1


def _accepting(tree: Tree) -> Callable[[str], bool] | None:
    """The Rust engine's answer; None for the few trees that it refuses (too large when expanded)."""
    schema = {"pattern": render(tree)}
    try:
        options = jsonschema_rs.RegexOptions()
        return jsonschema_rs.Draft202012Validator(schema, pattern_options=options).is_valid
    except ValueError:
        return None
