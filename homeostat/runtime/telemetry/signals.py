"""The alerts and the dashboard over the metrics of the runtime, the same for every operator. Pure."""

from __future__ import annotations

from typing import Final

from homeostat.runtime.deployment import Alert, Panel, Signals, certificate_expires

_PROCESSES: Final = "job, namespace"
_OF: Final = "{{ $labels.controller }}"


def _rate(metric: str, *labels: str, over: str = "5m", matching: str = "") -> str:
    return f"sum by ({', '.join(labels)}) (rate({metric}{{$target{matching}}}[{over}]))"


def _grown(metric: str, *labels: str, over: str, matching: str = "") -> str:
    return f"sum by ({', '.join((_PROCESSES, *labels))}) (increase({metric}{{$target{matching}}}[{over}]))"


PANELS: Final[dict[str, tuple[Panel, ...]]] = {
    "Operators": (
        Panel("Processes", "sum(up{$target})", is_stat=True),
        Panel("Controllers", "count(count by (controller) (homeostat_queue_depth{$target}))", is_stat=True),
        Panel("Leases with a leader", "sum(max by (job, namespace, lease) (homeostat_leading{$target}))", is_stat=True),
        Panel(
            "Failed reconciles, 1 h",
            'sum(increase(homeostat_reconciles_total{$target, outcome="failed"}[1h])) or vector(0)',
            is_stat=True,
        ),
        Panel("Waiting objects", "sum(homeostat_queue_depth{$target})", is_stat=True),
        Panel("Cached objects", "sum(max by (job, namespace, path) (homeostat_cache_objects{$target}))", is_stat=True),
    ),
    "Reconciles": (
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
        Panel("Retries", _rate("homeostat_queue_retries_total", "controller"), "{{controller}}", "ops"),
        Panel(
            "Oldest wait in the queue",
            "max by (controller) (homeostat_queue_oldest_wait_seconds{$target})",
            "{{controller}}",
            "s",
        ),
        Panel("Objects in work", "sum by (controller) (homeostat_queue_working{$target})", "{{controller}}"),
        Panel(
            "Objects that wait for their time",
            "sum by (controller) (homeostat_queue_delayed{$target})",
            "{{controller}}",
        ),
        Panel(
            "Reconciles postponed by the breaker",
            _rate("homeostat_breaker_trips_total", "controller"),
            "{{controller}}",
        ),
    ),
    "Watches and Events": (
        Panel("Silence of watches", "max by (path) (homeostat_watch_last_event_age_seconds{$target})", "{{path}}", "s"),
        Panel("Watch restarts", _rate("homeostat_watch_restarts_total", "path"), "{{path}}", "ops"),
        Panel("Watches by state", "sum by (state) (homeostat_watch_state{$target})", "{{state}}"),
        Panel(
            "Objects that do not match their types",
            "sum by (path) (homeostat_watch_unfit_total{$target})",
            "{{path}}",
        ),
        Panel("Events written", _rate("homeostat_events_written_total", "job"), "{{job}}", "ops"),
        Panel(
            "Events lost",
            f"{_rate('homeostat_events_dropped_total', 'job')} + {_rate('homeostat_events_failed_total', 'job')}",
            "{{job}}",
            "ops",
        ),
    ),
    "Processes": (
        Panel("CPU", _rate("process_cpu_seconds_total", "job", "instance"), "{{job}} {{instance}}", "percentunit"),
        Panel("Memory", "process_resident_memory_bytes{$target}", "{{job}} {{instance}}", "bytes"),
        Panel("Open files", "process_open_fds{$target}", "{{job}} {{instance}}"),
    ),
}
ALERTS: Final = (
    Alert(
        name="HomeostatDown",
        expression=f"absent(up{{$target}}) or sum by ({_PROCESSES}) (up{{$target}}) == 0",
        summary="No process of {{ $labels.job }} answers",
        advice="kubectl get pods -n {{ $labels.namespace }}",
        lasting="5m",
        severity="critical",
    ),
    Alert(
        name="HomeostatRestarts",
        expression=f"max by ({_PROCESSES}) (changes(process_start_time_seconds{{$target}}[1h])) > 3",
        summary="A process of {{ $labels.job }} started {{ $value }} times within an hour",
        advice="Read the log of the process before it ended: kubectl logs --previous",
        lasting="5m",
    ),
    Alert(
        name="HomeostatFilesRunOut",
        expression=f"max by ({_PROCESSES}) (process_open_fds{{$target}} / process_max_fds{{$target}}) > 0.8",
        summary="A process of {{ $labels.job }} has opened {{ $value | humanizePercentage }} of its files",
        advice="Raise the limit of open files, or add replicas",
    ),
    Alert(
        name="HomeostatNoLeader",
        expression=f"max by ({_PROCESSES}, lease) (homeostat_leading{{$target}}) == 0",
        summary="No process of {{ $labels.job }} has acquired the lease {{ $labels.lease }}",
        advice="Read the logs of the processes, and kubectl get leases -n {{ $labels.namespace }}",
        lasting="5m",
        severity="critical",
    ),
    Alert(
        name="HomeostatReconcilesFail",
        expression=(
            _rate("homeostat_reconciles_total", _PROCESSES, "controller", over="10m", matching=', outcome="failed"')
            + f" > 0.1 * {_rate('homeostat_reconciles_total', _PROCESSES, 'controller', over='10m')}"
        ),
        summary=f"More than a tenth of the reconciles of {_OF} fail",
        advice="Read the conditions of its objects, and the log of the process that leads",
        lasting="15m",
    ),
    Alert(
        name="HomeostatReconcilesRepeat",
        expression=_grown("homeostat_reconciles_total", "controller", over="30m", matching=', outcome="repeated"')
        + " > 5",
        summary=f"Actions of {_OF} do not have the effect that it expects",
        advice="Read the conditions of its objects: the same action was decided right after it was carried out",
        lasting="15m",
    ),
    Alert(
        name="HomeostatObjectsDoNotSettle",
        expression=_grown("homeostat_breaker_trips_total", "controller", over="15m") + " > 0",
        summary=f"Objects of {_OF} change without end, so their reconciles are postponed",
        advice="Look for another writer of the same fields: kubectl get -o yaml --show-managed-fields",
        lasting="15m",
    ),
    Alert(
        name="HomeostatQueueStuck",
        expression=f"max by ({_PROCESSES}, controller) (homeostat_queue_oldest_wait_seconds{{$target}}) > 300",
        summary=f"An object of {_OF} has waited for a worker for {{{{ $value | humanizeDuration }}}}",
        advice="Look for slow reconciles; raise the CPU, or the concurrency of the controller",
    ),
    Alert(
        name="HomeostatWatchSilent",
        expression=f"max by ({_PROCESSES}, path) (homeostat_watch_last_event_age_seconds{{$target}}) > 900",
        summary="The watch of {{ $labels.path }} has delivered nothing for {{ $value | humanizeDuration }}",
        advice="Check the connection to the API server, and the permission to watch: homeostat doctor",
    ),
    Alert(
        name="HomeostatWatchNotSynced",
        expression=f"min by ({_PROCESSES}, path) (homeostat_watch_synced{{$target}}) == 0",
        summary="The first list of {{ $labels.path }} is not complete",
        advice="Check that the kind is installed, and the permission to list: homeostat doctor",
    ),
    Alert(
        name="HomeostatWatchMissesEvents",
        expression=_grown("homeostat_watch_missed_total", "path", over="3h") + " > 0",
        summary="The watch of {{ $labels.path }} lost {{ $value }} changes, which a list corrected",
        advice="Look for a proxy between this process and the API server",
        lasting="0m",
    ),
    Alert(
        name="HomeostatObjectsUnreadable",
        expression=_grown("homeostat_watch_unfit_total", "path", over="15m") + " > 0",
        summary="Objects of {{ $labels.path }} do not match the types of the operator, which ignores them",
        advice="The log of the process names them; apply the definitions of this version: homeostat crds",
        lasting="0m",
    ),
    Alert(
        name="HomeostatEventsLost",
        expression=(
            f"{_grown('homeostat_events_dropped_total', over='15m')}"
            f" + {_grown('homeostat_events_failed_total', over='15m')} > 0"
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
