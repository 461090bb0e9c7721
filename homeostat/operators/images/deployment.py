"""The Prometheus alerts and Grafana panels, for the deployment to a cluster. Pure."""

from __future__ import annotations

from typing import Final

from homeostat.runtime.deployment import Alert, Panel


def _rate(metric: str, *labels: str) -> str:
    return f"sum by ({', '.join(labels)}) (rate(gitops_{metric}{{$target}}[5m]))"


_TRACKED: Final = "max by (job, namespace) (gitops_tracked_deployments{$target})"
_LAST: Final = "max by (job, namespace) (gitops_last_success_timestamp{$target})"
ALERTS: Final = (
    Alert(
        name="ImageUpdatesFail",
        expression='sum by (job, namespace) (increase(gitops_reconcile_total{$target, action="failed"}[30m])) > 0',
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
            'sum by (job, namespace, op) (increase(gitops_git_operations_total{$target, result="failure"}[30m])) > 3'
        ),
        summary="Git servers refused or failed {{ $value | humanize }} times to {{ $labels.op }} within half an hour",
        advice="Check the credentials, host keys and the address of the repositories: homeostat image status",
        lasting="15m",
    ),
)
PANELS: Final[dict[str, tuple[Panel, ...]]] = {
    "Image updates": (
        Panel("Tracked workloads", f"sum({_TRACKED})", is_stat=True),
        Panel(
            "Tags written, 1 h",
            'sum(increase(gitops_reconcile_total{$target, action="patched"}[1h])) or vector(0)',
            is_stat=True,
        ),
        Panel(
            "Failures, 1 h",
            'sum(increase(gitops_reconcile_total{$target, action="failed"}[1h])) or vector(0)',
            is_stat=True,
        ),
        Panel("Since the last success", f"time() - max({_LAST} > 0)", unit="s", is_stat=True),
    ),
    "Passes": (
        Panel("Results", _rate("reconcile_total", "action"), "{{action}}", "ops"),
        Panel(
            "Duration of passes, p99",
            f"histogram_quantile(0.99, {_rate('reconcile_duration_seconds_bucket', 'le')})",
            "p99",
            "s",
        ),
        Panel("Calls of Git servers", _rate("git_operations_total", "op", "result"), "{{op}} {{result}}", "ops"),
        Panel("Checks of images in registries", _rate("registry_checks_total", "result"), "{{result}}", "ops"),
    ),
}
