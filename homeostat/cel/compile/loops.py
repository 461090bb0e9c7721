"""The comprehensions: `all`, `exists`, `map`, `filter` and the like.

The cost of all iterations is charged before the loop starts, and an early end refunds the rest, so that iterations need
no accounting of their own. `all` and `exists` absorb errors as `&&` and `||` do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import length_hint
from typing import Any

from homeostat.cel.check.cost import iteration_cost
from homeostat.cel.compile.frame import Code, Frame
from homeostat.cel.compile.logic import boolean
from homeostat.cel.compile.scope import Compiling
from homeostat.cel.errors import ABSORBING_COST, EvaluationError, NoSuchOverloadError, shown
from homeostat.cel.meter import spend
from homeostat.cel.syntax.tree import Comprehension
from homeostat.cel.types import ListType, MapType


def loop(compiler: Compiling, node: Comprehension) -> Code:
    source = compiler.code(node.source)
    cost = iteration_cost(node)
    slots = compiler.scope.open(node.variables)
    is_predicate = node.kind in ("all", "exists", "existsOne", "filter")
    body = boolean(compiler, node.body) if is_predicate else compiler.code(node.body)
    test = boolean(compiler, node.test) if node.test is not None else None
    compiler.scope.close(node.variables)
    is_certain = isinstance(node.source.type, ListType | MapType)
    begin = _pairs(source, cost) if len(slots) == 2 else _items(source, cost, is_certain=is_certain)
    if node.kind in ("all", "exists") and len(slots) == 1:
        return _quantifier(begin, slots[0], body, cost, decisive=node.kind == "exists")
    if len(slots) == 1:
        return _SINGLE[node.kind](begin, slots[0], body, test)
    return _DOUBLE[node.kind](begin, slots, body, test, cost)


Begin = Callable[[Frame], Iterator[Any]]


def _items(source: Code, cost: int, *, is_certain: bool) -> Begin:
    def begin(frame: Frame) -> Iterator[Any]:
        container = source(frame)
        if not is_certain and type(container) is not list and type(container) is not dict:
            raise NoSuchOverloadError()
        frame[0] -= cost * len(container)
        if frame[0] < 0:
            spend(frame, 0)
        return iter(container)

    return begin


def _pairs(source: Code, cost: int) -> Begin:
    def begin(frame: Frame) -> Iterator[Any]:
        container = source(frame)
        if type(container) is dict:
            spend(frame, cost * len(container))
            return iter(container.items())
        if type(container) is list:
            spend(frame, cost * len(container))
            return iter(list(enumerate(container)))
        raise NoSuchOverloadError()

    return begin


def _quantifier(begin: Begin, slot: int, body: Code, cost: int, *, decisive: bool) -> Code:
    def run(frame: Frame) -> bool:
        failure = None
        items = begin(frame)
        for item in items:
            frame[slot] = item
            try:
                if body(frame) is decisive:
                    frame[0] += cost * length_hint(items)
                    return bool(decisive)
            except EvaluationError as error:
                spend(frame, ABSORBING_COST)
                failure = failure or error
        if failure is not None:
            raise failure
        return not decisive

    return run


def _exists_one(begin: Begin, slot: int, body: Code, _: Code | None) -> Code:
    def run(frame: Frame) -> bool:
        count = 0
        for item in begin(frame):
            frame[slot] = item
            count += body(frame)
        return count == 1

    return run


def _map(begin: Begin, slot: int, body: Code, test: Code | None) -> Code:
    def run(frame: Frame) -> list[Any]:
        made = []
        for item in begin(frame):
            frame[slot] = item
            if test is None or test(frame):
                made.append(body(frame))
        return made

    return run


def _filter(begin: Begin, slot: int, body: Code, _: Code | None) -> Code:
    def run(frame: Frame) -> list[Any]:
        kept = []
        for item in begin(frame):
            frame[slot] = item
            if body(frame):
                kept.append(item)
        return kept

    return run


_SINGLE: dict[str, Callable[[Begin, int, Code, Code | None], Code]] = {
    "existsOne": _exists_one,
    "map": _map,
    "filter": _filter,
}


def _quantifier_pairs(decisive: bool) -> Callable[..., Code]:
    def build(begin: Begin, slots: tuple[int, int], body: Code, _: Code | None, cost: int) -> Code:
        first, second = slots

        def run(frame: Frame) -> bool:
            failure = None
            pairs = begin(frame)
            for frame[first], frame[second] in pairs:
                try:
                    if body(frame) is decisive:
                        frame[0] += cost * length_hint(pairs)
                        return bool(decisive)
                except EvaluationError as error:
                    spend(frame, ABSORBING_COST)
                    failure = failure or error
            if failure is not None:
                raise failure
            return not decisive

        return run

    return build


def _exists_one_pairs(begin: Begin, slots: tuple[int, int], body: Code, _: Code | None, __: int) -> Code:
    first, second = slots

    def run(frame: Frame) -> bool:
        count = 0
        pairs = begin(frame)
        for frame[first], frame[second] in pairs:
            count += body(frame)
        return count == 1

    return run


def _transform_list(begin: Begin, slots: tuple[int, int], body: Code, test: Code | None, _: int) -> Code:
    first, second = slots

    def run(frame: Frame) -> list[Any]:
        made = []
        pairs = begin(frame)
        for frame[first], frame[second] in pairs:
            if test is None or test(frame):
                made.append(body(frame))
        return made

    return run


def _transform_map(begin: Begin, slots: tuple[int, int], body: Code, test: Code | None, _: int) -> Code:
    first, second = slots

    def run(frame: Frame) -> dict[Any, Any]:
        made = {}
        pairs = begin(frame)
        for frame[first], frame[second] in pairs:
            key = frame[first]
            if test is None or test(frame):
                made[key] = body(frame)
        return made

    return run


def _transform_entry(begin: Begin, slots: tuple[int, int], body: Code, test: Code | None, _: int) -> Code:
    first, second = slots

    def run(frame: Frame) -> dict[Any, Any]:
        made: dict[Any, Any] = {}
        pairs = begin(frame)
        for frame[first], frame[second] in pairs:
            if test is not None and not test(frame):
                continue
            for key, value in body(frame).items():
                if key in made:
                    raise EvaluationError(f"insert failed: key {shown(key)} already exists")
                made[key] = value
        return made

    return run


_DOUBLE: dict[str, Callable[..., Code]] = {
    "all": _quantifier_pairs(decisive=False),
    "exists": _quantifier_pairs(decisive=True),
    "existsOne": _exists_one_pairs,
    "transformList": _transform_list,
    "transformMap": _transform_map,
    "transformMapEntry": _transform_entry,
}
