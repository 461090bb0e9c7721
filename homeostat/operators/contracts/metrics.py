"""The metrics of the operator, with the names of the original, and when a readiness gate will drop.

Only the checks that apply now have series, and a Pacto that is deleted has none. If two Pactos of a namespace have the
same service name, their series with the label `service` are joined: the worse result, and the sum of the failures.

The lines of a Pacto are rendered when its figures change, and not when they are scraped: a page of 10,000 Pactos has
200,000 lines.
"""

from __future__ import annotations

import asyncio
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
API_DRIFT: Final = "pacto_openapi_drift_changes"
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
    API_DRIFT: (
        "Changes of the served OpenAPI document from the contract",
        ("name", "namespace", "interface", "classification"),
    ),
    GATE_EXPIRY: ("When the readiness gate drops if nothing is renewed", ("name", "namespace")),
}
_BY_SERVICE: Final = (COMPLIANCE, ERRORS, WARNINGS, RESULT)
_BY_NAME: Final = tuple(name for name in _FAMILIES if name not in _BY_SERVICE)
Key = tuple[str, str]
Shown = tuple[Figures, float | None]
"""The figures of a Pacto, and when its readiness gate drops."""
Values = dict[str, dict[tuple[str, ...], float]]
"""By metric and values of its labels."""


class Series:
    def __init__(self, probes_sent: Callable[[], int]) -> None:
        self._probes_sent = probes_sent
        self._shown: dict[Key, Shown] = {}
        self._services: dict[Key, set[Key]] = {}
        """The Pactos by service and namespace."""
        self._lines: dict[str, dict[Key, str]] = {name: {} for name in _FAMILIES}
        """The lines of a metric, by the name of the Pacto or of the service, and the namespace."""

    def show(self, key: Key, figures: Figures, expires_at: float | None) -> None:
        before, after = self._shown.get(key), (figures, expires_at)
        if before == after:
            return
        self._shown[key] = after
        self._update(key, before, after)

    def forget(self, key: Key) -> None:
        before = self._shown.pop(key, None)
        if before is not None:
            self._update(key, before, None)

    async def run(self) -> None:
        """Until it is cancelled. Another process may become the leader, and reports from then on."""
        try:
            await asyncio.Event().wait()
        finally:
            self.forget_all()

    def forget_all(self) -> None:
        self._shown.clear()
        self._services.clear()
        for lines in self._lines.values():
            lines.clear()

    def collect(self) -> Iterator[Metric]:
        from prometheus_client.metrics_core import CounterMetricFamily

        for name, (text, labels) in _FAMILIES.items():
            lines = partial("".join, list(self._lines[name].values()))
            yield rendered(name, text, "gauge", lines, partial(self._samples, name, labels))
        yield CounterMetricFamily(PROBES, "Requests to endpoints of contracts", value=self._probes_sent())

    def _update(self, key: Key, before: Shown | None, after: Shown | None) -> None:
        namespace, name = key
        self._render((name, namespace), _BY_NAME, {} if after is None else _own_values(key, after))
        services = [None if each is None else each[0].service for each in (before, after)]
        if services[0] is not None and services[0] != services[1]:
            owners = self._services[services[0], namespace]
            owners.discard(key)
            if not owners:
                del self._services[services[0], namespace]
            self._render_service((services[0], namespace))
        if services[1] is not None:
            self._services.setdefault((services[1], namespace), set()).add(key)
            self._render_service((services[1], namespace))

    def _render_service(self, service: Key) -> None:
        self._render(service, _BY_SERVICE, self._service_values(service))

    def _render(self, key: Key, names: tuple[str, ...], values: Values) -> None:
        first, second = map(escaped, key)
        for name in names:
            found = values.get(name)
            if not found:
                self._lines[name].pop(key, None)
                continue
            labels = _FAMILIES[name][1]
            start = f'{name}{{{labels[0]}="{first}",{labels[1]}="{second}"'
            more = "".join([f',{label}="{{}}"' for label in labels[2:]]).format
            lines = [f"{start}{more(*map(escaped, each[2:]))}}} {value}\n" for each, value in found.items()]
            self._lines[name][key] = "".join(lines)

    def _service_values(self, service: Key) -> Values:
        values: Values = {name: {} for name in _BY_SERVICE}
        for key in self._services.get(service, ()):
            _add_results(values, self._shown[key][0], service)
        return values

    def _samples(self, name: str, labels: tuple[str, ...]) -> list[Sample]:
        """For other exporters, which read objects and not text, in a thread: hence the copies."""
        from prometheus_client.samples import Sample

        shown = list(self._shown.items())
        if name in _BY_SERVICE:
            services: dict[Key, Values] = {}
            for (namespace, _), (figures, _) in shown:
                if figures.service is None:
                    continue
                service = (figures.service, namespace)
                _add_results(services.setdefault(service, {each: {} for each in _BY_SERVICE}), figures, service)
            all_values = list(services.values())
        else:
            all_values = [_own_values(*each) for each in shown]
        return [
            Sample(name, dict(zip(labels, key, strict=True)), value)
            for values in all_values
            for key, value in values.get(name, {}).items()
        ]


def _own_values(key: Key, shown: Shown) -> Values:
    (namespace, name), (figures, expires_at) = key, shown
    values: Values = {
        CONTRACT_STATUS: {(name, namespace, status): float(status == figures.status) for status in STATUSES}
    }
    if figures.readiness is not None:
        _add_readiness(values, figures.readiness, (name, namespace))
    if figures.drifts:
        values[API_DRIFT] = {
            (name, namespace, interface, classification): float(count)
            for interface, counts in figures.drifts
            for classification, count in counts.items()
        }
    if expires_at is not None:
        values[GATE_EXPIRY] = {(name, namespace): expires_at}
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
    values[READINESS_SCORE] = {key: float(shown.score)}
    values[READINESS_GATE] = {key: float(shown.is_passing)}
    values[READINESS_STATUS] = {(*key, reason): float(is_current) for reason, is_current in shown.reasons}
    values[READINESS_CHECKS] = {(*key, status): float(count) for status, count in shown.counts}
