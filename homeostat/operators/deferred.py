"""The names of an operator's package, imported when they are first used.

The engine and the kinds of an operator are in its package too: a command that validates a file and the dashboard import
these, and not the controllers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from importlib import import_module
from typing import Any


def deferred(package: str, names: Collection[str], places: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of the package. A name is of the module in `places`, else of `operator`."""

    def get(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{places.get(name, 'operator')}"), name)

    return get
