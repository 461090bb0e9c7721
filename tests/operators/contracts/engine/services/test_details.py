"""What details of a service show."""

from __future__ import annotations

from datetime import UTC, datetime

from homeostat.objects.json import JsonObject, encode
from homeostat.operators.contracts.engine.bundle.bundle import Bundle
from homeostat.operators.contracts.engine.services.compliance import Seen, compliance_of
from homeostat.operators.contracts.engine.services.contents import MAX_TEXT_BYTES
from homeostat.operators.contracts.engine.services.details import Context, bundle_details, service_details
from homeostat.operators.contracts.engine.services.drift import drift_rows
from homeostat.operators.contracts.engine.services.instance import read_instance
from homeostat.operators.contracts.engine.validate import load

NOW = datetime(2026, 6, 8, 12, tzinfo=UTC)
CONTRACT = """
pactoVersion: "1.2"
service: {name: ledger, version: 1.4.0, owner: {team: finance}, chart: {ref: charts/ledger, version: 1.0.0}}
interfaces: [{name: web, type: http, port: 8080, contract: interfaces/openapi.yaml}]
policies: [{name: base, schema: policy/base.json}]
readiness:
  expires: "2027-06-30"
  checks: [{id: runbook, type: document, status: done, evidence: docs/run.md, weight: 5}]
"""
FILES = {
    "pacto.yaml": CONTRACT.encode(),
    "interfaces/openapi.yaml": b"openapi: 3.0.0\npaths: {/pay: {post: {summary: Pay}}}\n",
    "policy/base.json": b'{"title": "Base"}',
    "docs/run-book.md": b"some text",
    "docs/big.md": b"# Big\n" + b"x" * MAX_TEXT_BYTES,
    "sbom/a.spdx.json": b'{"spdxVersion": "SPDX-2.3", "packages": [{"name": "zlib", "versionInfo": "1.3"}]}',
}
STATUS: JsonObject = {
    "contractStatus": "Warning",
    "contract": {
        "serviceName": "ledger",
        "version": "1.4.0",
        "imageRef": "r/ledger:1.4.0",
        "resolvedRef": "r/c/ledger:1.4.0",
    },
    "currentRevision": "ledger-1-4-0-abcdef1",
    "summary": {"total": 4, "passed": 2, "failed": 2},
    "interfaces": [{"name": "web", "type": "http", "port": 8080, "hasContractFile": True}],
    "configurations": [
        {"name": "app", "hasSchema": False, "overriddenKeys": ["A"], "properties": [{"key": "A", "value": "b"}]}
    ],
    "runtime": {
        "workload": "service",
        "stateType": "stateless",
        "persistenceDurability": "ephemeral",
        "upgradeStrategy": "rolling",
        "gracefulShutdownSeconds": 0,
        "healthInterface": "web",
    },
    "observedRuntime": {
        "workloadKind": "Deployment",
        "deploymentStrategy": "Recreate",
        "hasPVC": False,
        "containerImages": ["r/ledger:1.3.0"],
    },
    "resources": {
        "service": {"name": "ledger", "exists": True},
        "workload": {"name": "ledger", "kind": "Deployment", "exists": True},
    },
    "ports": {"expected": [8080], "observed": [8080]},
    "endpoints": {
        "health": {"url": "http://ledger.prod.svc:8080/healthz", "reachable": True, "statusCode": 500, "latencyMs": 3}
    },
    "conditions": [
        {"type": "WorkloadTypeMatch", "status": "True", "reason": "Match"},
        {
            "type": "UpgradeStrategyMatch",
            "status": "False",
            "reason": "Mismatch",
            "lastTransitionTime": "2026-06-08T11:00:00Z",
        },
        {"type": "ImageMatch", "status": "False", "reason": "Mismatch"},
        {"type": "PortsValid", "status": "True", "reason": "AllPortsMatch"},
        {"type": "HealthEndpointValid", "status": "Unknown", "reason": "ProbePending"},
        {"type": "Ready", "status": "True", "reason": "Reconciled"},
    ],
}


def bundle() -> Bundle:
    return Bundle(load(FILES).contract, FILES, "sha256:" + "0" * 64)


def details(with_bundle: bool = True, **status: object) -> JsonObject:
    whole = STATUS | status
    found = read_instance("prod", "ledger", status=encode(whole), oci="r/c/ledger")
    context = Context(now=NOW, bundle=bundle() if with_bundle else None, problem="no access", latest="1.5.0", radius=3)
    return service_details(found, whole, context)


def test_details_say_which_version_runs_and_whether_there_is_a_newer_one() -> None:
    shown = details()
    names = (
        "version",
        "versionPolicy",
        "latestAvailable",
        "updateAvailable",
        "currentRevision",
        "resolvedRef",
        "blastRadius",
    )
    assert [shown[each] for each in names] == [
        "1.4.0",
        "tracking",
        "1.5.0",
        True,
        "ledger-1-4-0-abcdef1",
        "r/c/ledger:1.4.0",
        3,
    ]


