"""What installed packages offer by entry points, beside what is ours: operators, plugins, inputs, secret stores.

Nothing is imported here: an `EntryPoint` names what it loads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.metadata import EntryPoint, entry_points


def offered(
    group: str, ours: Mapping[str, str] | None = None, *, installed: Iterable[EntryPoint] | None = None
) -> list[EntryPoint]:
    """Those of packages, and then ours, which are places as `module:name`. Of one name the first that loads counts."""
    found = entry_points(group=group) if installed is None else installed
    return [*found, *(EntryPoint(name, value, group) for name, value in (ours or {}).items())]
