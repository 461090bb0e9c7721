"""The frame of an evaluation: a list that holds the remaining cost first, then the values of the variables.

A compiled expression is a tree of closures over such a frame. Nothing in Python is
indexed faster than a list, and one object for both keeps each closure to a single argument.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from homeostat.cel.meter import Meter

Frame = Meter
Code = Callable[[Frame], Any]
