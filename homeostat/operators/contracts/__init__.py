"""Checks continuously whether running workloads match their service contracts: `Pacto` and `PactoRevision`.

A Pacto is reconciled when it, its target, its pull secret, its contract in the registry or the verdict on one of its
endpoints changes, at midnight UTC if its contract has a readiness section, and on its interval. Workloads are only
read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from homeostat.operators.contracts.operator import (
        ALERTS,
        FACES,
        KINDS,
        PANELS,
        RULES,
        SECTIONS,
        SETTINGS,
        WAKES,
        check_environment,
        register,
    )

__all__ = [
    "ALERTS",
    "FACES",
    "KINDS",
    "PANELS",
    "RULES",
    "SECTIONS",
    "SETTINGS",
    "WAKES",
    "check_environment",
    "register",
]


def __getattr__(name: str) -> Any:
    """Imports the operator when it is registered: a command that validates a file needs the engine alone."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from homeostat.operators.contracts import operator

    return getattr(operator, name)
