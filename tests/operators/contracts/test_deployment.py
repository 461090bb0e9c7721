"""The alerts and panels. `tests/cli/monitoring` tests when each alert fires."""

from __future__ import annotations

import re

from homeostat.operators.contracts.deployment import ALERTS, PANELS
from homeostat.operators.contracts.metrics import Series

_ORIGINAL = {
    "PactoContractNonCompliant": ("critical", "5m"),
    "PactoContractValidationErrors": ("critical", "5m"),
    "PactoWorkloadTypeMismatch": ("critical", "5m"),
    "PactoStateModelMismatch": ("critical", "5m"),
    "PactoImageMismatch": ("critical", "5m"),
    "PactoContractValidationWarnings": ("warning", "10m"),
    "PactoUpgradeStrategyDrift": ("warning", "10m"),
    "PactoGracefulShutdownDrift": ("warning", "10m"),
    "PactoHealthTimingDrift": ("warning", "10m"),
    "PactoFleetComplianceDropped": ("warning", "15m"),
    "PactoFleetHighErrorRate": ("warning", "15m"),
}


def test_the_alerts_of_the_original_are_there() -> None:
    found = {each.name: (each.severity, each.lasting) for each in ALERTS}
    assert {name: found[name] for name in _ORIGINAL} == _ORIGINAL


def test_alerts_and_panels_are_about_metrics_that_exist() -> None:
    known = {each.name for each in Series(lambda: 0).collect()}
    expressions = [each.expression for each in ALERTS]
    expressions += [panel.expression for row in PANELS.values() for panel in row]
    used = {name.removesuffix("_total") for each in expressions for name in re.findall(r"pacto_[a-z_]+", each)}
    assert used <= known
