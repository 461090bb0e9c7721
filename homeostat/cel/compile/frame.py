"""What an evaluation works on: a list whose first place is the cost that is left, the others the variables' values.

A compiled expression is a tree of closures over such a frame. A list is the fastest thing that Python can index, and
one object for both keeps each closure to a single argument.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from homeostat.cel.errors import CostLimitError

Frame = list[Any]
Code = Callable[[Frame], Any]


def spend(frame: Frame, cost: int) -> None:
    frame[0] -= cost
    if frame[0] < 0:
        raise CostLimitError
