"""`.pactoignore`: which files of a directory are not part of its bundle. Pure.

A subset of gitignore: comments, `!`, a slash at the end for directories, a slash in front or inside anchors a pattern,
`*`, `?` and `[]` stay within a step, `**` is a step of its own. The last rule that matches counts, and an ignored
directory hides its files. `.git`, `.DS_Store` and the file itself never belong to a bundle, `pacto.yaml` always does.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from homeostat.objects.memory.cache import cached
from homeostat.operators.contracts.engine.files import CONTRACT_FILE, IGNORE_FILE

MAX_RULES: Final = 200
_ALWAYS: Final = frozenset({".git", IGNORE_FILE, ".DS_Store"})


class Rule(msgspec.Struct, frozen=True):
    steps: tuple[str, ...]
    is_negated: bool
    is_for_directories: bool

    def matches(self, steps: tuple[str, ...], *, is_directory: bool) -> bool:
        return (is_directory or not self.is_for_directories) and _match(self.steps, steps)


class Ignore(msgspec.Struct, frozen=True):
    rules: tuple[Rule, ...] = ()

    def hides(self, path: str) -> bool:
        """Return whether a file is ignored; the path has slashes."""
        return not self.visible([path])

    def visible(self, paths: Iterable[str]) -> list[str]:
        """Return the files that are not ignored; each directory is matched once."""
        known: dict[str, bool] = {}
        return [
            path
            for path in paths
            if path == CONTRACT_FILE
            or not (
                self._hides_directory(path.rpartition("/")[0], known)
                or self.hides_entry(tuple(path.split("/")), is_directory=False)
            )
        ]

    def _hides_directory(self, path: str, known: dict[str, bool]) -> bool:
        if not path:
            return False
        if path not in known:
            parent = path.rpartition("/")[0]
            known[path] = self._hides_directory(parent, known) or self.hides_entry(
                tuple(path.split("/")), is_directory=True
            )
        return known[path]

    def hides_entry(self, steps: tuple[str, ...], *, is_directory: bool) -> bool:
        """Return whether one directory or file is ignored, regardless of its parents; for callers that walk a tree."""
        if steps[-1] in _ALWAYS:
            return True
        if steps == (CONTRACT_FILE,):
            return False
        last = next((each for each in reversed(self.rules) if each.matches(steps, is_directory=is_directory)), None)
        return last is not None and not last.is_negated


def read_ignore(data: bytes | None) -> Ignore:
    """Read the rules of a `.pactoignore`. Lines beyond `MAX_RULES` are not read."""
    lines = (data or b"").decode(errors="replace").splitlines()[:MAX_RULES]
    return Ignore(tuple(rule for line in lines if (rule := _rule(line)) is not None))


def _rule(line: str) -> Rule | None:
    text = line.strip()
    if not text or text.startswith("#"):
        return None
    is_negated = text.startswith("!")
    text = text.removeprefix("!").removeprefix("\\")
    is_for_directories = text.endswith("/")
    text = text.rstrip("/")
    is_anchored = "/" in text
    steps = tuple(each for each in text.split("/") if each)
    if not steps:
        return None
    return Rule(steps if is_anchored else ("**", *steps), is_negated, is_for_directories)


def _match(pattern: tuple[str, ...], steps: tuple[str, ...]) -> bool:
    """Match steps against patterns in time proportional to their product."""
    reached = {0}
    for number, part in enumerate(pattern, 1):
        if part == "**":
            # At the end it is all that is inside a directory, and not the directory itself.
            first = min(reached) + (number == len(pattern))
            reached = set(range(first, len(steps) + 1))
        else:
            reached = {place + 1 for place in reached if place < len(steps) and matches_step(part, steps[place])}
        if not reached:
            return False
    return len(steps) in reached


@cached(4096)
def matches_step(pattern: str, name: str) -> bool:
    """Match one step; the time is at most proportional to the product of the lengths."""
    star, resume, at, place = -1, 0, 0, 0
    while place < len(name):
        length = _one(pattern, at, name[place]) if at < len(pattern) and pattern[at] != "*" else 0
        if length:
            at, place = at + length, place + 1
        elif at < len(pattern) and pattern[at] == "*":
            star, resume, at = at, place, at + 1
        elif star >= 0:
            resume += 1
            at, place = star + 1, resume
        else:
            return False
    return not pattern[at:].strip("*")


def _one(pattern: str, at: int, mark: str) -> int:
    """Return how many characters of the pattern match this one; 0 if it does not match."""
    first = pattern[at]
    if first == "?":
        return 1
    end = pattern.find("]", at + 2) if first == "[" else -1
    if end > 0:
        return end - at + 1 if _in_class(pattern[at + 1 : end], mark) else 0
    if first == "\\" and at + 1 < len(pattern):
        return 2 if pattern[at + 1] == mark else 0
    return 1 if first == mark else 0


def _in_class(marks: str, mark: str) -> bool:
    is_negated = marks[0] in "!^"
    marks = marks[1:] if is_negated else marks
    place, found = 0, False
    while place < len(marks):
        if marks[place + 1 : place + 2] == "-" and place + 2 < len(marks):
            found = found or marks[place] <= mark <= marks[place + 2]
            place += 3
        else:
            found = found or marks[place] == mark
            place += 1
    return found != is_negated
