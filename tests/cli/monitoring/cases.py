"""For each alert: series with which it fires after two hours, and series with which it does not.

Values are in the notation of promtool: `3x150` is 3 at each of 150 minutes, `0+2x150` grows by 2 a minute. The labels
of the process are left out: `P` of its own metrics, `O` of metrics of an object in the namespace `shop`, `W` of the
webhook.
"""

from __future__ import annotations

from typing import NamedTuple

P = 'job="homeostat",namespace="ops",instance="a"'
O = 'job="homeostat",namespace="shop",instance="a"'  # noqa: E741
W = 'job="homeostat-policy-webhook",namespace="ops",instance="a"'
NOW_S = 7200
_DAY = 86400
Series = dict[str, str]


class Case(NamedTuple):
    fires: Series
    is_silent: Series
    """Some values that are close to those that fire."""


def _at(value: float) -> str:
    return f"{value:.0f}x150"


def _requests(code: str, growth: float) -> Series:
    return {
        f'apiserver_request_total{{{P},verb="get",code="200"}}': "0+1000x150",
        f'apiserver_request_total{{{P},verb="get",code="{code}"}}': f"0+{growth:g}x150",
    }


def _latency(slow: int) -> Series:
    """Of 100 requests a minute, so many that took between 1 and 5 s; a watch is slow by nature."""
    name = f"apiserver_request_duration_seconds_bucket{{{P},verb="
    return {
        f'{name}"get",le="1.0"}}': f"0+{100 - slow}x150",
        f'{name}"get",le="5.0"}}': "0+100x150",
        f'{name}"get",le="+Inf"}}': "0+100x150",
        f'{name}"watch",le="1.0"}}': "0x150",
        f'{name}"watch",le="5.0"}}': "0+900x150",
        f'{name}"watch",le="+Inf"}}': "0+900x150",
    }


def certificate(prefix: str, labels: str, *, life: float, left: float) -> Series:
    """Of a certificate with this life, of which this is left, in days."""
    end = NOW_S + left * _DAY
    return {
        f"{prefix}_certificate_start_timestamp_seconds{{{labels}}}": _at(end - life * _DAY),
        f"{prefix}_certificate_expiry_timestamp_seconds{{{labels}}}": _at(end),
    }


def _outcomes(controller: str, **growth: str) -> Series:
    return {
        f'homeostat_reconciles_total{{{P},controller="{controller}",outcome="{outcome}"}}': values
        for outcome, values in growth.items()
    }


def _resources(phase: str, values: str) -> Series:
    return {f'homeostat_actions_resources{{{P},type="buckets",phase="{phase}"}}': values}


def _pacto_check(name: str) -> Case:
    series = f'pacto_contract_validation_result{{{O},service="quay",check="{name}"}}'
    return Case({series: "0x150"}, {series: "1x150"})


def _status(**values: str) -> Series:
    return {
        f'pacto_contract_status{{{O},name="{name}",status="{status}"}}': value
        for name, (status, value) in ((each, text.split(" ")) for each, text in values.items())
    }


def _synced(**values: str) -> Series:
    return {
        f'declarest_operator_syncpolicy_reconcile_total{{{O},name="users",result="{result}",reason="x"}}': value
        for result, value in values.items()
    }


