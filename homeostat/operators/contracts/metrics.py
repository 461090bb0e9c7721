"""The metrics of the operator, with the names of the original, and when a readiness gate will drop.

Only the checks that apply now have series, and a Pacto that is deleted has none. If two Pactos of a namespace have the
same service name, their series with the label `service` are joined: the worse result, and the sum of the failures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

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
    samples,
)

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

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
_JOINED: Final[dict[str, Callable[[float, float], float]]] = {
    COMPLIANCE: min,
    RESULT: min,
    ERRORS: lambda one, other: one + other,
    WARNINGS: lambda one, other: one + other,
}

Key = tuple[str, str]


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
        from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily

        values = self._values()
        for name, (text, labels) in _FAMILIES.items():
            family = GaugeMetricFamily(name, text, labels=labels)
            for key, value in values[name].items():
                family.add_metric(key, value)
            yield family
        yield CounterMetricFamily(PROBES, "Requests to endpoints of contracts", value=self._probes_sent())

    def _values(self) -> dict[str, dict[tuple[str, ...], float]]:
        values: dict[str, dict[tuple[str, ...], float]] = {name: {} for name in _FAMILIES}
        for (namespace, name), (figures, expires_at) in self._shown.items():
            for each in samples(figures, name=name, namespace=namespace):
                key = tuple(each.labels[label] for label in _FAMILIES[each.metric][1])
                held = values[each.metric].get(key)
                values[each.metric][key] = each.value if held is None else _JOINED[each.metric](held, each.value)
            if expires_at is not None:
                values[GATE_EXPIRY][name, namespace] = expires_at
        return values
