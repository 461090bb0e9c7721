"""Keeps the objects of REST APIs as a Git repository declares them: `SyncPolicy` and what it refers to.

A SyncPolicy is synced when its repository has a new revision, when it, one of its dependencies or one of their Secrets
changes, by cron, and on its interval: a change that somebody made on the server by hand is undone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from homeostat.operators.sync.operator import (
        ALERTS,
        FACES,
        KINDS,
        OPTIONS,
        PANELS,
        RULES,
        SETTINGS,
        WAKES,
        check_environment,
        register,
    )

__all__ = [
    "ALERTS",
    "FACES",
    "KINDS",
    "OPTIONS",
    "PANELS",
    "RULES",
    "SETTINGS",
    "WAKES",
    "check_environment",
    "register",
]


def __getattr__(name: str) -> Any:
    """Imports the operator when it is registered: a command that applies a file needs the engine alone."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from homeostat.operators.sync import operator

    return getattr(operator, name)
