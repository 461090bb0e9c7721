"""The metrics of the operator, with the names of the original, and when a readiness gate will drop.

Only the checks that apply now have series, and a Pacto that is deleted has none. If two Pactos of a namespace have the
same service name, their series with the label `service` are joined: the worse result, and the sum of the failures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Final

from homeostat.edge.metrics.exposition import escaped, rendered
from homeostat.operators.contracts.engine.checks.series import (
    COMPLIANCE,
    CONTRACT_STATUS,
    ERRORS,
    READINESS_CHECKS,
    READINESS_GATE,
    READINESS_SCORE,
    READINESS_STATUS,
    RESULT,
    WARNINGS,
    Figures,
    ReadinessFigures,
)
from homeostat.operators.contracts.engine.checks.verdict import STATUSES

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric
    from prometheus_client.samples import Sample

GATE_EXPIRY: Final = "pacto_readiness_gate_expiry_timestamp_seconds"
PROBES: Final = "pacto_endpoint_probes_total"
_FAMILIES: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    CONTRACT_STATUS: ("1 for the current contract status", ("name", "namespace", "status")),
    COMPLIANCE: ("1 if every check passed", ("service", "namespace")),
    ERRORS: ("Failed checks of severity error", ("service", "namespace")),
    WARNINGS: ("Failed checks of severity warning", ("service", "namespace")),
    RESULT: ("1 if the check passed", ("service", "namespace", "check")),
    READINESS_SCORE: ("Readiness score from 0 to 100", ("name", "namespace")),
    READINESS_GATE: ("1 if the readiness gate is met", ("name", "namespace")),
    READINESS_STATUS: ("1 for the current readiness status", ("name", "namespace", "status")),
    READINESS_CHECKS: ("Readiness checks by status", ("name", "namespace", "status")),
    GATE_EXPIRY: ("When the readiness gate drops if nothing is renewed", ("name", "namespace")),
}
Key = tuple[str, str]
Values = dict[str, dict[tuple[str, ...], float]]
"""By metric and values of its labels."""


class Series:
    def __init__(self, probes_sent: Callable[[], int]) -> None:
        self._probes_sent = probes_sent
        self._shown: dict[Key, tuple[Figures, float | None]] = {}

    def show(self, key: Key, figures: Figures, expires_at: float | None) -> None:
        self._shown[key] = (figures, expires_at)

    def forget(self, key: Key) -> None:
        self._shown.pop(key, None)

    def forget_all(self) -> None:
        self._shown.clear()

    def collect(self) -> Iterator[Metric]:
        from prometheus_client.metrics_core import CounterMetricFamily

        for name, values in self._values().items():
            text, labels = _FAMILIES[name]
            form = ",".join(f'{label}="{{}}"' for label in labels)
            line = f"{name}{{{{{form}}}}} {{}}\n".format
            lines = "".join([line(*map(escaped, key), value) for key, value in values.items()])
            yield rendered(name, text, "gauge", lines, partial(_samples, name, labels, values))
        yield CounterMetricFamily(PROBES, "Requests to endpoints of contracts", value=self._probes_sent())

    def _values(self) -> Values:
        values: Values = {name: {} for name in _FAMILIES}
        for (namespace, name), (shown, expires_at) in self._shown.items():
            statuses = values[CONTRACT_STATUS]
            for status in STATUSES:
                statuses[name, namespace, status] = float(status == shown.status)
            if shown.service is not None:
                _add_results(values, shown, (shown.service, namespace))
            if shown.readiness is not None:
                _add_readiness(values, shown.readiness, (name, namespace))
            if expires_at is not None:
                values[GATE_EXPIRY][name, namespace] = expires_at
        return values


def _add_results(values: Values, shown: Figures, key: tuple[str, str]) -> None:
    errors = warnings = 0.0
    results = values[RESULT]
    for check, severity, passed in shown.results:
        own = (*key, check)
        results[own] = min(results.get(own, 1.0), float(passed))
        errors += not passed and severity == "error"
        warnings += not passed and severity == "warning"
    values[ERRORS][key] = values[ERRORS].get(key, 0.0) + errors
    values[WARNINGS][key] = values[WARNINGS].get(key, 0.0) + warnings
    values[COMPLIANCE][key] = min(values[COMPLIANCE].get(key, 1.0), float(not errors and not warnings))


def _add_readiness(values: Values, shown: ReadinessFigures, key: tuple[str, str]) -> None:
    values[READINESS_SCORE][key] = float(shown.score)
    values[READINESS_GATE][key] = float(shown.is_passing)
    for reason, is_current in shown.reasons:
        values[READINESS_STATUS][*key, reason] = float(is_current)
    for status, count in shown.counts:
        values[READINESS_CHECKS][*key, status] = float(count)


def _samples(name: str, labels: tuple[str, ...], values: dict[tuple[str, ...], float]) -> list[Sample]:
    from prometheus_client.samples import Sample

    return [Sample(name, dict(zip(labels, key, strict=True)), value) for key, value in values.items()]
