"""The series of the operator."""

from __future__ import annotations

from time import thread_time

from prometheus_client.parser import text_string_to_metric_families

from homeostat.edge.metrics.exposition import exposition
from homeostat.operators.contracts.engine.checks.series import Figures
from homeostat.operators.contracts.engine.checks.verdict import Severity
from homeostat.operators.contracts.metrics import Series


def _lines(series: Series) -> set[str]:
    """As Prometheus reads them, with labels in alphabetical order."""
    found = set()
    for family in text_string_to_metric_families(exposition(series).decode()):
        for sample in family.samples:
            labels = ",".join(f'{key}="{value}"' for key, value in sorted(sample.labels.items()))
            found.add(f"{sample.name}{{{labels}}} {sample.value}" if labels else f"{sample.name} {sample.value}")
    return found


def test_two_pactos_of_one_service_have_one_series_with_the_worse_result() -> None:
    series = Series(lambda: 0)
    series.show(("port", "one"), Figures("Compliant", "quay", (("ImageMatch", "warning", True),)), None)
    series.show(("port", "two"), Figures("Warning", "quay", (("ImageMatch", "warning", False),)), None)
    lines = _lines(series)
    assert 'pacto_contract_validation_result{check="ImageMatch",namespace="port",service="quay"} 0.0' in lines
    assert 'pacto_contract_validation_warnings{namespace="port",service="quay"} 1.0' in lines
    assert 'pacto_contract_compliance_status{namespace="port",service="quay"} 0.0' in lines
    assert len([each for each in lines if each.startswith("pacto_contract_compliance_status")]) == 1


def test_a_contract_that_was_not_loaded_has_its_status_only() -> None:
    series = Series(lambda: 0)
    series.show(("port", "one"), Figures("NonCompliant", None), None)
    names = {each.partition("{")[0] for each in _lines(series)}
    assert names == {"pacto_contract_status", "pacto_endpoint_probes_total 0.0"}
    series.forget(("port", "one"))
    assert {each.partition("{")[0] for each in _lines(series)} == {"pacto_endpoint_probes_total 0.0"}


def test_a_pacto_whose_service_changes_leaves_no_series_of_the_former_one() -> None:
    series = Series(lambda: 0)
    series.show(("port", "one"), Figures("Compliant", "quay", (("ImageMatch", "warning", True),)), 5.0)
    series.show(("port", "two"), Figures("Warning", "quay", (("ImageMatch", "warning", False),)), None)
    series.show(("port", "two"), Figures("Compliant", "mill", (("PortsValid", "warning", True),)), None)
    lines = _lines(series)
    assert 'pacto_contract_validation_result{check="ImageMatch",namespace="port",service="quay"} 1.0' in lines
    assert 'pacto_contract_validation_result{check="PortsValid",namespace="port",service="mill"} 1.0' in lines
    assert not any("ImageMatch" in each and "mill" in each for each in lines)
    assert {str(each.value) for family in series.collect() for each in family.samples if each.labels} >= {"5.0"}
    series.forget(("port", "two"))
    assert not any("mill" in each or "two" in each for each in _lines(series))
    series.forget_all()
    assert _lines(series) == {"pacto_endpoint_probes_total 0.0"}


def test_a_page_of_ten_thousand_pactos_takes_less_than_100_ms_of_cpu() -> None:
    series = Series(lambda: 0)
    for number in range(10_000):
        results: tuple[tuple[str, Severity, bool], ...] = tuple((f"Check{at}", "warning", True) for at in range(9))
        series.show((f"team-{number % 50}", f"web-{number}"), Figures("Compliant", f"web-{number}", results), None)
    taken = []
    for _ in range(3):
        began = thread_time()
        assert exposition(series).count(b"\n") > 170_000
        taken.append(thread_time() - began)
    assert min(taken) < 0.1
