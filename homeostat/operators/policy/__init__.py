"""Scores the Pods of a namespace against its `DevOpsPolicy` objects, continuously; `ClusterDevOpsPolicy` for many
namespaces.

When a Pod changes, only that Pod is evaluated again, by the policies that select its namespace. A policy is reconciled
when it, one of its Pods or one of the workloads that it patches changes, when the result of a Pod expires, and on its
interval.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from homeostat.operators.deferred import deferred

if TYPE_CHECKING:
    from homeostat.operators.policy.access import RULES
    from homeostat.operators.policy.api import KINDS
    from homeostat.operators.policy.deployment import ALERTS, PANELS, WEBHOOK
    from homeostat.operators.policy.operator import CHECKS, SECTIONS, WAKES, register

__all__ = ["ALERTS", "CHECKS", "KINDS", "PANELS", "RULES", "SECTIONS", "WAKES", "WEBHOOK", "register"]
_PLACES = {
    **dict.fromkeys(("ALERTS", "PANELS", "WEBHOOK"), "deployment"),
    "KINDS": "api",
    "RULES": "access",
}
__getattr__ = deferred(__name__, __all__, _PLACES)
