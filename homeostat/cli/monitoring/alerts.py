"""Groups of Prometheus rules from alerts. Pure.

Each alert links to its section of the runbooks (docs/runbooks.md), whose anchor is its name in lower case.
"""

from __future__ import annotations

from homeostat.cli.monitoring.target import Target
from homeostat.objects.json import JsonObject
from homeostat.runtime.deployment import Alert, Signals

RUNBOOKS = "docs/runbooks.md"


def rule_group(signals: Signals, target: Target, *, name: str, runbooks: str = RUNBOOKS) -> JsonObject:
    """`runbooks` is the address of the page of runbooks."""
    return {"name": name, "rules": [_rule(each, target, runbooks) for each in signals.alerts]}


def _rule(alert: Alert, target: Target, runbooks: str) -> JsonObject:
    return {
        "alert": alert.name,
        "expr": target.fill(alert.expression),
        "for": alert.lasting,
        "labels": {"severity": alert.severity},
        "annotations": {
            "summary": alert.summary,
            "description": alert.advice,
            "runbook_url": f"{runbooks}#{alert.name.lower()}",
        },
    }
