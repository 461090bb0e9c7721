"""The alerts: Prometheus accepts them, and they fire when they should."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import yaml

from homeostat.operators.contracts.deployment import ALERTS, PANELS
from homeostat.operators.contracts.metrics import Series
from tools.fetch_servers import find_program

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


def _rules(folder: Path) -> Path:
    rules = [{"alert": each.name, "expr": each.expression, "for": each.lasting} for each in ALERTS]
    path = folder / "rules.yaml"
    path.write_text(yaml.safe_dump({"groups": [{"name": "contracts", "rules": rules}]}))
    return path


def _promtool(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(find_program("promtool")), *arguments], capture_output=True, text=True, timeout=60, check=False
    )


def test_the_alerts_of_the_original_are_there() -> None:
    found = {each.name: (each.severity, each.lasting) for each in ALERTS}
    assert {name: found[name] for name in _ORIGINAL} == _ORIGINAL


def test_prometheus_accepts_the_rules(tmp_path: Path) -> None:
    done = _promtool("check", "rules", str(_rules(tmp_path)))
    assert done.returncode == 0, done.stderr
    assert f"SUCCESS: {len(ALERTS)} rules found" in done.stdout


def test_alerts_and_panels_are_about_metrics_that_exist() -> None:
    known = {each.name for each in Series(lambda: 0).collect()}
    expressions = [each.expression for each in ALERTS]
    expressions += [panel.expression for row in PANELS.values() for panel in row]
    used = {name.removesuffix("_total") for each in expressions for name in re.findall(r"pacto_[a-z_]+", each)}
    assert used <= known


_FAILING = 'pacto_contract_validation_result{{check="{}",namespace="port",service="quay",instance="{}"}}'
_STATUS = 'pacto_contract_status{{name="{}",namespace="port",status="{}",instance="{}"}}'


def _fires(folder: Path, series: dict[str, str], expected: dict[str, int]) -> None:
    """Whether each alert fires for this number of label sets after an hour; two replicas report the same."""
    given = [{"series": name, "values": values} for name, values in series.items()]
    checks = [
        {"expr": f'count(ALERTS{{alertname="{name}",alertstate="firing"}}) or vector(0)', "eval_time": "1h"}
        | {"exp_samples": [{"labels": "{}", "value": count}]}
        for name, count in expected.items()
    ]
    test = {
        "rule_files": [str(_rules(folder))],
        "evaluation_interval": "1m",
        "tests": [{"interval": "1m", "input_series": given, "promql_expr_test": checks}],
    }
    path = folder / "test.yaml"
    path.write_text(yaml.safe_dump(test))
    done = _promtool("test", "rules", str(path))
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_failing_check_fires_once_for_all_replicas(tmp_path: Path) -> None:
    series = {_FAILING.format("ImageMatch", replica): "0x90" for replica in "ab"}
    _fires(tmp_path, series, {"PactoImageMismatch": 1, "PactoStateModelMismatch": 0})


def test_the_fleet_fires_also_if_no_contract_is_compliant_and_references_do_not_count(tmp_path: Path) -> None:
    bad = {_STATUS.format("quay", status, "a"): f"{value}x90" for status, value in (("Compliant", 0), ("Warning", 1))}
    _fires(tmp_path, bad, {"PactoFleetComplianceDropped": 1, "PactoContractNonCompliant": 0})
    good = {
        _STATUS.format("quay", "Compliant", "a"): "1x90",
        _STATUS.format("pier", "Compliant", "a"): "0x90",
        _STATUS.format("pier", "Reference", "a"): "1x90",
    }
    _fires(tmp_path, good, {"PactoFleetComplianceDropped": 0})


def test_readiness_that_expires_within_a_week_fires(tmp_path: Path) -> None:
    series = 'pacto_readiness_gate_expiry_timestamp_seconds{{name="{}",namespace="port"}}'.format
    _fires(tmp_path, {series("quay"): "432000x90", series("pier"): "4320000x90"}, {"PactoReadinessExpires": 1})


def test_a_served_document_that_breaks_the_contract_fires_once_an_interface(tmp_path: Path) -> None:
    labels = 'name="quay",namespace="port",interface="{}",classification="{}",instance="{}"'.format
    series = {
        f"pacto_openapi_drift_changes{{{labels(interface, classification, replica)}}}": f"{count}x90"
        for interface, classification, count in (
            ("web", "BREAKING", 2),
            ("web", "NON_BREAKING", 9),
            ("api", "BREAKING", 0),
        )
        for replica in "ab"
    }
    _fires(tmp_path, series, {"PactoOpenApiDrift": 1})
