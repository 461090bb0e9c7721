"""The Prometheus alerts and Grafana panels, for the deployment to a cluster. Pure.

The process that leads reports the resources; expressions take the maximum, as another may just have taken over.
"""

from __future__ import annotations

from typing import Final

from homeostat.runtime.deployment import Alert, Panel


def _resources(*labels: str, phase: str = "") -> str:
    selected = f', phase="{phase}"' if phase else ""
    counted = f"max by (job, namespace, type, phase) (homeostat_actions_resources{{$target{selected}}})"
    return f"sum by ({', '.join(labels)}) ({counted})" if labels else f"sum({counted})"


def _rate(metric: str, *labels: str) -> str:
    return f'sum by ({", ".join(labels)}) (rate({metric}{{$target, controller=~"actions-.*"}}[5m]))'


ALERTS: Final = (
    Alert(
        name="ActionsResourcesFailed",
        expression=f"{_resources('job', 'namespace', 'type', phase='failed')} > 0",
        summary="{{ $value }} {{ $labels.type }} are in the phase failed",
        advice="List them with their messages: homeostat resource list {{ $labels.type }}",
        lasting="30m",
    ),
    Alert(
        name="ActionsResourcesPending",
        expression=(
            f"{_resources('job', 'namespace', 'type', phase='pending')} > 0"
            " unless on (job, namespace) sum by (job, namespace)"
            ' (increase(homeostat_reconciles_total{$target, controller=~"actions-.*"}[30m])) > 0'
        ),
        summary="{{ $value }} {{ $labels.type }} are pending, and nothing was reconciled for half an hour",
        advice="Check the queue and the leader: homeostat doctor",
        lasting="30m",
    ),
    Alert(
        name="ActionsDeletionsStuck",
        expression=f"min_over_time(({_resources('job', 'namespace', 'type', phase='deleting')})[1h:1m]) > 0",
        summary="{{ $labels.type }} have been in the phase deleting for an hour",
        advice="Read why the plugin cannot destroy them: homeostat resource list {{ $labels.type }}",
        lasting="15m",
    ),
)
PANELS: Final[dict[str, tuple[Panel, ...]]] = {
    "Resources": (
        Panel("Resources", _resources(), is_stat=True),
        Panel("Ready", f"{_resources(phase='ready')} or vector(0)", is_stat=True),
        Panel("Failed", f"{_resources(phase='failed')} or vector(0)", is_stat=True),
        Panel("Reconciling", f"{_resources(phase='reconciling')} or vector(0)", is_stat=True),
        Panel("Deleting", f"{_resources(phase='deleting')} or vector(0)", is_stat=True),
    ),
    "Types": (
        Panel("Resources by phase", _resources("phase"), "{{phase}}"),
        Panel("Failed by type", _resources("type", phase="failed"), "{{type}}"),
        Panel(
            "Reconciles",
            _rate("homeostat_reconciles_total", "controller", "outcome"),
            "{{controller}} {{outcome}}",
            "ops",
        ),
        Panel(
            "Reconcile time, p99",
            f"histogram_quantile(0.99, {_rate('homeostat_reconcile_seconds_bucket', 'controller', 'le')})",
            "{{controller}}",
            "s",
        ),
    ),
}
