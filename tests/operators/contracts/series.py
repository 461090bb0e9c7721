"""The metrics of the operator, as another exporter than Prometheus reads them."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client.samples import Sample

from homeostat.operators.contracts.engine.checks.evaluate import Evaluation
from homeostat.operators.contracts.engine.checks.series import figures
from homeostat.operators.contracts.metrics import Series


def samples_of(found: Iterable[tuple[str, Evaluation]], namespace: str) -> list[Sample]:
    """Those of Pactos, given with their names; without those of the operator itself."""
    series = Series(lambda: 0)
    for name, evaluation in found:
        series.show((namespace, name), figures(evaluation), None)
    return [each for family in series.collect() for each in family.samples if each.labels]
