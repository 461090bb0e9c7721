"""Whether a history of overlapping operations can be put in one order that explains every answer.

The search of Wing and Gong with Lowe's memory of where it has been: take an operation that may come first, see what it
does to the state, go on with the rest, and step back when nothing fits. An operation may come first if no other had
ended before it began. Histories of different objects are checked apart, which is sound, and keeps each search small.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from math import inf
from typing import Generic, TypeVar

S = TypeVar("S", bound=Hashable)


class ImpossibleError(Exception):
    """The operation cannot have been answered like this in this state."""


@dataclass(frozen=True, eq=False)
class Operation(Generic[S]):
    """`apply` gives the state after it, or `ImpossibleError`. `ended` is infinite for one that was never answered."""

    began: float
    ended: float
    apply: Callable[[S], S]
    description: str = ""


class _Entry(Generic[S]):
    """The begin or the end of an operation, in a list ordered by time from which pairs are lifted out and put back."""

    __slots__ = ("after", "before", "end", "number", "operation")

    def __init__(self, operation: Operation[S], number: int) -> None:
        self.operation, self.number = operation, number
        self.end: _Entry[S] | None = None
        """None for an entry that is itself an end."""
        self.before: _Entry[S] | None = None
        self.after: _Entry[S] | None = None

    def lift(self) -> None:
        for each in (self, self.end):
            assert each is not None
            assert each.before is not None
            each.before.after = each.after
            if each.after is not None:
                each.after.before = each.before

    def put_back(self) -> None:
        for each in (self.end, self):
            assert each is not None
            assert each.before is not None
            each.before.after = each
            if each.after is not None:
                each.after.before = each


def is_linearizable(history: Iterable[Operation[S]], initial: S) -> bool:
    head = _listed(list(history))
    state, done = initial, 0
    seen: set[tuple[int, S]] = set()
    path: list[tuple[_Entry[S], S]] = []
    entry = head.after
    while head.after is not None:
        if entry is not None and entry.end is not None:
            after = _next(entry, state)
            mark = done | 1 << entry.number
            if after and (mark, after[0]) not in seen:
                seen.add((mark, after[0]))
                path.append((entry, state))
                (state,), done = after, mark
                entry.lift()
                entry = head.after
            else:
                entry = entry.after
        elif not path:
            return False
        else:
            # Something ended that no order up to here explains.
            entry, state = path.pop()
            done ^= 1 << entry.number
            entry.put_back()
            entry = entry.after
    return True


def _next(entry: _Entry[S], state: S) -> tuple[S] | None:
    try:
        return (entry.operation.apply(state),)
    except ImpossibleError:
        return None


def _listed(history: list[Operation[S]]) -> _Entry[S]:
    entries: list[tuple[float, int, _Entry[S]]] = []
    for number, operation in enumerate(history):
        begin, end = _Entry(operation, number), _Entry(operation, number)
        begin.end = end
        entries += [(operation.began, 0, begin), (operation.ended, 1, end)]
    # At one time, begins before ends: what touches may overlap.
    entries.sort(key=lambda each: each[:2])
    head: _Entry[S] = _Entry(Operation(-inf, -inf, _nothing), -1)
    last = head
    for _, _, entry in entries:
        last.after, entry.before = entry, last
        last = entry
    return head


def _nothing(state: S) -> S:
    return state
