"""The Prometheus alerts of the original and the Grafana panels, for the deployment to a cluster. Pure."""

from __future__ import annotations

from typing import Final

from homeostat.runtime.deployment import Alert, Panel
from homeostat.runtime.telemetry.promql import grown, quantile, rate

PREFIX: Final = "declarest_operator_"
_EACH: Final = ("namespace", "name")
_NAMED: Final = "{{namespace}}/{{name}}"
_OF: Final = "{{ $labels.namespace }}/{{ $labels.name }}"


_SYNCS: Final = f"{PREFIX}syncpolicy_reconcile_total"
_ERRORS: Final = '$job, result="error"'
_SUCCESSES: Final = '$job, result="success"'


def _rate(metric: str, *labels: str, where: str = "$job") -> str:
    return rate(f"{PREFIX}{metric}", *(labels or _EACH), where=where)


def _alert(name: str, expression: str, summary: str, *, kind: str = "syncpolicy", lasting: str = "10m") -> Alert:
    advice = f"Read its conditions: kubectl describe {kind} {{{{ $labels.name }}}} -n {{{{ $labels.namespace }}}}"
    return Alert(name=name, expression=expression, summary=summary, advice=advice, lasting=lasting)


ALERTS: Final = (
    _alert(
        "DeclarestSyncPolicyStalled",
        f"{grown(_SYNCS, *_EACH, where=_ERRORS, over='15m')} > 0"
        f" unless {grown(_SYNCS, *_EACH, where=_SUCCESSES, over='15m')} > 0",
        f"SyncPolicy {_OF} fails and never succeeds",
        lasting="15m",
    ),
    _alert(
        "DeclarestSyncPolicyReconcileErrors",
        _rate("syncpolicy_reconcile_total", where=_ERRORS) + " > 0",
        f"Syncs of {_OF} fail",
    ),
    _alert(
        "DeclarestRepositoryPollFailures",
        _rate("resource_repository_poll_total", where=_ERRORS) + " > 0",
        f"ResourceRepository {_OF} cannot be fetched",
        kind="resourcerepository",
    ),
)

PANELS: Final[dict[str, tuple[Panel, ...]]] = {
    "Sync": (
        Panel("Syncs", _rate("syncpolicy_reconcile_total", "result"), "{{result}}", "ops"),
        Panel(
            "Failed syncs by reason", _rate("syncpolicy_reconcile_total", "reason", where=_ERRORS), "{{reason}}", "ops"
        ),
        Panel(
            "Duration of syncs, p99",
            quantile(f"{PREFIX}syncpolicy_reconcile_duration_seconds", where="$job"),
            "p99",
            "s",
        ),
        Panel("Resources applied", _rate("syncpolicy_resources_applied_total"), _NAMED, "ops"),
        Panel("Objects pruned", _rate("syncpolicy_resources_pruned_total"), _NAMED, "ops"),
    ),
    "Repositories": (
        Panel("Polls", _rate("resource_repository_poll_total", "result"), "{{result}}", "ops"),
        Panel("New revisions", _rate("resource_repository_revision_changes_total"), _NAMED, "ops"),
    ),
}
