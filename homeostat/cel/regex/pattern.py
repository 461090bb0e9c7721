"""A compiled pattern: whether it matches, and where."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

import jsonschema_rs

from homeostat.cel.regex.machine import Machine
from homeostat.cel.regex.rendering import render
from homeostat.cel.regex.syntax import Tree, parse_pattern


class Pattern:
    """`is_match` says whether a text has a match anywhere in it."""

    __slots__ = ("_machine", "_tree", "is_match")

    is_match: Callable[[str], bool]

    def __init__(self, pattern: str) -> None:
        self._tree = parse_pattern(pattern)
        self._machine: Machine | None = None
        self.is_match = _accepting(self._tree) or self._is_found

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


def _accepting(tree: Tree) -> Callable[[str], bool] | None:
    """The Rust engine's answer; None for the few trees that it refuses (too large when expanded)."""
    schema = {"pattern": render(tree)}
    try:
        options = jsonschema_rs.RegexOptions()
        return jsonschema_rs.Draft202012Validator(schema, pattern_options=options).is_valid
    except ValueError:
        return None
