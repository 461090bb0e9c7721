"""Operators, plugins, inputs and secret stores, of this package and of installed packages (entry points).

Nothing is imported here: an `EntryPoint` names the module that it loads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


def offered(
    group: str, ours: Mapping[str, str] | None = None, *, installed: Iterable[EntryPoint] | None = None
) -> list[EntryPoint]:
    """Entry points of installed packages, then ours (`module:name`). Of equal names the first that loads wins."""
    from importlib.metadata import EntryPoint, entry_points

    found = entry_points(group=group) if installed is None else installed
    return [*found, *(EntryPoint(name, value, group) for name, value in (ours or {}).items())]
