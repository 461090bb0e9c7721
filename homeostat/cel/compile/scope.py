"""The variables that an expression can see and their places in the frame, and the protocol between parts of the
compiler.
"""

from __future__ import annotations

from typing import Protocol

from homeostat.cel.compile.frame import Code
from homeostat.cel.syntax.tree import Node


class Scope:
    """`slots` are the places of the host's variables; loops and bindings take further ones."""

    def __init__(self, slots: dict[str, int]) -> None:
        self._slots = slots
        self._opened: list[tuple[str, int]] = []
        self.size = len(slots) + 1

    def slot(self, name: str) -> int | None:
        for opened, slot in reversed(self._opened):
            if opened == name:
                return slot
        return self._slots.get(name)

    def open(self, names: tuple[str, ...]) -> tuple[int, ...]:
        """New places for the variables of a loop, visible until `close`."""
        slots = tuple(range(self.size, self.size + len(names)))
        self.size += len(names)
        self._opened += zip(names, slots, strict=True)
        return slots

    def close(self, names: tuple[str, ...]) -> None:
        del self._opened[-len(names) :]


class Compiling(Protocol):
    """The compiler as `logic`, `loops` and `selection` see it: it compiles the nodes inside theirs."""

    @property
    def scope(self) -> Scope: ...

    def code(self, node: Node) -> Code: ...