def test_what_is_declared_comes_from_the_status_and_contents_from_the_bundle() -> None:
    shown = details()
    web = shown["interfaces"][0]
    assert web["endpoints"] == [{"method": "POST", "path": "/pay", "summary": "Pay"}]
    assert (web["hasContractFile"], web["contractFile"]) == (True, "interfaces/openapi.yaml")
    assert web["contractContent"].startswith("openapi")
    assert shown["configurations"] == [
        {"name": "app", "hasSchema": False, "overriddenKeys": ["A"], "values": [{"key": "A", "value": "b"}]}
    ]
    assert shown["chartRef"] == "charts/ledger"
    assert shown["sbom"]["packages"][0]["name"] == "zlib"
    assert [(each["title"], each.get("truncated", False)) for each in shown["docs"]] == [
        ("Big", True),
        ("run book", False),
    ]


def test_sections_say_where_they_come_from_or_why_they_are_absent() -> None:
    sections = details(with_bundle=False)["sectionMeta"]
    assert sections["interfaces"] == {"state": "present", "source": "k8s"}
    assert sections["policies"] == {"state": "empty"}
    assert sections["docs"] == {"state": "unavailable", "reason": "no access"}
    reference = details(contractStatus="Reference", observedRuntime=None)["sectionMeta"]
    assert reference["observedRuntime"]["state"] == "not_applicable"


def test_a_contract_without_a_pacto_shows_what_its_bundle_declares() -> None:
    shown = bundle_details(bundle(), ref="r/c/ledger:1.4.0", source="oci", now=NOW)
    assert (shown["name"], shown["version"], shown["owner"]) == ("ledger", "1.4.0", {"team": "finance"})
    assert shown["readiness"]["score"] == 100
    assert shown["policies"][0]["content"] == '{"title": "Base"}'
    assert shown["interfaces"][0]["port"] == 8080


def test_rows_compare_what_is_declared_with_what_runs() -> None:
    rows = {each.field: each for each in drift_rows(STATUS, _conditions())}
    assert [(each.declared_value, each.observed_value, each.status) for each in rows.values()] == [
        ("service", "Deployment", "match"),
        ("stateless, ephemeral", "no persistent volume claim", "skipped"),
        ("rolling", "Recreate", "mismatch"),
        ("0", "", "skipped"),
        ("r/ledger:1.4.0", "r/ledger:1.3.0", "mismatch"),
        ("8080", "8080", "match"),
    ]
    assert rows["Image"].contract_path == "service.image.ref"


def test_nothing_is_compared_without_a_workload() -> None:
    assert drift_rows({"runtime": {"workload": "service"}}, []) == []


def test_conditions_have_a_severity_a_label_and_an_age() -> None:
    shown = {each["type"]: each for each in details()["conditions"]}
    assert shown["UpgradeStrategyMatch"] == {
        "type": "UpgradeStrategyMatch",
        "status": "False",
        "reason": "Mismatch",
        "severity": "warning",
        "category": "lifecycle",
        "label": "Upgrade strategy matches",
        "lastTransitionAgo": "60m",
    }
    assert "severity" not in shown["Ready"]


def test_an_endpoint_is_healthy_if_its_condition_is_true() -> None:
    assert details()["endpoints"] == [
        {
            "interface": "web",
            "type": "health",
            "healthy": False,
            "url": "http://ledger.prod.svc:8080/healthz",
            "statusCode": 500,
            "latencyMs": 3,
        }
    ]


def test_the_score_is_the_share_of_passed_checks_rounded_half_up() -> None:
    found = compliance_of("Warning", _conditions())
    assert (found.status, found.score, found.total, found.errors, found.warnings) == ("WARNING", 50, 4, 0, 2)
    checks = [Seen(type="PortsValid", status="True")] * 5 + [Seen(type="PortsValid", status="False")] * 3
    assert compliance_of("Warning", checks).score == 63


def test_compliance_follows_the_worst_of_status_and_checks() -> None:
    failing = [Seen(type="WorkloadExists", status="False")]
    assert compliance_of("Warning", failing).status == "ERROR"
    assert compliance_of("NonCompliant", []).status == "ERROR"
    assert compliance_of("Compliant", []).status == "OK"
    assert compliance_of("Unknown", []).status == "WARNING"
    assert compliance_of("Reference", failing) == compliance_of("Reference", [])
    assert compliance_of("Reference", []).score is None


def _conditions() -> list[Seen]:
    return [Seen(each["type"], each["status"], each["reason"]) for each in STATUS["conditions"]]
