"""The alerts and the dashboard over the metrics of the runtime, the same for every operator. Pure."""

from __future__ import annotations

from typing import Final

from homeostat.runtime.deployment import Alert, Panel, Signals, stat
from homeostat.runtime.telemetry.panels import process_panels, reconcile_panels
from homeostat.runtime.telemetry.promql import NONE_UP, PROCESS, certificate_expires, grown, grown_in_1h, rate

_OF: Final = "{{ $labels.controller }}"
_EACH: Final = (PROCESS, "controller")


def _per_controller(how: str, gauge: str) -> str:
    return f"{how} by (controller) (homeostat_queue_{gauge}{{$target}})"


PANELS: Final[dict[str, tuple[Panel, ...]]] = {
    "Operators": (
        stat("Processes", "sum(up{$target})"),
        stat("Controllers", "count(count by (controller) (homeostat_queue_depth{$target}))"),
        stat("Leases with a leader", "sum(max by (job, namespace, lease) (homeostat_leading{$target}))"),
        stat("Failed reconciles, 1 h", grown_in_1h('homeostat_reconciles_total{$target, outcome="failed"}')),
        stat("Waiting objects", "sum(homeostat_queue_depth{$target})"),
        stat("Cached objects", "sum(max by (job, namespace, path) (homeostat_cache_objects{$target}))"),
    ),
    "Reconciles": (
        *reconcile_panels(),
        Panel("Retries", rate("homeostat_queue_retries_total", "controller"), "{{controller}}", "ops"),
        Panel("Oldest wait in the queue", _per_controller("max", "oldest_wait_seconds"), "{{controller}}", "s"),
        Panel("Objects in work", _per_controller("sum", "working"), "{{controller}}"),
        Panel("Objects that wait for their time", _per_controller("sum", "delayed"), "{{controller}}"),
        Panel(
            "Reconciles postponed by the breaker", rate("homeostat_breaker_trips_total", "controller"), "{{controller}}"
        ),
    ),
    "Watches and Events": (
        Panel("Silence of watches", "max by (path) (homeostat_watch_last_event_age_seconds{$target})", "{{path}}", "s"),
        Panel("Watch restarts", rate("homeostat_watch_restarts_total", "path"), "{{path}}", "ops"),
        Panel("Watches by state", "sum by (state) (homeostat_watch_state{$target})", "{{state}}"),
        Panel(
            "Objects that do not match their types",
            "sum by (path) (homeostat_watch_unreadable_total{$target})",
            "{{path}}",
        ),
        Panel("Events written", rate("homeostat_events_written_total", "job"), "{{job}}", "ops"),
        Panel(
            "Events lost",
            f"{rate('homeostat_events_dropped_total', 'job')} + {rate('homeostat_events_failed_total', 'job')}",
            "{{job}}",
            "ops",
        ),
    ),
    "Processes": process_panels("job", "instance"),
}
ALERTS: Final = (
    Alert(
        name="HomeostatDown",
        expression=NONE_UP,
        summary="No process of {{ $labels.job }} answers",
        advice="kubectl get pods -n {{ $labels.namespace }}",
        lasting="5m",
        severity="critical",
    ),
    Alert(
        name="HomeostatRestarts",
        expression=f"max by ({PROCESS}) (changes(process_start_time_seconds{{$target}}[1h])) > 3",
        summary="A process of {{ $labels.job }} started {{ $value }} times within an hour",
        advice="Read the log of the process before it ended: kubectl logs --previous",
        lasting="5m",
    ),
    Alert(
        name="HomeostatFilesRunOut",
        expression=f"max by ({PROCESS}) (process_open_fds{{$target}} / process_max_fds{{$target}}) > 0.8",
        summary="A process of {{ $labels.job }} has opened {{ $value | humanizePercentage }} of its files",
        advice="Raise the limit of open files, or add replicas",
    ),
    Alert(
        name="HomeostatNoLeader",
        expression=f"max by ({PROCESS}, lease) (homeostat_leading{{$target}}) == 0",
        summary="No process of {{ $labels.job }} has acquired the lease {{ $labels.lease }}",
        advice="Read the logs of the processes, and kubectl get leases -n {{ $labels.namespace }}",
        lasting="5m",
        severity="critical",
    ),
    Alert(
        name="HomeostatReconcilesFail",
        expression=(
            rate("homeostat_reconciles_total", *_EACH, where='$target, outcome="failed"', over="10m")
            + f" > 0.1 * {rate('homeostat_reconciles_total', *_EACH, over='10m')}"
        ),
        summary=f"More than a tenth of the reconciles of {_OF} fail",
        advice="Read the conditions of its objects, and the log of the process that leads",
        lasting="15m",
    ),
    Alert(
        name="HomeostatReconcilesRepeat",
        expression=(
            grown("homeostat_reconciles_total", *_EACH, where='$target, outcome="repeated"', over="30m") + " > 5"
        ),
        summary=f"Actions of {_OF} do not have the effect that it expects",
        advice="Read the conditions of its objects: the same action was decided right after it was carried out",
        lasting="15m",
    ),
    Alert(
        name="HomeostatObjectsDoNotSettle",
        expression=grown("homeostat_breaker_trips_total", *_EACH, over="15m") + " > 0",
        summary=f"Objects of {_OF} change without end, so their reconciles are postponed",
        advice="Look for another writer of the same fields: kubectl get -o yaml --show-managed-fields",
        lasting="15m",
    ),
    Alert(
        name="HomeostatQueueStuck",
        expression=f"max by ({PROCESS}, controller) (homeostat_queue_oldest_wait_seconds{{$target}}) > 300",
        summary=f"An object of {_OF} has waited for a worker for {{{{ $value | humanizeDuration }}}}",
        advice="Look for slow reconciles; raise the CPU, or the concurrency of the controller",
    ),
    Alert(
        name="HomeostatWatchSilent",
        expression=f"max by ({PROCESS}, path) (homeostat_watch_last_event_age_seconds{{$target}}) > 900",
        summary="The watch of {{ $labels.path }} has delivered nothing for {{ $value | humanizeDuration }}",
        advice="Check the connection to the API server, and the permission to watch: homeostat doctor",
    ),
    Alert(
        name="HomeostatWatchNotSynced",
        expression=f"min by ({PROCESS}, path) (homeostat_watch_synced{{$target}}) == 0",
        summary="The first list of {{ $labels.path }} is not complete",
        advice="Check that the kind is installed, and the permission to list: homeostat doctor",
    ),
    Alert(
        name="HomeostatWatchMissesEvents",
        expression=grown("homeostat_watch_missed_total", PROCESS, "path", over="3h") + " > 0",
        summary="The watch of {{ $labels.path }} lost {{ $value }} changes, which a list corrected",
        advice="Look for a proxy between this process and the API server",
        lasting="0m",
    ),
    Alert(
        name="HomeostatObjectsUnreadable",
        expression=grown("homeostat_watch_unreadable_total", PROCESS, "path", over="15m") + " > 0",
        summary="Objects of {{ $labels.path }} do not match the types of the operator, which ignores them",
        advice="The log of the process names them; apply the definitions of this version: homeostat crds",
        lasting="0m",
    ),
    Alert(
        name="HomeostatEventsLost",
        expression=(
            f"{grown('homeostat_events_dropped_total', PROCESS, over='15m')}"
            f" + {grown('homeostat_events_failed_total', PROCESS, over='15m')} > 0"
        ),
        summary="{{ $labels.job }} could not write {{ $value }} Events",
        advice="Check the permission to create Events: homeostat doctor",
        lasting="15m",
        severity="info",
    ),
    Alert(
        name="HomeostatCertificateExpires",
        expression=certificate_expires("faces_certificate", "$target"),
        summary="The certificate of the HTTP apps of {{ $labels.job }} expires in {{ $value | humanizeDuration }}",
        advice="Read the log of the operators and the Events of the certificate's Secret; replace it by hand",
        severity="critical",
    ),
)
SIGNALS: Final = Signals(name="runtime", title="controllers", alerts=ALERTS, panels=PANELS)
