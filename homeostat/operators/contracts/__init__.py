"""Checks continuously whether running workloads match their service contracts: `Pacto` and `PactoRevision`.

A Pacto is reconciled when it, its target, its pull secret, its contract in the registry or the verdict on one of its
endpoints changes, at midnight UTC if its contract has a readiness section, and on its interval. Workloads are only
read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from homeostat.operators.deferred import deferred

if TYPE_CHECKING:
    from homeostat.operators.contracts.access import RULES
    from homeostat.operators.contracts.api import KINDS
    from homeostat.operators.contracts.deployment import ALERTS, PANELS
    from homeostat.operators.contracts.operator import FACES, SECTIONS, SETTINGS, WAKES, check_environment, register

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
_PLACES = {"ALERTS": "deployment", "KINDS": "api", "PANELS": "deployment", "RULES": "access"}
__getattr__ = deferred(__name__, __all__, _PLACES)
