"""The operator of `widgets.py` as a module, the way that a user's own is one; its definitions bear its kinds."""

from __future__ import annotations

from homeostat.runtime.setup import Setup
from tests.runtime.widgets import KINDS, Widgets

__all__ = ["KINDS", "register"]


def register(setup: Setup) -> None:
    Widgets().register(setup)
