"""The alerts and the dashboard over the metrics of a plane. Pure."""

from __future__ import annotations

from typing import Final

from homeostat.runtime.deployment import Alert, Panel, Signals, stat
from homeostat.runtime.telemetry.panels import process_panels
from homeostat.runtime.telemetry.promql import NONE_UP, PROCESS, grown, grown_in_1h, quantile, rate

_REQUESTS: Final = "apiserver_request_total"


def _share(code: str) -> str:
    """The share of requests that are answered so, by process."""
    answered = rate(_REQUESTS, PROCESS, where=f"$target, code{code}", over="10m")
    return f"{answered} / {rate(_REQUESTS, PROCESS, over='10m')}"


def _seconds(*labels: str, share: str = "0.99", over: str = "5m") -> str:
    """In which this share of requests is answered. A watch or a connection lasts as long as its client wants."""
    where = '$target, verb!~"watch|connect"'
    return quantile("apiserver_request_duration_seconds", *labels, where=where, share=share, over=over)


PANELS: Final[dict[str, tuple[Panel, ...]]] = {
    "Plane": (
        stat("Replicas", "sum(up{$target})"),
        stat("Requests", rate(_REQUESTS), "reqps"),
        stat("Failed requests (5xx), 1 h", grown_in_1h('apiserver_request_total{$target, code=~"5.."}')),
        stat("Open watches", "sum(homeostat_watches{$target})"),
        stat("Database", "max(homeostat_store_bytes{$target})", "bytes"),
        stat("Free disk", "min(homeostat_disk_free_bytes{$target})", "bytes"),
    ),
    "Requests": (
        Panel("Requests by verb", rate(_REQUESTS, "verb"), "{{verb}}", "reqps"),
        Panel("Requests by code", rate(_REQUESTS, "code"), "{{code}}", "reqps"),
        Panel("Requests by resource", f"topk(10, {rate(_REQUESTS, 'resource')})", "{{resource}}", "reqps"),
        Panel("Time to the answer, p50", _seconds("verb", share="0.5"), "{{verb}}", "s"),
        Panel("Time to the answer, p99", _seconds("verb"), "{{verb}}", "s"),
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
        *process_panels("instance"),
        Panel(
            "Time until certificates expire",
            "min by (certificate) (homeostat_certificate_expiry_timestamp_seconds{$target}) - time()",
            "{{certificate}}",
            "s",
        ),
        Panel("Operators paused", "max(homeostat_effects_paused{$target})", "paused"),
        Panel("Audit events dropped", "sum(increase(homeostat_audit_dropped{$target}[5m]))", "dropped"),
    ),
}
ALERTS: Final = (
    Alert(
        name="HomeostatPlaneDown",
        expression=NONE_UP,
        summary="No replica of the plane {{ $labels.job }} answers",
        advice="Read the end of its log, and check its data directory: homeostat doctor --data DIR",
        lasting="2m",
        severity="critical",
    ),
    Alert(
        name="HomeostatPlaneWritesRefused",
        expression=grown("homeostat_store_failures", PROCESS, over="5m") + " > 0",
        summary="The store of {{ $labels.job }} refuses writes",
        advice="Check the disk or the database: homeostat doctor; /readyz?verbose has the reason",
        lasting="1m",
        severity="critical",
    ),
    Alert(
        name="HomeostatPlaneErrors",
        expression=_share('=~"5.."') + " > 0.01",
        summary="{{ $value | humanizePercentage }} of the requests to {{ $labels.job }} fail with 5xx",
        advice="Read its log; the dashboard shows the codes",
    ),
    Alert(
        name="HomeostatPlaneOverloaded",
        expression=_share('="429"') + " > 0.01",
        summary="{{ $labels.job }} refuses {{ $value | humanizePercentage }} of its requests with 429",
        advice="Find the client that sends most of them in the audit log; add CPU or replicas",
    ),
    Alert(
        name="HomeostatPlaneSlow",
        expression=_seconds(PROCESS, over="10m") + " > 1",
        summary="One of a hundred requests to {{ $labels.job }} takes longer than {{ $value | humanizeDuration }}",
        advice="Check CPU and disk; large lists without limit and slow admission webhooks take long",
        lasting="15m",
    ),
    Alert(
        name="HomeostatPlaneDiskFills",
        expression=(
            f"min by ({PROCESS}) (homeostat_disk_free_bytes{{$target}} / homeostat_disk_bytes{{$target}}) < 0.1"
        ),
        summary="The disk of {{ $labels.job }} has {{ $value | humanizePercentage }} of its space left",
        advice="Free space, or move the plane to a larger disk: homeostat migrate-store",
        lasting="15m",
    ),
    Alert(
        name="HomeostatPlaneCertificateExpires",
        expression=(
            f"min by ({PROCESS}, certificate) (homeostat_certificate_expiry_timestamp_seconds{{$target}} - time())"
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
        expression=f"max by ({PROCESS}) (homeostat_effects_paused{{$target}}) == 1",
        summary="The operators of {{ $labels.job }} have not acted for an hour: its store was restored from a backup",
        advice="If it takes over, start it once with --resume-effects; if it is a drill, stop it",
        lasting="1h",
    ),
    Alert(
        name="HomeostatPlaneAuditLost",
        expression=grown("homeostat_audit_dropped", PROCESS, over="10m") + " > 0",
        summary="{{ $labels.job }} dropped {{ $value }} audit events",
        advice="Check the disk of the audit log; a policy that logs less helps",
        lasting="0m",
    ),
)
SIGNALS: Final = Signals(name="plane", title="plane", alerts=ALERTS, panels=PANELS)
