"""Scores the Pods of a namespace against its `DevOpsPolicy` objects, continuously; `ClusterDevOpsPolicy` for many
namespaces.

When a Pod changes, only that Pod is evaluated again, by the policies that select its namespace. A policy is reconciled
when it, one of its Pods or one of the workloads that it patches changes, when the result of a Pod expires, and on its
interval.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

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


def __getattr__(name: str) -> Any:
    """Imports a module when it is needed: the dashboard needs the kinds alone."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_PLACES.get(name, 'operator')}"), name)
