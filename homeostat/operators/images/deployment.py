"""The Prometheus alerts and Grafana panels, for the deployment to a cluster. Pure."""

from __future__ import annotations

from typing import Final

from homeostat.runtime.deployment import Alert, Panel, stat
from homeostat.runtime.telemetry.promql import PROCESS, grown, grown_in_1h, quantile, rate

_TRACKED: Final = "max by (job, namespace) (gitops_tracked_deployments{$target})"
_LAST: Final = "max by (job, namespace) (gitops_last_success_timestamp{$target})"
ALERTS: Final = (
    Alert(
        name="ImageUpdatesFail",
        expression=grown("gitops_reconcile_total", PROCESS, where='$target, action="failed"', over="30m") + " > 0",
        summary="Image tags of {{ $value | humanize }} workloads could not be updated within half an hour",
        advice="List them with their reasons: homeostat image status",
        lasting="15m",
    ),
    Alert(
        name="ImageUpdatesStopped",
        expression=f"({_TRACKED} > 0) and (time() - {_LAST} > 3600)",
        summary="{{ $value }} workloads are tracked, and no pass over a repository has succeeded for an hour",
        advice="Check the interval and the access to the repositories: homeostat image status",
        lasting="15m",
    ),
    Alert(
        name="ImageUpdatesGitFails",
        expression=(
            grown("gitops_git_operations_total", PROCESS, "op", where='$target, result="failure"', over="30m") + " > 3"
        ),
        summary="Git servers refused or failed {{ $value | humanize }} times to {{ $labels.op }} within half an hour",
        advice="Check the credentials, host keys and the address of the repositories: homeostat image status",
        lasting="15m",
    ),
)
PANELS: Final[dict[str, tuple[Panel, ...]]] = {
    "Image updates": (
        stat("Tracked workloads", f"sum({_TRACKED})"),
        stat("Tags written, 1 h", grown_in_1h('gitops_reconcile_total{$target, action="patched"}')),
        stat("Failures, 1 h", grown_in_1h('gitops_reconcile_total{$target, action="failed"}')),
        stat("Since the last success", f"time() - max({_LAST} > 0)", "s"),
    ),
    "Passes": (
        Panel("Results", rate("gitops_reconcile_total", "action"), "{{action}}", "ops"),
        Panel("Duration of passes, p99", quantile("gitops_reconcile_duration_seconds"), "p99", "s"),
        Panel("Calls of Git servers", rate("gitops_git_operations_total", "op", "result"), "{{op}} {{result}}", "ops"),
        Panel("Checks of images in registries", rate("gitops_registry_checks_total", "result"), "{{result}}", "ops"),
    ),
}
