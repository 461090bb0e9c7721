"""Writes the newest image tag of an application into its manifests repository, from annotations of workloads.

A pass compares the tags in the files of a manifests repository with those that are due, and pushes one commit with all
that differ. It runs at an interval, when an annotation asks for it, and on request of the HTTP API.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from homeostat.operators.images.access import RULES
    from homeostat.operators.images.api import KINDS
    from homeostat.operators.images.deployment import ALERTS, PANELS
    from homeostat.operators.images.operator import (
        FACES,
        OPTIONS,
        SECTIONS,
        SETTINGS,
        WAKES,
        WAKES_IF_SERVED,
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
    "SECTIONS",
    "SETTINGS",
    "WAKES",
    "WAKES_IF_SERVED",
    "check_environment",
    "register",
]
_PLACES: Final = {"ALERTS": "deployment", "KINDS": "api", "PANELS": "deployment", "RULES": "access"}


def __getattr__(name: str) -> Any:
    """Imports the operator when it is registered: the pages of the dashboard need its kinds alone."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_PLACES.get(name, 'operator')}"), name)
