"""Findings in the report formats that all checks share."""

from __future__ import annotations

from datetime import date

from homeostat.objects.report import github, sarif
from homeostat.operators.contracts.engine.checks.evaluate import Loaded, Observed, evaluate
from homeostat.operators.contracts.engine.checks.resources import Target
from homeostat.operators.contracts.engine.checks.snapshot import Snapshot, Workload
from homeostat.operators.contracts.engine.document.parse import parse_contract
from homeostat.operators.contracts.engine.validate import validate
from homeostat.operators.contracts.engine.views.report import check_report, validation_report

_TEXT = b"""\
pactoVersion: "1.2"
service: {name: quay, version: 1.0.0}
interfaces:
  - {name: web, type: http, port: 8080}
  - {name: web, type: http, port: 8081}
"""


def test_a_finding_has_the_line_of_its_field() -> None:
    parsed = parse_contract(_TEXT)
    report = validation_report("quay", validate(parsed, {}).findings, parsed.document, source="quay/pacto.yaml")
    (entry,) = report.entries
    assert (entry.type, entry.part, entry.severity) == ("DUPLICATE_INTERFACE_NAME", "interfaces[1].name", "high")
    assert entry.location == "quay/pacto.yaml:5"
    assert report.summaries[0].classification == "invalid"
    assert sarif.render(report, version="1")


def test_failed_checks_name_their_objects() -> None:
    parsed = parse_contract(_TEXT.replace(b"name: web, type: http, port: 8081", b"name: more, type: http, port: 8081"))
    target = Target("quay", service="quay")
    observed = Observed(
        target=target, namespace="n", snapshot=Snapshot(service_ports=(8080,), workload=Workload(kind="Deployment"))
    )
    evaluation = evaluate(Loaded(parsed), today=date(2026, 6, 8), observed=observed)
    report = check_report(evaluation, target, namespace="n", lines={("Service", "quay"): ("all.yaml", 7)})
    (entry,) = report.entries
    assert (entry.type, entry.object, entry.severity, entry.location) == (
        "PortsValid",
        "Service/quay",
        "medium",
        "all.yaml:7",
    )
    assert "8081" in entry.message
    assert report.summaries[0].classification == "Warning"
    assert "all.yaml" in github.render(report)


def test_a_target_that_complies_is_a_clean_report() -> None:
    parsed = parse_contract(b'pactoVersion: "1.2"\nservice: {name: quay, version: 1.0.0}\n')
    target = Target("quay")
    observed = Observed(target=target, namespace="n", snapshot=Snapshot(workload=Workload(kind="Deployment")))
    assert check_report(
        evaluate(Loaded(parsed), today=date(2026, 6, 8), observed=observed), target, namespace="n"
    ).is_clean
