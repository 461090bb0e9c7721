"""The Grafana dashboard of the operator: every metric it has, in rows. Pure.

Several replicas tell the same score, so that gauges are the greatest of them and counters are summed.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from homeostat.objects.json import JsonObject

UID: Final = "kube-devops-overview"
_WIDTH: Final = 24
_SOURCE: Final = {"type": "prometheus", "uid": "${datasource}"}


class Panel(NamedTuple):
    title: str
    expression: str
    legend: str = ""
    unit: str = "short"
    is_stat: bool = False


def _greatest(metric: str, *labels: str) -> str:
    return f"max by ({', '.join(labels)}) ({metric})" if labels else f"max({metric})"


def _rate(metric: str, *labels: str) -> str:
    by = f" by ({', '.join(labels)})" if labels else ""
    return f"sum{by} (rate({metric}[5m]))"


def _p99(metric: str) -> str:
    return f"histogram_quantile(0.99, sum by (le) (rate({metric}_bucket[5m])))"


_POLICY: Final = ("namespace", "policy")
_OF_POLICY: Final = "{{namespace}}/{{policy}}"
_ROWS: Final[dict[str, tuple[Panel, ...]]] = {
    "Overview": (
        Panel("Cluster score", _greatest("cluster_health_score"), is_stat=True),
        Panel("Lowest policy", "min(devopspolicy_health_score)", is_stat=True),
        Panel("Violations", "sum(max by (namespace, policy) (devopspolicy_violations_total))", is_stat=True),
        Panel("Policies that enforce", f"sum({_greatest('devopspolicy_enforcement_mode', *_POLICY)})", is_stat=True),
        Panel("Pods", _greatest("pods_tracked_total"), is_stat=True),
        Panel("Denials, 1 h", "sum(increase(webhook_denials_total[1h]))", is_stat=True),
    ),
    "Watch": (
        Panel("Score of each namespace", _greatest("namespace_health_score", "namespace"), "{{namespace}}"),
        Panel("Score of the cluster", _greatest("cluster_health_score"), "cluster"),
        Panel("Changes of Pods", _rate("pod_events_total"), "changes", "ops"),
    ),
    "Reconcile": (
        Panel("Score of each policy", _greatest("devopspolicy_health_score", *_POLICY), _OF_POLICY),
        Panel("Violations of each policy", _greatest("devopspolicy_violations_total", *_POLICY), _OF_POLICY),
        Panel("Looks at policies", _rate("devopspolicy_reconcile_total"), "looks", "ops"),
        Panel("Looks that failed", _rate("devopspolicy_reconcile_errors_total"), "errors", "ops"),
        Panel("Longest looks, p99", _p99("devopspolicy_reconcile_duration_seconds"), "p99", "s"),
        Panel("Pods asked", _rate("devopspolicy_pods_scanned_total"), "Pods", "ops"),
        Panel("Workloads put right", _rate("devopspolicy_remediations_applied_total"), "applied", "ops"),
        Panel("Workloads not put right", _rate("devopspolicy_remediations_failed_total"), "failed", "ops"),
    ),
    "Webhook": (
        Panel("Reviews", _rate("webhook_requests_total", "operation", "allowed"), "{{operation}} {{allowed}}", "ops"),
        Panel(
            "Denials", _rate("webhook_denials_total", "namespace", "violation"), "{{namespace}} {{violation}}", "ops"
        ),
        Panel("Longest answers, p99", _p99("webhook_request_duration_seconds"), "p99", "s"),
        Panel("Answers in a hurry", _rate("webhook_hurried_total"), "hurried", "ops"),
    ),
    "Severity & Audit": (
        Panel(
            "Violations by severity",
            "sum by (severity) (max by (severity, namespace, policy) (devopspolicy_violations_by_severity))",
            "{{severity}}",
        ),
        Panel("Audit results written", _rate("devopspolicy_audit_results_total"), "results", "ops"),
        Panel("Mode of each policy", _greatest("devopspolicy_enforcement_mode", *_POLICY), _OF_POLICY),
    ),
}


def dashboard() -> JsonObject:
    panels: list[JsonObject] = []
    top = 0
    for title, row in _ROWS.items():
        panels.append(_row(len(panels) + 1, title, top))
        top += 1
        width, height = (4, 4) if row[0].is_stat else (8, 8)
        across = _WIDTH // width
        for at, panel in enumerate(row):
            place = {"x": at % across * width, "y": top + at // across * height, "w": width, "h": height}
            panels.append(_panel(len(panels) + 1, panel, place))
        top += -(-len(row) // across) * height
    return {
        "uid": UID,
        "title": "kube-devops: policies",
        "tags": ["kubernetes", "policy"],
        "schemaVersion": 39,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {"list": [{"name": "datasource", "type": "datasource", "query": "prometheus"}]},
        "panels": panels,
    }


def _row(number: int, title: str, top: int) -> JsonObject:
    place = {"x": 0, "y": top, "w": _WIDTH, "h": 1}
    return {"id": number, "type": "row", "title": title, "collapsed": False, "gridPos": place, "panels": []}


def _panel(number: int, panel: Panel, place: JsonObject) -> JsonObject:
    target = {"refId": "A", "datasource": _SOURCE, "expr": panel.expression, "legendFormat": panel.legend}
    return {
        "id": number,
        "type": "stat" if panel.is_stat else "timeseries",
        "title": panel.title,
        "datasource": _SOURCE,
        "gridPos": place,
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "targets": [target],
    }
