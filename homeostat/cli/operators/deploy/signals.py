"""Panels and alerts over the metrics of the runtime, the same for every operator. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from homeostat.cli.operators.deploy.site import Site
from homeostat.runtime.deployment import Alert, Panel, certificate_expires

PANELS: Final[dict[str, Sequence[Panel]]] = {
    "Operators": (
        Panel("Controllers", "count(count by (controller) (homeostat_queue_depth))", is_stat=True),
        Panel("Leading processes", "sum(max by (lease) (homeostat_leading))", is_stat=True),
        Panel(
            "Failed reconciles, 1 h", 'sum(increase(homeostat_reconciles_total{outcome="failed"}[1h]))', is_stat=True
        ),
        Panel("Waiting objects", "sum(homeostat_queue_depth)", is_stat=True),
        Panel("Cached objects", "sum(max by (path) (homeostat_cache_objects))", is_stat=True),
        Panel("Dropped Events, 1 h", "sum(increase(homeostat_events_dropped_total[1h]))", is_stat=True),
    ),
    "Reconciles and watches": (
        Panel(
            "Reconciles",
            "sum by (controller, outcome) (rate(homeostat_reconciles_total[5m]))",
            "{{controller}} {{outcome}}",
            "ops",
        ),
        Panel(
            "Reconcile time, p99",
            "histogram_quantile(0.99, sum by (controller, le) (rate(homeostat_reconcile_seconds_bucket[5m])))",
            "{{controller}}",
            "s",
        ),
        Panel(
            "Oldest wait in the queue",
            "max by (controller) (homeostat_queue_oldest_wait_seconds)",
            "{{controller}}",
            "s",
        ),
        Panel("Retries", "sum by (controller) (rate(homeostat_queue_retries_total[5m]))", "{{controller}}", "ops"),
        Panel("Silence of watches", "max by (path) (homeostat_watch_last_event_age_seconds)", "{{path}}", "s"),
        Panel("Watch restarts", "sum by (path) (rate(homeostat_watch_restarts_total[5m]))", "{{path}}", "ops"),
    ),
}


def alerts_of(site: Site, service: str) -> Sequence[Alert]:
    """Alerts for the operators that Prometheus discovers by this Service."""
    job = f'job="{service}", namespace="{site.namespace}"'
    return (
        Alert(
            name="HomeostatDown",
            expression=f"absent(up{{{job}}} == 1)",
            summary=f"No process of {service} answers in namespace {site.namespace}",
            advice=f"kubectl get pods -n {site.namespace} -l app.kubernetes.io/name={site.name}",
            lasting="5m",
            severity="critical",
        ),
        Alert(
            name="HomeostatNoLeader",
            expression="max by (lease) (homeostat_leading) == 0",
            summary="No process has acquired the lease {{ $labels.lease }}",
            advice=f"Read the logs of the processes, and kubectl get leases -n {site.namespace}",
            lasting="5m",
            severity="critical",
        ),
        Alert(
            name="HomeostatReconcilesFail",
            expression=(
                'sum by (controller) (rate(homeostat_reconciles_total{outcome="failed"}[10m]))'
                " > 0.1 * sum by (controller) (rate(homeostat_reconciles_total[10m]))"
            ),
            summary="More than a tenth of the reconciles of {{ $labels.controller }} fail",
            advice="Read the conditions of its objects, and the log of the process that leads",
            lasting="15m",
        ),
        Alert(
            name="HomeostatQueueStuck",
            expression="max by (controller) (homeostat_queue_oldest_wait_seconds) > 300",
            summary="An object of {{ $labels.controller }} has waited for a worker for {{ $value }} s",
            advice="Look for slow reconciles; raise the CPU, or the concurrency of the controller",
        ),
        Alert(
            name="HomeostatWatchSilent",
            expression="max by (path) (homeostat_watch_last_event_age_seconds) > 900",
            summary="The watch of {{ $labels.path }} has delivered nothing for {{ $value }} s",
            advice="Check the connection to the API server, and the permission to watch",
        ),
        Alert(
            name="HomeostatWatchNotSynced",
            expression="min by (path) (homeostat_watch_synced) == 0",
            summary="The first list of {{ $labels.path }} is not complete",
            advice="Check that the kind is installed, and the permission to list",
        ),
        Alert(
            name="HomeostatCertificateExpires",
            expression=certificate_expires("faces_certificate", job),
            summary=(
                f"The certificate of the HTTP apps of {service} in namespace {site.namespace} expires in"
                " {{ $value | humanizeDuration }}"
            ),
            advice="Read the log of the operators and the Events of the certificate's Secret; replace it by hand",
            severity="critical",
        ),
    )