PLANE = {
    "HomeostatPlaneDown": Case({f"up{{{P}}}": "0x150"}, {f"up{{{P}}}": "1x150"}),
    "HomeostatPlaneWritesRefused": Case(
        {f"homeostat_store_failures{{{P}}}": "0+1x150"}, {f"homeostat_store_failures{{{P}}}": "7x150"}
    ),
    "HomeostatPlaneErrors": Case(_requests("503", 20), {**_requests("503", 5), **_requests("404", 500)}),
    "HomeostatPlaneOverloaded": Case(_requests("429", 20), _requests("429", 5)),
    "HomeostatPlaneSlow": Case(_latency(5), _latency(0)),
    "HomeostatPlaneDiskFills": Case(
        {f"homeostat_disk_free_bytes{{{P}}}": "9x150", f"homeostat_disk_bytes{{{P}}}": "100x150"},
        {f"homeostat_disk_free_bytes{{{P}}}": "11x150", f"homeostat_disk_bytes{{{P}}}": "100x150"},
    ),
    "HomeostatPlaneCertificateExpires": Case(
        {
            f'homeostat_certificate_expiry_timestamp_seconds{{{P},certificate="server"}}': _at(NOW_S + 29 * _DAY),
        },
        {
            f'homeostat_certificate_expiry_timestamp_seconds{{{P},certificate="server"}}': _at(NOW_S + 31 * _DAY),
        },
    ),
    "HomeostatPlaneEffectsPaused": Case(
        {f"homeostat_effects_paused{{{P}}}": "1x150"}, {f"homeostat_effects_paused{{{P}}}": "0x90 1x60"}
    ),
    "HomeostatPlaneAuditLost": Case(
        {f"homeostat_audit_dropped{{{P}}}": "0+1x150"}, {f"homeostat_audit_dropped{{{P}}}": "9x150"}
    ),
}
RUNTIME = {
    "HomeostatDown": Case({f"up{{{P}}}": "0x150"}, {f"up{{{P}}}": "1x150"}),
    "HomeostatRestarts": Case(
        {f"process_start_time_seconds{{{P}}}": "0+1x150"}, {f"process_start_time_seconds{{{P}}}": "3x90 4x30 5x30"}
    ),
    "HomeostatFilesRunOut": Case(
        {f"process_open_fds{{{P}}}": "81x150", f"process_max_fds{{{P}}}": "100x150"},
        {f"process_open_fds{{{P}}}": "79x150", f"process_max_fds{{{P}}}": "100x150"},
    ),
    "HomeostatNoLeader": Case(
        {f'homeostat_leading{{{P},lease="homeostat-policy"}}': "0x150"},
        {
            f'homeostat_leading{{{P},lease="homeostat-policy"}}': "0x150",
            'homeostat_leading{job="homeostat",namespace="ops",instance="c",lease="homeostat-policy"}': "1x150",
        },
    ),
    "HomeostatReconcilesFail": Case(
        _outcomes("policy", settled="0+80x150", failed="0+20x150"),
        {
            **_outcomes("policy", settled="0+95x150", failed="0+5x150"),
            # Many failures of another controller do not count here.
            **_outcomes("greeter", settled="0+99x150"),
        },
    ),
    "HomeostatReconcilesRepeat": Case(
        _outcomes("policy", repeated="0+1x150"), _outcomes("policy", repeated="4x150", settled="0+9x150")
    ),
    "HomeostatObjectsDoNotSettle": Case(
        {f'homeostat_breaker_trips_total{{{P},controller="policy"}}': "0+1x150"},
        {f'homeostat_breaker_trips_total{{{P},controller="policy"}}': "5x150"},
    ),
    "HomeostatQueueStuck": Case(
        {f'homeostat_queue_oldest_wait_seconds{{{P},controller="policy"}}': "301x150"},
        {f'homeostat_queue_oldest_wait_seconds{{{P},controller="policy"}}': "299x150"},
    ),
    "HomeostatWatchSilent": Case(
        {f'homeostat_watch_last_event_age_seconds{{{P},path="/api/v1/pods"}}': "901x150"},
        {f'homeostat_watch_last_event_age_seconds{{{P},path="/api/v1/pods"}}': "80x150"},
    ),
    "HomeostatWatchNotSynced": Case(
        {f'homeostat_watch_synced{{{P},path="/api/v1/pods"}}': "0x150"},
        {f'homeostat_watch_synced{{{P},path="/api/v1/pods"}}': "1x150"},
    ),
    "HomeostatWatchMissesEvents": Case(
        {f'homeostat_watch_missed_total{{{P},path="/api/v1/pods"}}': "0x100 3x50"},
        {f'homeostat_watch_missed_total{{{P},path="/api/v1/pods"}}': "3x150"},
    ),
    "HomeostatObjectsUnreadable": Case(
        {f'homeostat_watch_unreadable_total{{{P},path="/api/v1/pods"}}': "0x115 1x35"},
        {f'homeostat_watch_unreadable_total{{{P},path="/api/v1/pods"}}': "1x150"},
    ),
    "HomeostatEventsLost": Case(
        {f"homeostat_events_dropped_total{{{P}}}": "0x150", f"homeostat_events_failed_total{{{P}}}": "0+1x150"},
        {f"homeostat_events_dropped_total{{{P}}}": "3x150", f"homeostat_events_failed_total{{{P}}}": "4x150"},
    ),
    "HomeostatCertificateExpires": Case(
        certificate("faces", P, life=365, left=6), certificate("faces", P, life=365, left=8)
    ),
}
POLICY = {
    "PolicyScoreLow": Case(
        {f'devopspolicy_health_score{{{O},policy="base"}}': "49x150"},
        {f'devopspolicy_health_score{{{O},policy="base"}}': "50x150"},
    ),
    "PolicyEnforcementFails": Case(
        {f"devopspolicy_remediations_failed_total{{{P}}}": "0+1x150"},
        {f"devopspolicy_remediations_failed_total{{{P}}}": "6x150"},
    ),
    "PolicyWebhookHurried": Case(
        {f"webhook_hurried_total{{{W}}}": "0+1x150"}, {f"webhook_hurried_total{{{W}}}": "6x150"}
    ),
    "PolicyWebhookCertificateExpires": Case(
        certificate("webhook", W, life=14, left=2), certificate("webhook", W, life=14, left=4)
    ),
    "PolicyInvalid": Case({f"webhook_stalled_policies{{{W}}}": "1x150"}, {f"webhook_stalled_policies{{{W}}}": "0x150"}),
}
SYNC = {
    "DeclarestSyncPolicyStalled": Case(_synced(error="0+1x150"), _synced(error="0+1x150", success="0+1x150")),
    "DeclarestSyncPolicyReconcileErrors": Case(_synced(error="0+1x150"), _synced(error="5x150", success="0+1x150")),
    "DeclarestRepositoryPollFailures": Case(
        {f'declarest_operator_resource_repository_poll_total{{{O},name="site",result="error"}}': "0+1x150"},
        {
            f'declarest_operator_resource_repository_poll_total{{{O},name="site",result="error"}}': "5x150",
            f'declarest_operator_resource_repository_poll_total{{{O},name="site",result="success"}}': "0+1x150",
        },
    ),
}
CONTRACTS = {
    "PactoContractNonCompliant": Case(_status(quay="NonCompliant 1x150"), _status(quay="NonCompliant 0x150")),
    "PactoContractValidationErrors": Case(
        {f'pacto_contract_validation_errors{{{O},service="quay"}}': "1x150"},
        {f'pacto_contract_validation_errors{{{O},service="quay"}}': "0x150"},
    ),
    "PactoContractValidationWarnings": Case(
        {f'pacto_contract_validation_warnings{{{O},service="quay"}}': "1x150"},
        {f'pacto_contract_validation_warnings{{{O},service="quay"}}': "0x150"},
    ),
    "PactoWorkloadTypeMismatch": _pacto_check("WorkloadTypeMatch"),
    "PactoStateModelMismatch": _pacto_check("StateModelMatch"),
    "PactoImageMismatch": _pacto_check("ImageMatch"),
    "PactoUpgradeStrategyDrift": _pacto_check("UpgradeStrategyMatch"),
    "PactoGracefulShutdownDrift": _pacto_check("GracefulShutdownMatch"),
    "PactoHealthTimingDrift": _pacto_check("HealthTimingMatch"),
    "PactoFleetComplianceDropped": Case(
        {**_status(quay="Compliant 0x150"), **_status(quay="Warning 1x150")},
        {**_status(quay="Compliant 1x150"), **_status(pier="Reference 1x150")},
    ),
    "PactoFleetHighErrorRate": Case(
        {f'pacto_contract_validation_errors{{{O},service="quay"}}': "6x150"},
        {f'pacto_contract_validation_errors{{{O},service="quay"}}': "5x150"},
    ),
    "PactoReadinessExpires": Case(
        {f'pacto_readiness_gate_expiry_timestamp_seconds{{{O},name="quay"}}': _at(NOW_S + 6 * _DAY)},
        {f'pacto_readiness_gate_expiry_timestamp_seconds{{{O},name="quay"}}': _at(NOW_S + 8 * _DAY)},
    ),
    "PactoOpenApiDrift": Case(
        {f'pacto_openapi_drift_changes{{{O},name="quay",interface="web",classification="BREAKING"}}': "2x150"},
        {
            f'pacto_openapi_drift_changes{{{O},name="quay",interface="web",classification="BREAKING"}}': "0x150",
            f'pacto_openapi_drift_changes{{{O},name="quay",interface="web",classification="NON_BREAKING"}}': "9x150",
        },
    ),
}
IMAGES = {
    "ImageUpdatesFail": Case(
        {f'gitops_reconcile_total{{{P},action="failed"}}': "0+1x150"},
        {f'gitops_reconcile_total{{{P},action="failed"}}': "4x150"},
    ),
    "ImageUpdatesStopped": Case(
        {f"gitops_tracked_deployments{{{P}}}": "3x150", f"gitops_last_success_timestamp{{{P}}}": "60x150"},
        {f"gitops_tracked_deployments{{{P}}}": "3x150", f"gitops_last_success_timestamp{{{P}}}": "0+60x150"},
    ),
    "ImageUpdatesGitFails": Case(
        {f'gitops_git_operations_total{{{P},op="push",result="failure"}}': "0+1x150"},
        {
            f'gitops_git_operations_total{{{P},op="push",result="failure"}}': "0x90 2x60",
            f'gitops_git_operations_total{{{P},op="push",result="success"}}': "0+9x150",
        },
    ),
}
ACTIONS = {
    "ActionsResourcesFailed": Case(_resources("failed", "1x150"), {**_resources("ready", "9x150")}),
    "ActionsResourcesPending": Case(
        {**_resources("pending", "2x150"), **_outcomes("actions-buckets", settled="7x150")},
        {**_resources("pending", "2x150"), **_outcomes("actions-buckets", settled="0+1x150")},
    ),
    "ActionsDeletionsStuck": Case(_resources("deleting", "1x150"), _resources("deleting", "1x90 0x2 1x58")),
}
CASES: dict[str, Case] = {**PLANE, **RUNTIME, **POLICY, **SYNC, **CONTRACTS, **IMAGES, **ACTIONS}
