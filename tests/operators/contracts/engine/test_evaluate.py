"""One bound contract as a whole: overrides, probes, readiness, revisions and metrics."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeostat.operators.contracts.engine.checks.endpoint import Outcome, Probe, judge_probe, plan_probes, probe_url
from homeostat.operators.contracts.engine.checks.evaluate import Evaluation, Failure, Loaded, Observed, evaluate
from homeostat.operators.contracts.engine.checks.resources import Target
from homeostat.operators.contracts.engine.checks.snapshot import Snapshot, Workload
from homeostat.operators.contracts.engine.document.contract import Contract, Health, Interface, Metrics, Runtime
from homeostat.operators.contracts.engine.document.parse import parse_contract
from homeostat.operators.contracts.engine.revision import label_value, resolution_policy, revision_name
from tests.operators.contracts.series import samples_of

_TODAY = date(2026, 6, 8)
_HEAD = 'pactoVersion: "1.2"\nservice: {name: quay, version: 1.0.0}\n'
_PROBED = """
interfaces: [{name: web, type: http, port: 8080}]
runtime:
  workload: service
  state: {type: stateless, persistence: {scope: local, durability: ephemeral}, dataCriticality: low}
  health: {interface: web, path: /h}
"""


def _loaded(text: str, **files: bytes) -> Loaded:
    return Loaded(parse_contract((_HEAD + text).encode()), {f"{name}.json": data for name, data in files.items()})


def _observed(outcomes: dict[str, Outcome] | None = None, **fields: Any) -> Observed:
    snapshot = Snapshot(service_ports=(8080,), workload=Workload(kind="Deployment", **fields))
    return Observed(target=Target("quay", service="quay"), namespace="n", snapshot=snapshot, outcomes=outcomes or {})


def _conditions(evaluation: Evaluation) -> dict[str, tuple[str, str]]:
    return {each.type: (each.status, each.reason) for each in evaluation.conditions}


_CONFIGURED = "configurations: [{name: app, schema: c.json, values: {LOG_LEVEL: info, DB_HOST: localhost}}]"


def test_overrides_are_merged_and_marked() -> None:
    source = _loaded(_CONFIGURED, c=b"{}")
    found = evaluate(source, today=_TODAY, overrides={"app": {"LOG_LEVEL": "debug", "NEW_KEY": "x"}})
    (shown,) = found.fields["configurations"]
    assert shown["overriddenKeys"] == ["LOG_LEVEL", "NEW_KEY"]
    assert {each["key"]: each["value"] for each in shown["properties"]} == {
        "DB_HOST": "localhost",
        "LOG_LEVEL": "debug",
        "NEW_KEY": "x",
    }
    assert source.parsed.contract.configurations[0].values == {"LOG_LEVEL": "info", "DB_HOST": "localhost"}


def test_overridden_values_are_validated() -> None:
    source = _loaded(_CONFIGURED, c=json.dumps({"properties": {"LOG_LEVEL": {"enum": ["info"]}}}).encode())
    assert evaluate(source, today=_TODAY).status == "Reference"
    found = evaluate(source, today=_TODAY, overrides={"app": {"LOG_LEVEL": "loud"}})
    assert [each["code"] for each in found.fields["validation"]["errors"]] == ["CONFIG_VALUES_VALIDATION_FAILED"]


def test_a_policy_sees_overridden_values() -> None:
    policy = {"properties": {"configurations": {"items": {"properties": {"values": {"maxProperties": 2}}}}}}
    text = _CONFIGURED + "\npolicies: [{name: p, schema: p.json}]\n"
    source = _loaded(text, c=b"{}", p=json.dumps(policy).encode())
    assert evaluate(source, today=_TODAY).status == "Reference"
    assert evaluate(source, today=_TODAY, overrides={"app": {"MORE": "x"}}).status == "NonCompliant"


def test_an_override_of_an_unknown_configuration_is_named() -> None:
    found = evaluate(_loaded(_CONFIGURED, c=b"{}"), today=_TODAY, overrides={"web": {"A": "b"}})
    (error,) = found.fields["validation"]["errors"]
    assert error["path"] == "spec.overrides"
    assert '"web"' in error["message"]


def test_what_cannot_be_observed_is_unknown() -> None:
    observed = Observed(target=Target("quay", service="quay"), namespace="n", snapshot=Failure("forbidden"))
    found = evaluate(_loaded(""), today=_TODAY, observed=observed)
    assert found.status == "Unknown"
    assert found.fields["summary"] == {"total": 1, "passed": 0, "failed": 1}
    assert _conditions(found)["RuntimeObserved"] == ("False", "ObservationFailed")


def test_a_contract_that_was_not_loaded_has_the_status_series_alone() -> None:
    found = evaluate(Failure("no such repository"), today=_TODAY)
    assert {each.name for each in samples_of([("a", found)], "n")} == {"pacto_contract_status"}


def test_a_probe_that_is_pending_lowers_nothing_and_is_not_counted() -> None:
    found = evaluate(_loaded(_PROBED), today=_TODAY, observed=_observed())
    assert found.status == "Compliant"
    assert found.fields["summary"] == {"total": 6, "passed": 6, "failed": 0}
    assert _conditions(found)["HealthEndpointValid"] == ("Unknown", "ProbePending")
    assert found.probes == (Probe("health", "http://quay.n.svc:8080/h"),)
    assert "endpoints" not in found.fields


@pytest.mark.parametrize(
    ("name", "outcome", "expected"),
    [
        ("health", Outcome(status_code=301), ("True", "OK")),
        ("health", Outcome(status_code=500), ("False", "InvalidStatusCode")),
        ("health", Outcome(error="connection refused"), ("False", "ConnectionFailed")),
        ("metrics", Outcome(status_code=200, has_body=True), ("True", "OK")),
        ("metrics", Outcome(status_code=200), ("False", "EmptyResponse")),
        ("metrics", Outcome(status_code=204), ("False", "InvalidStatusCode")),
    ],
)
def test_an_answer_means(name: Any, outcome: Outcome, expected: tuple[str, str]) -> None:
    verdict = judge_probe(Probe(name, "http://a.b.svc:1/x"), outcome)
    assert (verdict.status, verdict.reason) == expected


def test_an_endpoint_without_an_interface_or_a_port_is_not_probed() -> None:
    contract = Contract(
        interfaces=(Interface(name="e", type="event"),),
        runtime=Runtime(health=Health(interface="none"), metrics=Metrics(interface="e")),
    )
    found = plan_probes(contract, "s", "n")
    assert found.probes == ()
    assert [each.reason for each in found.refused] == ["InterfaceNotFound", "InterfaceHasNoPort"]


def test_a_url_has_one_slash() -> None:
    assert probe_url("api", "default", 8080, "health") == "http://api.default.svc:8080/health"
    assert probe_url("api", "default", 8080, "") == "http://api.default.svc:8080/"


def test_readiness_never_moves_the_status() -> None:
    text = 'readiness: {expires: "2020-01-01", checks: [{id: a, type: url, status: done, evidence: x, weight: 1}]}'
    found = evaluate(_loaded(text), today=_TODAY, observed=_observed())
    assert found.status == "Compliant"
    assert _conditions(found)["ReadinessSatisfied"] == ("False", "Expired")
    assert found.fields["summary"]["failed"] == 0


def test_readiness_of_1_1_names_an_invalid_date() -> None:
    text = (
        'pactoVersion: "1.1"\nservice: {name: quay, version: 1.0.0}\n'
        'readiness: {checks: [{id: a, type: url, evidence: x, weight: 1, expires: "2020-01-01"}]}\n'
    )
    found = evaluate(Loaded(parse_contract(text.encode())), today=_TODAY)
    assert _conditions(found)["ReadinessSatisfied"] == ("False", "BelowMinScore")
    assert found.fields["readiness"]["expiredCount"] == 1
    metrics = {(each.name, each.labels.get("status")): each.value for each in samples_of([("q", found)], "n")}
    assert metrics["pacto_readiness_checks", "Expired"] == 1.0


@pytest.mark.parametrize(
    ("ref", "policy"),
    [
        ("", ""),
        ("ghcr.io/o/s", "Latest"),
        ("ghcr.io/o/s:1.2.3", "PinnedTag"),
        ("ghcr.io/o/s@sha256:abc", "PinnedDigest"),
        ("oci://ghcr.io/o/s:v1", "PinnedTag"),
        ("registry:5000/o/s", "Latest"),
        ("registry:5000/o/s:1.0.0", "PinnedTag"),
    ],
)
def test_a_reference_follows_versions_or_is_pinned(ref: str, policy: str) -> None:
    assert resolution_policy(ref) == policy


def test_a_revision_has_a_valid_name() -> None:
    assert revision_name("my-pacto", "1.0.0", "abcdef1234") == "my-pacto-1-0-0-abcdef1"
    assert revision_name("p", "", "abcdef1234") == "p-unknown-abcdef1"
    assert revision_name("p", "1.0.0-RC+b", "abcdef1234") == "p-1-0-0-rc-b-abcdef1"
    long = revision_name("x" * 250, "1.0.0", "abcdef1234")
    assert len(long) <= 253
    assert long.endswith("-abcdef1")
    assert label_value("1.0.0+build." + "x" * 80).startswith("1.0.0_build.")
    assert len(label_value("x" * 80)) == 63


@given(
    st.sampled_from(["", _PROBED, _CONFIGURED]),
    st.sampled_from(["Deployment", "StatefulSet", "Job"]),
    st.booleans(),
    st.sampled_from([None, 200, 404]),
)
def test_deciding_twice_gives_the_same(text: str, kind: str, has_claim: bool, code: int | None) -> None:
    outcomes = {} if code is None else {"http://quay.n.svc:8080/h": Outcome(status_code=code)}
    snapshot = Snapshot(service_ports=(1,), workload=Workload(kind=kind, has_claim=has_claim))
    observed = Observed(target=Target("quay", kind, "quay"), namespace="n", snapshot=snapshot, outcomes=outcomes)
    source = _loaded(text, c=b"{}")
    first = evaluate(source, today=_TODAY, observed=observed)
    assert first == evaluate(source, today=_TODAY, observed=observed)
    summary = first.fields["summary"]
    assert summary["total"] == summary["passed"] + summary["failed"]
    assert (first.status == "Compliant") == (summary["failed"] == 0)


def test_metadata_and_values_are_shown_as_texts() -> None:
    text = """
configurations:
  - {name: app, schema: c.json, values: {A: 1, B: true, C: null, D: {e: 1}, F: [1], G: secret://vault/x}}
metadata: {count: 3.0, half: 0.5, on: true, list: [1, a], none: null}
"""
    fields = evaluate(_loaded(text, c=b"{}"), today=_TODAY).fields
    assert fields["metadata"] == {"count": "3", "half": "0.5", "on": "true", "list": '[1,"a"]', "none": "null"}
    (shown,) = fields["configurations"]
    assert shown["secretKeys"] == ["G"]
    assert [(each["key"], each["value"], each["type"]) for each in shown["properties"]] == [
        ("A", "1", "number"),
        ("B", "true", "boolean"),
        ("C", "(any)", "any"),
        ("D", '{"e":1}', "object"),
        ("F", "[1]", "any"),
        ("G", "secret://vault/x", "string"),
    ]
