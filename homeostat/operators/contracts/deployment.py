"""The Prometheus alerts of the original, two of our own, and the Grafana panels, for the deployment to a cluster.

Several replicas report the same status, so expressions take the maximum of a series. Pure.
"""

from __future__ import annotations

from typing import Final, Literal

from homeostat.runtime.deployment import Alert, Panel, stat

_SERVICE: Final = ("namespace", "service")
_PACTO: Final = ("namespace", "name")
_DESCRIBE: Final = "Read its conditions: kubectl describe pacto {{ $labels.name }} -n {{ $labels.namespace }}"
_FIND: Final = (
    "Find its Pacto by the service name and read its conditions: kubectl get pactos -n {{ $labels.namespace }} -o wide"
)
_NAMED: Final = "{{ $labels.namespace }}/{{ $labels.service }}"


def _series(metric: str, **labels: str) -> str:
    selected = ["$job", *(f'{name}="{value}"' for name, value in labels.items())]
    return f"{metric}{{{', '.join(selected)}}}"


def _max(metric: str, *labels: str, **selected: str) -> str:
    return f"max by ({', '.join(labels)}) ({_series(metric, **selected)})"


def _has(status: str) -> str:
    """The Pactos with this status."""
    return f"{_max('pacto_contract_status', *_PACTO, status=status)} == 1"


def _counted(condition: str) -> str:
    """The number of series, 0 if there is none."""
    return f"(count({condition}) or vector(0))"


def _failing(name: str, check: str, summary: str, severity: Literal["critical", "warning"]) -> Alert:
    return Alert(
        name=name,
        expression=f"min by ({', '.join(_SERVICE)}) ({_series('pacto_contract_validation_result', check=check)}) == 0",
        summary=f"{_NAMED}: {summary}",
        advice=_FIND,
        lasting="5m" if severity == "critical" else "10m",
        severity=severity,
    )


_BOUND: Final = (
    f"max by ({', '.join(_PACTO)})"
    ' (pacto_contract_status{$job, status=~"Compliant|Warning|NonCompliant|Unknown"}) == 1'
)
_SHARE: Final = f"{_counted(_has('Compliant'))} / count({_BOUND})"

ALERTS: Final = (
    Alert(
        name="PactoContractNonCompliant",
        expression=_has("NonCompliant"),
        summary="{{ $labels.namespace }}/{{ $labels.name }} does not comply with its contract",
        advice=_DESCRIBE,
        lasting="5m",
        severity="critical",
    ),
    Alert(
        name="PactoContractValidationErrors",
        expression=f"{_max('pacto_contract_validation_errors', *_SERVICE)} > 0",
        summary=f"{_NAMED}: {{{{ $value }}}} checks of severity error fail",
        advice=_FIND,
        lasting="5m",
        severity="critical",
    ),
    _failing("PactoWorkloadTypeMismatch", "WorkloadTypeMatch", "the workload has another type", "critical"),
    _failing("PactoStateModelMismatch", "StateModelMatch", "its storage does not match the contract", "critical"),
    _failing("PactoImageMismatch", "ImageMatch", "it runs another image than the contract declares", "critical"),
    Alert(
        name="PactoContractValidationWarnings",
        expression=f"{_max('pacto_contract_validation_warnings', *_SERVICE)} > 0",
        summary=f"{_NAMED}: {{{{ $value }}}} checks of severity warning fail",
        advice=_FIND,
        lasting="10m",
    ),
    _failing("PactoUpgradeStrategyDrift", "UpgradeStrategyMatch", "it has another upgrade strategy", "warning"),
    _failing("PactoGracefulShutdownDrift", "GracefulShutdownMatch", "it has another grace period", "warning"),
    _failing("PactoHealthTimingDrift", "HealthTimingMatch", "its probe has another initial delay", "warning"),
    Alert(
        name="PactoFleetComplianceDropped",
        expression=f"{_SHARE} < 0.9",
        summary="Only {{ $value | humanizePercentage }} of the bound contracts are compliant",
        advice="List the others: kubectl get pactos -A",
        lasting="15m",
    ),
    Alert(
        name="PactoFleetHighErrorRate",
        expression=f"sum({_max('pacto_contract_validation_errors', *_SERVICE)}) > 5",
        summary="{{ $value }} checks of severity error fail in all contracts together",
        advice="List the contracts: kubectl get pactos -A",
        lasting="15m",
    ),
    Alert(
        name="PactoReadinessExpires",
        expression=f"{_max('pacto_readiness_gate_expiry_timestamp_seconds', *_PACTO)} - time() < 7 * 86400",
        summary="Readiness of {{ $labels.namespace }}/{{ $labels.name }} expires in {{ $value | humanizeDuration }}",
        advice="Renew the checks that expire: kubectl describe pacto {{ $labels.name }} -n {{ $labels.namespace }}",
        lasting="15m",
    ),
    Alert(
        name="PactoOpenApiDrift",
        expression=f"{_max('pacto_openapi_drift_changes', *_PACTO, 'interface', classification='BREAKING')} > 0",
        summary="{{ $labels.namespace }}/{{ $labels.name }}: the OpenAPI document of the interface "
        "{{ $labels.interface }} has {{ $value }} BREAKING changes from the contract",
        advice="Read its status.apiDrift: kubectl get pacto {{ $labels.name }} -n {{ $labels.namespace }} -o yaml",
        lasting="10m",
    ),
)

_OF_PACTO: Final = "{{namespace}}/{{name}}"
_OF_SERVICE: Final = "{{namespace}}/{{service}}"
PANELS: Final[dict[str, tuple[Panel, ...]]] = {
    "Contracts": (
        stat("Compliant share", _SHARE, "percentunit"),
        stat("Bound contracts", _counted(_BOUND)),
        *(stat(status, _counted(_has(status))) for status in ("NonCompliant", "Warning", "Unknown")),
        Panel(
            "Contracts by status",
            f"sum by (status) ({_max('pacto_contract_status', *_PACTO, 'status')})",
            "{{status}}",
        ),
    ),
    "Checks": (
        Panel("Failed checks of severity error", _max("pacto_contract_validation_errors", *_SERVICE), _OF_SERVICE),
        Panel("Failed checks of severity warning", _max("pacto_contract_validation_warnings", *_SERVICE), _OF_SERVICE),
        Panel(
            "Services that fail each check",
            "sum by (check) (1 - min by (namespace, service, check) (pacto_contract_validation_result{$job}))",
            "{{check}}",
        ),
        Panel(
            "Changes of served OpenAPI documents",
            _max("pacto_openapi_drift_changes", *_PACTO, "interface", "classification"),
            "{{namespace}}/{{name}} {{interface}} {{classification}}",
        ),
        Panel("Endpoint probes", "sum(rate(pacto_endpoint_probes_total{$job}[5m]))", "probes", "ops"),
    ),
    "Readiness": (
        Panel("Score", _max("pacto_readiness_score", *_PACTO), _OF_PACTO),
        stat("Gates that are unmet", "sum(1 - min by (namespace, name) (pacto_readiness_gate{$job}))"),
        Panel(
            "Time until the gate drops",
            f"{_max('pacto_readiness_gate_expiry_timestamp_seconds', *_PACTO)} - time()",
            _OF_PACTO,
            "s",
        ),
    ),
}
