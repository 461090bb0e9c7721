"""The Prometheus alerts and Grafana panels, for the deployment to a cluster. Pure.

The process that leads reports the resources; expressions take the maximum, as another may just have taken over.
"""

from __future__ import annotations

from typing import Final

from homeostat.runtime.deployment import Alert, Panel, stat
from homeostat.runtime.telemetry.panels import reconcile_panels
from homeostat.runtime.telemetry.promql import PROCESS, grown

_CONTROLLERS: Final = '$target, controller=~"actions-.*"'


def _resources(*labels: str, phase: str = "") -> str:
    selected = f', phase="{phase}"' if phase else ""
    counted = f"max by (job, namespace, type, phase) (homeostat_actions_resources{{$target{selected}}})"
    return f"sum by ({', '.join(labels)}) ({counted})" if labels else f"sum({counted})"


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
            f" unless on ({PROCESS}) {grown('homeostat_reconciles_total', PROCESS, where=_CONTROLLERS, over='30m')} > 0"
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
        stat("Resources", _resources()),
        *(
            stat(phase.capitalize(), f"{_resources(phase=phase)} or vector(0)")
            for phase in ("ready", "failed", "reconciling", "deleting")
        ),
    ),
    "Types": (
        Panel("Resources by phase", _resources("phase"), "{{phase}}"),
        Panel("Failed by type", _resources("type", phase="failed"), "{{type}}"),
        *reconcile_panels(_CONTROLLERS),
    ),
}
