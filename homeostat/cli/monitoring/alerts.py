"""Groups of Prometheus rules from alerts. Pure.

Each alert has a section in docs/runbooks.md, whose anchor is its name in lower case. The rule links to it if the
address of that page is known.
"""

from __future__ import annotations

from homeostat.cli.monitoring.target import Target
from homeostat.objects.json import JsonObject
from homeostat.runtime.deployment import Alert, Signals


def rule_group(signals: Signals, target: Target, *, name: str, runbooks: str = "") -> JsonObject:
    """`runbooks` is the address of the page of runbooks, if it is known."""
    return {"name": name, "rules": [_rule(each, target, runbooks) for each in signals.alerts]}


def _rule(alert: Alert, target: Target, runbooks: str) -> JsonObject:
    link = {"runbook_url": f"{runbooks}#{alert.name.lower()}"} if runbooks else {}
    return {
        "alert": alert.name,
        "expr": target.fill(alert.expression),
        "for": alert.lasting,
        "labels": {"severity": alert.severity},
        "annotations": {"summary": alert.summary, "description": alert.advice, **link},
    }
