r"""The JSONPath of printer columns, compiled once to a function.

The language is the part of Kubernetes' own dialect that columns use: `.a.b`, `['a.b']`, `.a\.b`, `[0]`, `[-1]`,
`[1:3]`, `[*]`, `.*`, `..name`, `['a','b']` and filters `[?(@.type=="Ready")]`, `[?(@.ready)]`. A path that
finds nothing is not an error; an invalid path raises `JSONPathError` when it is compiled.

A path may combine steps that each find many values (`..a..a`, `['a','a']['a','a']`), so an evaluation takes at most
`MAX_STEPS` steps: a path that needs more finds nothing. The columns of a row share one `Budget`.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from homeostat.objects.json import Json
from homeostat.objects.lazy_pattern import lazy_pattern

MAX_LENGTH = 4096
"""The most characters of a path."""
MAX_STEPS = 20_000
"""The most values that one evaluation looks at."""

Find = Callable[[Json], list[Json]]


class JSONPathError(ValueError):
    """The text is not a supported JSONPath."""


class _SpentError(Exception):
    """The evaluation would take more than `MAX_STEPS` steps."""


class Budget:
    """The steps that are left of one evaluation, or of several that share them."""

    __slots__ = ("_steps",)

    def __init__(self, steps: int = MAX_STEPS) -> None:
        self._steps = steps

    def spend(self, steps: int) -> None:
        self._steps -= steps
        if self._steps < 0:
            raise _SpentError


_Step = Callable[[Json, Budget], Iterator[Json]]
_Chain = Callable[[Json, Budget], list[Json]]


class _First(Protocol):
    def __call__(self, value: Json, budget: Budget | None = None, /) -> Json: ...


class Path:
    """A compiled path. `first` is what a column shows; `all` is every value found, in document order.

    `is_combined` says that it may take many more steps than an object has values.
    """

    __slots__ = ("all", "first", "is_combined", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        if len(text) > MAX_LENGTH:
            raise JSONPathError(
                f"unrecognized JSONPath {text[:32]!r}...: it has {len(text)} characters; the limit is {MAX_LENGTH}"
            )
        steps = _parse(text)
        found = _within_budget(_chain(steps))
        self.all: Find = lambda value: found(value, Budget())
        names = [each.name for each in steps if isinstance(each, _Field)]
        self.first = _field_reader(tuple(names)) if len(names) == len(steps) else _first_of(found)
        self.is_combined = len(steps) - len(names) > 1


def compile_path(text: str) -> Path:
    return Path(text)


class _Field:
    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, value: Json, budget: Budget) -> Iterator[Json]:
        if isinstance(value, dict) and self.name in value:
            yield value[self.name]


def _field_reader(names: tuple[str, ...]) -> _First:
    """The common case, a chain of member names, without building lists."""

    def read(value: Json, _budget: Budget | None = None) -> Json:
        for name in names:
            if not isinstance(value, dict):
                return None
            value = value.get(name)
        return value

    return read


def _first_of(find: _Chain) -> _First:
    def read(value: Json, budget: Budget | None = None) -> Json:
        found = find(value, budget or Budget())
        return found[0] if found else None

    return read


def _within_budget(chain: _Chain) -> _Chain:
    def find(value: Json, budget: Budget) -> list[Json]:
        try:
            return chain(value, budget)
        except _SpentError:
            return []

    return find


def _chain(steps: list[_Step]) -> _Chain:
    def find(value: Json, budget: Budget) -> list[Json]:
        values = [value]
        for step in steps:
            budget.spend(len(values))
            values = [found for each in values for found in step(each, budget)]
        return values

    return find


def _wildcard(value: Json, budget: Budget) -> Iterator[Json]:
    if isinstance(value, (dict, list)):
        budget.spend(len(value))
        yield from value if isinstance(value, list) else value.values()


def _descend(name: str) -> _Step:
    def step(value: Json, budget: Budget) -> Iterator[Json]:
        waiting = [value]
        while waiting:
            value = waiting.pop()
            if isinstance(value, dict) and name in value:
                yield value[name]
            waiting.extend(reversed(list(_wildcard(value, budget))))

    return step


def _index(index: int) -> _Step:
    def step(value: Json, _budget: Budget) -> Iterator[Json]:
        if isinstance(value, list) and -len(value) <= index < len(value):
            yield value[index]

    return step


def _slice(bounds: slice) -> _Step:
    def step(value: Json, budget: Budget) -> Iterator[Json]:
        if isinstance(value, list):
            found = value[bounds]
            budget.spend(len(found))
            yield from found

    return step


def _union(steps: list[_Step]) -> _Step:
    def step(value: Json, budget: Budget) -> Iterator[Json]:
        for each in steps:
            yield from each(value, budget)

    return step


def _filter(holds: Callable[[Json, Budget], bool]) -> _Step:
    def step(value: Json, budget: Budget) -> Iterator[Json]:
        if isinstance(value, list):
            budget.spend(len(value))
            yield from (each for each in value if holds(each, budget))

    return step


_NAME = lazy_pattern(r"(?:[^.\[\]\\'\"\s*]|\\.)+")
_INDEX = lazy_pattern(r"-?\d{1,18}", re.ASCII)
_SLICE = lazy_pattern(r"(-?\d{0,18}):(-?\d{0,18})(?::(-?\d{0,18}))?", re.ASCII)
_QUOTED = lazy_pattern(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"")
_COMPARISON = lazy_pattern(r"(.+?)(==|!=|<=|>=|<|>)(.+)", re.DOTALL)
_NUMBER = lazy_pattern(r"-?\d{1,300}(\.\d+)?", re.ASCII)


def _unescape(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text) if "\\" in text else text


def _parse(text: str) -> list[_Step]:
    body = text.strip()
    if body.startswith("{") and body.endswith("}"):
        body = body[1:-1].strip()
    body = body.removeprefix("$")
    if not body:
        raise JSONPathError(f"unrecognized JSONPath {text!r}: it is empty")
    steps: list[_Step] = []
    position = 0
    while position < len(body):
        position = _parse_step(body, position, steps)
    return steps


def _parse_step(body: str, position: int, steps: list[_Step]) -> int:
    """Append the step that begins at `position` and return where the next one begins."""
    if body[position] == "[":
        end = _closing_bracket(body, position)
        steps.append(_bracket(body[position + 1 : end].strip()))
        return end + 1
    is_recursive = body.startswith("..", position)
    if body[position] == ".":
        position += 2 if is_recursive else 1
    elif position:
        raise JSONPathError(f"unrecognized JSONPath {body!r}: expected '.' or '[' at {position}")
    if (position == len(body) and not is_recursive) or body.startswith("[", position):
        return position
    if body.startswith("*", position):
        steps.append(_wildcard)
        return position + 1
    found = _NAME.match(body, position)
    if found is None:
        raise JSONPathError(f"unrecognized JSONPath {body!r}: expected a name at {position}")
    name = _unescape(found.group())
    steps.append(_descend(name) if is_recursive else _Field(name))
    return found.end()


def _closing_bracket(body: str, position: int) -> int:
    depth, quote = 0, ""
    for at in range(position, len(body)):
        char = body[at]
        if quote:
            if char == quote and body[at - 1] != "\\":
                quote = ""
        elif char in "'\"":
            quote = char
        elif char == "[":
            depth += 1
        elif char == "]":
            depth -= 1
            if not depth:
                return at
    raise JSONPathError(f"unrecognized JSONPath {body!r}: '[' at {position} is not closed")


def _bracket(inner: str) -> _Step:
    if inner == "*":
        return _wildcard
    if inner.startswith("?(") and inner.endswith(")"):
        return _filter(_condition(inner[2:-1].strip()))
    if _INDEX.fullmatch(inner):
        return _index(int(inner))
    if found := _SLICE.fullmatch(inner):
        return _slice(_slice_of(found))
    names = _QUOTED.findall(inner)
    if names and re.fullmatch(r"\s*,?\s*", _QUOTED.sub("", inner).replace(",", "")):
        steps: list[_Step] = [_Field(_unescape(single or double)) for single, double in names]
        return steps[0] if len(steps) == 1 else _union(steps)
    raise JSONPathError(f"unrecognized JSONPath: cannot read [{inner}]")


def _slice_of(found: re.Match[str]) -> slice:
    start, stop, step = (int(each) if each and each != "-" else None for each in found.groups())
    if step == 0:
        raise JSONPathError(f"unrecognized JSONPath: the step of [{found.group()}] is zero")
    return slice(start, stop, step)


_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def _condition(text: str) -> Callable[[Json, Budget], bool]:
    found = _COMPARISON.fullmatch(text)
    if found is None:
        exists = _operand(text)
        return lambda value, budget: bool(exists(value, budget))
    left, compare, right = _operand(found[1].strip()), _COMPARE[found[2]], _operand(found[3].strip())

    def holds(value: Json, budget: Budget) -> bool:
        lefts, rights = left(value, budget), right(value, budget)
        if not lefts or not rights:
            return False
        try:
            return compare(lefts[0], rights[0])
        except TypeError:
            return False

    return holds


def _operand(text: str) -> _Chain:
    if text.startswith("@"):
        return _chain(_parse(text[1:])) if len(text) > 1 else lambda value, _budget: [value]
    if quoted := _QUOTED.fullmatch(text):
        literal: Json = _unescape(quoted[1] if quoted[1] is not None else quoted[2])
    elif _NUMBER.fullmatch(text):
        literal = float(text) if "." in text else int(text)
    elif text in ("true", "false"):
        literal = text == "true"
    else:
        raise JSONPathError(f"unrecognized JSONPath: cannot read {text!r} in a filter")
    return lambda _value, _budget: [literal]
