"""Writes the newest image tag of an application into its manifests repository, from annotations of workloads.

A pass compares the tags in the files of a manifests repository with those that are due, and pushes one commit with all
that differ. It runs at an interval, when an annotation asks for it, and on request of the HTTP API.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from homeostat.operators.deferred import deferred

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
__getattr__ = deferred(__name__, __all__, _PLACES)
