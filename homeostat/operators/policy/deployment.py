"""The parts of the operator's deployment to a cluster: the admission webhook, Grafana panels and Prometheus alerts.

Several replicas report the same score, so panels show the maximum of gauges and the sum of counters. The webhook is a
process of its own, and so a job of its own. Pure.
"""

from __future__ import annotations

from typing import Final

from homeostat.operators.policy.access import webhook_rules
from homeostat.operators.policy.admission.webhook_configuration import PORT, webhook_configuration
from homeostat.runtime.deployment import Alert, Panel, Webhook, stat
from homeostat.runtime.telemetry.promql import certificate_expires, grown_in_1h, quantile, rate


def _max(metric: str, *labels: str) -> str:
    return f"max by ({', '.join(labels)}) ({metric}{{$job}})" if labels else f"max({metric}{{$job}})"


def _rate(metric: str, *labels: str) -> str:
    return rate(metric, *labels, where=_whose(metric))


def _p99(metric: str) -> str:
    return quantile(metric, where=_whose(metric))


def _whose(metric: str) -> str:
    return "$webhook" if metric.startswith("webhook_") else "$job"


_EXPIRY: Final = "webhook_certificate_expiry_timestamp_seconds{$webhook}"
_STALLED: Final = "max(webhook_stalled_policies{$webhook})"
_POLICY: Final = ("namespace", "policy")
_OF_POLICY: Final = "{{namespace}}/{{policy}}"
PANELS: Final[dict[str, tuple[Panel, ...]]] = {
    "Overview": (
        stat("Cluster score", _max("cluster_health_score")),
        stat("Lowest policy", "min(devopspolicy_health_score{$job})"),
        stat("Violations", f"sum({_max('devopspolicy_violations_total', *_POLICY)})"),
        stat("Policies that enforce", f"sum({_max('devopspolicy_enforcement_mode', *_POLICY)})"),
        stat("Pods", _max("pods_tracked_total")),
        stat("Denials, 1 h", grown_in_1h("webhook_denials_total{$webhook}")),
    ),
    "Watch": (
        Panel("Score of each namespace", _max("namespace_health_score", "namespace"), "{{namespace}}"),
        Panel("Score of the cluster", _max("cluster_health_score"), "cluster"),
        Panel("Pod events received", _rate("pod_events_total"), "changes", "ops"),
    ),
    "Reconcile": (
        Panel("Score of each policy", _max("devopspolicy_health_score", *_POLICY), _OF_POLICY),
        Panel("Violations of each policy", _max("devopspolicy_violations_total", *_POLICY), _OF_POLICY),
        Panel("Reconciliations of policies", _rate("devopspolicy_reconcile_total"), "reconciliations", "ops"),
        Panel("Reconciliations that failed", _rate("devopspolicy_reconcile_errors_total"), "errors", "ops"),
        Panel("Duration of reconciliations, p99", _p99("devopspolicy_reconcile_duration_seconds"), "p99", "s"),
        Panel("Pods evaluated", _rate("devopspolicy_pods_scanned_total"), "Pods", "ops"),
        Panel("Workloads patched", _rate("devopspolicy_remediations_applied_total"), "applied", "ops"),
        Panel("Workloads that could not be patched", _rate("devopspolicy_remediations_failed_total"), "failed", "ops"),
    ),
    "Webhook": (
        Panel("Reviews", _rate("webhook_requests_total", "operation", "allowed"), "{{operation}} {{allowed}}", "ops"),
        Panel(
            "Denials", _rate("webhook_denials_total", "namespace", "violation"), "{{namespace}} {{violation}}", "ops"
        ),
        Panel("Duration of reviews, p99", _p99("webhook_request_duration_seconds"), "p99", "s"),
        Panel("Reviews cut short", _rate("webhook_hurried_total"), "cut short", "ops"),
        Panel("Invalid policies", _STALLED, "policies"),
        Panel("Time until the certificate expires", f"min({_EXPIRY}) - time()", "certificate", "s"),
        Panel(
            "Part of the certificate's life that is left",
            f"min(({_EXPIRY} - time()) / ({_EXPIRY} - webhook_certificate_start_timestamp_seconds{{$webhook}}))",
            "certificate",
            "percentunit",
        ),
        Panel("Certificate renewals", _rate("webhook_certificate_renewals_total"), "renewals", "ops"),
        Panel("Failed certificate renewals", _rate("webhook_certificate_renewal_failures_total"), "failures", "ops"),
    ),
    "Severity & Audit": (
        Panel(
            "Violations by severity",
            f"sum by (severity) ({_max('devopspolicy_violations_by_severity', 'severity', *_POLICY)})",
            "{{severity}}",
        ),
        Panel("Audit results written", _rate("devopspolicy_audit_results_total"), "results", "ops"),
        Panel("Mode of each policy", _max("devopspolicy_enforcement_mode", *_POLICY), _OF_POLICY),
    ),
}
ALERTS: Final = (
    Alert(
        name="PolicyScoreLow",
        expression=f"{_max('devopspolicy_health_score', *_POLICY)} < 50",
        summary="Policy {{ $labels.namespace }}/{{ $labels.policy }} scores {{ $value }} of 100",
        advice="List its violations: kubectl describe devopspolicy {{ $labels.policy }} -n {{ $labels.namespace }}",
        lasting="30m",
    ),
    Alert(
        name="PolicyEnforcementFails",
        expression=f"{_rate('devopspolicy_remediations_failed_total')} > 0",
        summary="Policies cannot enforce their rules on some workloads",
        advice="Read the conditions and Events of the policies, and the log of the operator",
        lasting="15m",
    ),
    Alert(
        name="PolicyWebhookHurried",
        expression=f"{_rate('webhook_hurried_total')} > 0",
        summary="The admission webhook answers before every policy was evaluated",
        advice="Raise the CPU of the webhook, or its replicas",
        lasting="15m",
    ),
    Alert(
        name="PolicyWebhookCertificateExpires",
        expression=certificate_expires("webhook_certificate", "$webhook"),
        summary="The certificate of the admission webhook expires in {{ $value | humanizeDuration }}",
        advice="Read the log of the webhook and the Events of its Secret; once expired, API servers skip the webhook",
        severity="critical",
    ),
    Alert(
        name="PolicyInvalid",
        expression=f"{_STALLED} > 0",
        summary="{{ $value }} policies are invalid: they are not evaluated, and at admission they deny nothing",
        advice="List them with their reasons: kubectl get dop,cdop -A -o wide",
        lasting="15m",
    ),
)

WEBHOOK: Final = Webhook(
    arguments=("policy", "webhook", "serve"),
    port=PORT,
    rules=webhook_rules(),
    configuration=webhook_configuration,
    certificate="policy webhook cert-generate",
    renewal_option="--renew-secret",
)
