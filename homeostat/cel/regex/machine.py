"""A machine that follows all alternatives of a pattern at once, in their order of preference (Pike's).

It finds the leftmost match, and of those the one that a backtracking engine would find first, in time proportional to
the text's length times the program's. Finding all matches may scan the same text again for each; a limit on steps
keeps that bounded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from homeostat.cel.errors import EvaluationError
from homeostat.cel.regex.classes import CATEGORIES, Chars
from homeostat.cel.regex.syntax import Alternate, Assertion, Concat, PatternError, Repeat, Tree

MAX_INSTRUCTIONS = 10_000
MAX_STEPS = 4_000_000

Span = tuple[int, int]
_SPLIT, _JUMP, _ASSERT, _CHARS, _MATCH = range(5)
Instruction = tuple[int, int, int, Callable[[str, int], bool] | None, Chars | None]


def _is_word(text: str, index: int) -> bool:
    return 0 <= index < len(text) and text[index].isascii() and (text[index].isalnum() or text[index] == "_")


_HOLDS: dict[str, Callable[[str, int], bool]] = {
    "text start": lambda _, at: at == 0,
    "text end": lambda text, at: at == len(text),
    "line start": lambda text, at: at == 0 or text[at - 1] == "\n",
    "line end": lambda text, at: at == len(text) or text[at] == "\n",
    "word": lambda text, at: _is_word(text, at - 1) is not _is_word(text, at),
    "not word": lambda text, at: _is_word(text, at - 1) is _is_word(text, at),
}


class Machine:
    def __init__(self, tree: Tree) -> None:
        self.program: list[Instruction] = []
        self._emit(tree)
        self._add(_MATCH)
        self._tested: list[dict[str, bool]] = [{} for _ in self.program]

    @property
    def size(self) -> int:
        return len(self.program)

    def find(self, text: str) -> Span | None:
        return next(self.find_all(text), None)

    def find_all(self, text: str) -> Iterator[Span]:
        """The matches from left to right that do not overlap; an empty one never touches the one before."""
        steps = [MAX_STEPS]
        start, previous_end = 0, -1
        while start <= len(text) and (span := self._search(text, start, steps)) is not None:
            if span[0] != span[1] or span[1] != previous_end:
                yield span
            previous_end = span[1]
            start = span[1] if span[0] != span[1] else span[1] + 1

    def _add(self, kind: int, one: int = 0, two: int = 0, *, chars: Chars | None = None, at: str = "") -> int:
        if len(self.program) >= MAX_INSTRUCTIONS:
            raise PatternError("error parsing regexp: expression too large")
        self.program.append((kind, one, two, _HOLDS.get(at), chars))
        return len(self.program) - 1

    def _emit(self, tree: Tree) -> None:
        match tree:
            case Chars():
                if any(name not in CATEGORIES for name, _ in tree.properties):
                    raise EvaluationError("find and findAll know Unicode's categories, but not its scripts")
                self._add(_CHARS, chars=tree)
            case Assertion():
                self._add(_ASSERT, at=tree.kind)
            case Concat():
                for item in tree.items:
                    self._emit(item)
            case Alternate():
                self._emit_alternatives(tree)
            case Repeat():
                self._emit_repeat(tree)

    def _emit_alternatives(self, tree: Alternate) -> None:
        jumps = []
        for item in tree.items[:-1]:
            split = self._add(_SPLIT)
            self._emit(item)
            jumps.append(self._add(_JUMP))
            self._patch(split, split + 1, len(self.program))
        self._emit(tree.items[-1])
        for jump in jumps:
            self._patch(jump, len(self.program))

    def _emit_repeat(self, tree: Repeat) -> None:
        for _ in range(tree.low):
            self._emit(tree.item)
        if tree.high is None:
            split = self._add(_SPLIT)
            self._emit(tree.item)
            self._add(_JUMP, split)
            self._patch_choice(split, tree)
            return
        splits = []
        for _ in range(tree.high - tree.low):
            splits.append(self._add(_SPLIT))
            self._emit(tree.item)
        for split in splits:
            self._patch_choice(split, tree)

    def _patch_choice(self, split: int, tree: Repeat) -> None:
        end = len(self.program)
        self._patch(split, *((split + 1, end) if tree.is_greedy else (end, split + 1)))

    def _patch(self, index: int, one: int, two: int = 0) -> None:
        kind, _, _, holds, chars = self.program[index]
        self.program[index] = (kind, one, two, holds, chars)

    def _search(self, text: str, start: int, steps: list[int]) -> Span | None:
        threads: list[Span] = []
        found: Span | None = None
        for at in range(start, len(text) + 1):
            seen: set[int] = set()
            current: list[Span] = []
            for pc, begin in threads:
                self._follow(current, seen, pc, begin, text, at)
            if found is None:
                self._follow(current, seen, 0, at, text, at)
            elif not current:
                break
            steps[0] -= len(seen) + 1
            if steps[0] < 0:
                raise EvaluationError("regular expression takes too many steps on this text")
            threads, ended = self._advance(current, text, at)
            if ended is not None:
                found = (ended, at)
        return found

    def _advance(self, current: list[Span], text: str, at: int) -> tuple[list[Span], int | None]:
        """The threads that go on past a character, and the begin of a match that ends before it."""
        character = text[at] if at < len(text) else None
        threads: list[Span] = []
        for pc, begin in current:
            chars = self.program[pc][4]
            if chars is None:
                return threads, begin
            if character is not None:
                tested = self._tested[pc]
                matches = tested.get(character)
                if matches is None:
                    matches = tested[character] = chars.matches(character)
                if matches:
                    threads.append((pc + 1, begin))
        return threads, None

    def _follow(self, into: list[Span], seen: set[int], start: int, begin: int, text: str, at: int) -> None:
        """All instructions that wait for a character, reached from one by jumps and splits, best first."""
        stack = [start]
        while stack:
            pc = stack.pop()
            if pc in seen:
                continue
            seen.add(pc)
            kind, one, two, holds, _ = self.program[pc]
            if kind == _SPLIT:
                stack += (two, one)
            elif kind == _JUMP:
                stack.append(one)
            elif kind == _ASSERT:
                if holds is not None and holds(text, at):
                    stack.append(pc + 1)
            else:
                into.append((pc, begin))
