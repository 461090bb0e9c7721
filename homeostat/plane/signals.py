"""The alerts and the dashboard over the metrics of a plane. Pure."""

from __future__ import annotations

from typing import Final

from homeostat.runtime.deployment import Alert, Panel, Signals

_BY: Final = "job, namespace"
_LATENCY: Final = 'apiserver_request_duration_seconds_bucket{$target, verb!~"watch|connect"}'


def _rate(metric: str, *labels: str, matching: str = "", over: str = "5m") -> str:
    by = f" by ({', '.join(labels)})" if labels else ""
    return f"sum{by} (rate({metric}{{$target{matching}}}[{over}]))"


def _share(matching: str) -> str:
    """The share of requests of this sort, by process."""
    return (
        f"{_rate('apiserver_request_total', _BY, matching=matching, over='10m')}"
        f" / {_rate('apiserver_request_total', _BY, over='10m')}"
    )


PANELS: Final[dict[str, tuple[Panel, ...]]] = {
    "Plane": (
        Panel("Replicas", "sum(up{$target})", is_stat=True),
        Panel("Requests", _rate("apiserver_request_total"), unit="reqps", is_stat=True),
        Panel(
            "Failed requests (5xx), 1 h",
            'sum(increase(apiserver_request_total{$target, code=~"5.."}[1h])) or vector(0)',
            is_stat=True,
        ),
        Panel("Open watches", "sum(homeostat_watches{$target})", is_stat=True),
        Panel("Database", "max(homeostat_store_bytes{$target})", unit="bytes", is_stat=True),
        Panel("Free disk", "min(homeostat_disk_free_bytes{$target})", unit="bytes", is_stat=True),
    ),
    "Requests": (
        Panel("Requests by verb", _rate("apiserver_request_total", "verb"), "{{verb}}", "reqps"),
        Panel("Requests by code", _rate("apiserver_request_total", "code"), "{{code}}", "reqps"),
        Panel(
            "Requests by resource", f"topk(10, {_rate('apiserver_request_total', 'resource')})", "{{resource}}", "reqps"
        ),
        Panel(
            "Time to the answer, p50",
            f"histogram_quantile(0.5, sum by (verb, le) (rate({_LATENCY}[5m])))",
            "{{verb}}",
            "s",
        ),
        Panel(
            "Time to the answer, p99",
            f"histogram_quantile(0.99, sum by (verb, le) (rate({_LATENCY}[5m])))",
            "{{verb}}",
            "s",
        ),
        Panel("Watches", "homeostat_watches{$target}", "{{instance}}"),
    ),
    "Store": (
        Panel("Changes", "sum(rate(homeostat_store_rows{$target}[5m]))", "changes", "ops"),
        Panel("Commits", "sum(rate(homeostat_store_batches{$target}[5m]))", "commits", "ops"),
        Panel("Commits refused", "sum(increase(homeostat_store_failures{$target}[5m]))", "refused"),
        Panel("Size of the database", "max(homeostat_store_bytes{$target})", "database", "bytes"),
        Panel("Free disk", "homeostat_disk_free_bytes{$target}", "{{instance}}", "bytes"),
        Panel(
            "Revisions that a watch may start at",
            "max(homeostat_store_revision{$target}) - min(homeostat_store_oldest_revision{$target})",
            "revisions",
        ),
    ),
    "Process": (
        Panel("CPU", _rate("process_cpu_seconds_total", "instance"), "{{instance}}", "percentunit"),
        Panel("Memory", "process_resident_memory_bytes{$target}", "{{instance}}", "bytes"),
        Panel("Open files", "process_open_fds{$target}", "{{instance}}"),
        Panel(
            "Time until certificates expire",
            "min by (certificate) (homeostat_certificate_expiry_timestamp_seconds{$target}) - time()",
            "{{certificate}}",
            "s",
        ),
        Panel("Operators paused", "max(homeostat_effects_paused{$target})", "paused"),
        Panel(
            "Audit events dropped",
            "sum(increase(homeostat_audit_dropped{$target}[5m]))",
            "dropped",
        ),
    ),
}
ALERTS: Final = (
    Alert(
        name="HomeostatPlaneDown",
        expression=f"absent(up{{$target}}) or sum by ({_BY}) (up{{$target}}) == 0",
        summary="No replica of the plane {{ $labels.job }} answers",
        advice="Read the end of its log, and check its data directory: homeostat doctor --data DIR",
        lasting="2m",
        severity="critical",
    ),
    Alert(
        name="HomeostatPlaneWritesRefused",
        expression=f"sum by ({_BY}) (increase(homeostat_store_failures{{$target}}[5m])) > 0",
        summary="The store of {{ $labels.job }} refuses writes",
        advice="Check the disk or the database: homeostat doctor; /readyz?verbose has the reason",
        lasting="1m",
        severity="critical",
    ),
    Alert(
        name="HomeostatPlaneErrors",
        expression=_share(', code=~"5.."') + " > 0.01",
        summary="{{ $value | humanizePercentage }} of the requests to {{ $labels.job }} fail with 5xx",
        advice="Read its log; the dashboard shows the codes",
    ),
    Alert(
        name="HomeostatPlaneOverloaded",
        expression=_share(', code="429"') + " > 0.01",
        summary="{{ $labels.job }} refuses {{ $value | humanizePercentage }} of its requests with 429",
        advice="Find the client that sends most of them in the audit log; add CPU or replicas",
    ),
    Alert(
        name="HomeostatPlaneSlow",
        expression=f"histogram_quantile(0.99, sum by ({_BY}, le) (rate({_LATENCY}[10m]))) > 1",
        summary="One of a hundred requests to {{ $labels.job }} takes longer than {{ $value | humanizeDuration }}",
        advice="Check CPU and disk; large lists without limit and slow admission webhooks take long",
        lasting="15m",
    ),
    Alert(
        name="HomeostatPlaneDiskFills",
        expression=(f"min by ({_BY}) (homeostat_disk_free_bytes{{$target}} / homeostat_disk_bytes{{$target}}) < 0.1"),
        summary="The disk of {{ $labels.job }} has {{ $value | humanizePercentage }} of its space left",
        advice="Free space, or move the plane to a larger disk: homeostat migrate-store",
        lasting="15m",
    ),
    Alert(
        name="HomeostatPlaneCertificateExpires",
        expression=(
            f"min by ({_BY}, certificate) (homeostat_certificate_expiry_timestamp_seconds{{$target}} - time())"
            " < 30 * 86400"
        ),
        summary=(
            "The certificate {{ $labels.certificate }} of {{ $labels.job }} expires in {{ $value | humanizeDuration }}"
        ),
        advice="The plane renews certificates 90 days before; read its log for the reason that it could not",
        lasting="1h",
        severity="critical",
    ),
    Alert(
        name="HomeostatPlaneEffectsPaused",
        expression=f"max by ({_BY}) (homeostat_effects_paused{{$target}}) == 1",
        summary="The operators of {{ $labels.job }} have not acted for an hour: its store was restored from a backup",
        advice="If it takes over, start it once with --resume-effects; if it is a drill, stop it",
        lasting="1h",
    ),
    Alert(
        name="HomeostatPlaneAuditLost",
        expression=f"sum by ({_BY}) (increase(homeostat_audit_dropped{{$target}}[10m])) > 0",
        summary="{{ $labels.job }} dropped {{ $value }} audit events",
        advice="Check the disk of the audit log; a policy that logs less helps",
        lasting="0m",
    ),
)
SIGNALS: Final = Signals(name="plane", title="plane", alerts=ALERTS, panels=PANELS)
