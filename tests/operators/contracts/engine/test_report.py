"""Findings in the report formats that all checks share."""

from __future__ import annotations

from datetime import date

from homeostat.objects import yaml
from homeostat.objects.report import github, sarif
from homeostat.objects.report.location import read_documents_by_line
from homeostat.operators.contracts.engine.checks.evaluate import Loaded, Observed, evaluate
from homeostat.operators.contracts.engine.checks.resources import Target
from homeostat.operators.contracts.engine.checks.snapshot import Snapshot, Workload, observe
from homeostat.operators.contracts.engine.document.parse import parse_contract
from homeostat.operators.contracts.engine.views.field import with_line
from homeostat.operators.contracts.engine.views.report import ContractFile, check_report

_TEXT = b"""\
pactoVersion: "1.2"
service: {name: quay, version: 1.0.0}
interfaces:
  - {name: web, type: http, port: 8080}
  - {name: web, type: http, port: 8081}
"""


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
    found = check_report(evaluate(Loaded(parsed), today=date(2026, 6, 8), observed=observed), target, namespace="n")
    assert (found.entries, found.problems) == ((), ())


_MANIFEST = b"""\
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: quay, namespace: n}
spec:
  podManagementPolicy: Parallel
  volumeClaimTemplates:
    - metadata: {name: data}
  template:
    spec:
      containers:
        - name: main
          image: r.test/quay:2
          readinessProbe:
            initialDelaySeconds: 3
"""
_RUNTIME = b"""\
pactoVersion: "1.2"
service: {name: quay, version: 1.0.0, image: {ref: r.test/quay:1}}
interfaces: [{name: web, type: http, port: 80}]
runtime:
  workload: service
  state: {type: stateless, persistence: {scope: local, durability: ephemeral}, dataCriticality: low}
  lifecycle: {upgradeStrategy: rolling, gracefulShutdownSeconds: 5}
  health: {interface: web, path: /health, initialDelaySeconds: 9}
"""


def test_a_failed_check_has_the_line_of_the_field_it_is_about() -> None:
    parsed = parse_contract(_RUNTIME)
    target = Target("quay", "StatefulSet", "quay")
    snapshot = observe(None, yaml.load(_MANIFEST), kind="StatefulSet", with_defaults=True)
    observed = Observed(target=target, namespace="n", snapshot=snapshot)
    evaluation = evaluate(Loaded(parsed), today=date(2026, 6, 8), observed=observed)
    lines = {("StatefulSet", "quay"): ("quay.yaml", 1)}
    file = ContractFile("quay/pacto.yaml", parsed.document)
    report = check_report(evaluation, target, namespace="n", lines=lines, file=file)
    documents = read_documents_by_line(_MANIFEST)
    found = {
        each.type: with_line(each, documents if each.source == "quay.yaml" else {}).location for each in report.entries
    }
    assert found == {
        "ServiceExists": "quay/pacto.yaml:2",
        "StateModelMatch": "quay.yaml:6",
        "UpgradeStrategyMatch": "quay.yaml:5",
        "GracefulShutdownMatch": "quay.yaml:9",
        "ImageMatch": "quay.yaml:12",
        "HealthTimingMatch": "quay.yaml:14",
    }


def test_an_invalid_contract_is_reported_finding_by_finding() -> None:
    parsed = parse_contract(_TEXT)
    evaluation = evaluate(Loaded(parsed), today=date(2026, 6, 8))
    file = ContractFile("quay/pacto.yaml", parsed.document)
    report = check_report(evaluation, Target("quay"), namespace="", file=file)
    (entry,) = report.entries
    assert (entry.type, entry.part, entry.severity) == ("DUPLICATE_INTERFACE_NAME", "interfaces[1].name", "high")
    assert entry.location == "quay/pacto.yaml:5"
    assert sarif.render(report, version="1")
