"""Keeps the objects of REST APIs as a Git repository declares them: `SyncPolicy` and what it refers to.

A SyncPolicy is synced when its repository has a new revision, when it, one of its dependencies or one of their Secrets
changes, by cron, and on its interval: a change that somebody made on the server by hand is undone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from homeostat.operators.deferred import deferred

if TYPE_CHECKING:
    from homeostat.operators.sync.access import RULES
    from homeostat.operators.sync.api.kinds import KINDS
    from homeostat.operators.sync.deployment import ALERTS, PANELS
    from homeostat.operators.sync.operator import FACES, OPTIONS, SECTIONS, SETTINGS, WAKES, check_environment, register

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
    "check_environment",
    "register",
]
_PLACES: Final = {"ALERTS": "deployment", "KINDS": "api.kinds", "PANELS": "deployment", "RULES": "access"}
__getattr__ = deferred(__name__, __all__, _PLACES)
