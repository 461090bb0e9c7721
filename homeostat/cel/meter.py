"""What is left of the cost of an evaluation, as the first item of a list: of the frame, while code runs.

A value that an expression makes can be far larger than the expression and the object: `[a, a]` of an `[b, b]` of a ...
has as many leaves as two to its depth, and a list may hold a long text a million times. So a function that walks into
values, or whose result is longer than its operands, spends as it goes along instead of once before.
"""

from __future__ import annotations

from typing import Any

from homeostat.cel.errors import CostLimitError

Meter = list[Any]

COMPARED_FREE = 512
"""Texts up to this length are compared at no cost of their own; of longer ones, this many characters cost 1."""
TEXTS = frozenset({str, bytes})
"""The types whose values may be long. A value that is declared as a text may be null instead."""


def spend(meter: Meter, cost: int) -> None:
    meter[0] -= cost
    if meter[0] < 0:
        raise CostLimitError


def comparison_cost(items: list[Any]) -> int:
    """The cost of comparing each item with another one, beyond a step an item. Items that are no texts cost nothing."""
    texts = items if TEXTS.issuperset(map(type, items)) else [item for item in items if type(item) in TEXTS]
    return sum(map(len, texts)) // COMPARED_FREE
