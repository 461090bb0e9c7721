"""The Prometheus alerts of the original and the Grafana panels, for the deployment to a cluster. Pure."""

from __future__ import annotations

from typing import Final

from homeostat.runtime.deployment import Alert, Panel

PREFIX: Final = "declarest_operator_"
_NAMED: Final = "{{namespace}}/{{name}}"
_OF: Final = "{{ $labels.namespace }}/{{ $labels.name }}"


def _series(metric: str, result: str = "") -> str:
    return f'{PREFIX}{metric}{{$job, result="{result}"}}' if result else f"{PREFIX}{metric}{{$job}}"


def _rate(metric: str, result: str = "", *, labels: str = "namespace, name") -> str:
    return f"sum by ({labels}) (rate({_series(metric, result)}[5m]))"


def _grown(metric: str, result: str) -> str:
    return f"sum by (namespace, name) (increase({_series(metric, result)}[15m]))"


ALERTS: Final = (
    Alert(
        name="DeclarestSyncPolicyStalled",
        expression=(
            f"{_grown('syncpolicy_reconcile_total', 'error')} > 0"
            f" unless {_grown('syncpolicy_reconcile_total', 'success')} > 0"
        ),
        summary=f"SyncPolicy {_OF} fails and never succeeds",
        advice="Read its conditions: kubectl describe syncpolicy {{ $labels.name }} -n {{ $labels.namespace }}",
        lasting="15m",
    ),
    Alert(
        name="DeclarestSyncPolicyReconcileErrors",
        expression=_rate("syncpolicy_reconcile_total", "error") + " > 0",
        summary=f"Syncs of {_OF} fail",
        advice="Read its conditions: kubectl describe syncpolicy {{ $labels.name }} -n {{ $labels.namespace }}",
        lasting="10m",
    ),
    Alert(
        name="DeclarestRepositoryPollFailures",
        expression=_rate("resource_repository_poll_total", "error") + " > 0",
        summary=f"ResourceRepository {_OF} cannot be fetched",
        advice="Read its conditions: kubectl describe resourcerepository {{ $labels.name }} -n {{ $labels.namespace }}",
        lasting="10m",
    ),
)

PANELS: Final[dict[str, tuple[Panel, ...]]] = {
    "Sync": (
        Panel("Syncs", _rate("syncpolicy_reconcile_total", labels="result"), "{{result}}", "ops"),
        Panel(
            "Failed syncs by reason",
            _rate("syncpolicy_reconcile_total", "error", labels="reason"),
            "{{reason}}",
            "ops",
        ),
        Panel(
            "Duration of syncs, p99",
            f"histogram_quantile(0.99, {_rate('syncpolicy_reconcile_duration_seconds_bucket', labels='le')})",
            "p99",
            "s",
        ),
        Panel("Resources applied", _rate("syncpolicy_resources_applied_total"), _NAMED, "ops"),
        Panel("Objects pruned", _rate("syncpolicy_resources_pruned_total"), _NAMED, "ops"),
    ),
    "Repositories": (
        Panel("Polls", _rate("resource_repository_poll_total", labels="result"), "{{result}}", "ops"),
        Panel("New revisions", _rate("resource_repository_revision_changes_total"), _NAMED, "ops"),
    ),
}
