"""Recorded scenarios of the operator, as far as they are decided: status, conditions, names of revisions, metrics.

Loading from a registry is played: what was pushed is found by its tag, and a secret is none of these tests' concern.
"""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from homeostat.objects.versions.constraint import best_tag
from homeostat.operators.contracts.engine.checks.endpoint import Outcome
from homeostat.operators.contracts.engine.checks.evaluate import Evaluation, Failure, Loaded, Observed, evaluate
from homeostat.operators.contracts.engine.checks.resources import Target, target_of
from homeostat.operators.contracts.engine.checks.snapshot import observe
from homeostat.operators.contracts.engine.document.parse import ParseError, parse_contract
from homeostat.operators.contracts.engine.files import CONTRACT_FILE
from homeostat.operators.contracts.engine.reference import location, parse_parts
from homeostat.operators.contracts.engine.revision import (
    contract_hash,
    resolution_policy,
    revision_labels,
    revision_name,
)
from tests.operators.contracts.recorded import REGISTRY, files_of, recorded
from tests.operators.contracts.series import samples_of

_CASES: dict[str, Any] = recorded("operator")
_TODAY = date(2026, 11, 17)
_ACTS = {"secret-empty", "oci-digest", "oci-two-layers"} | {name for name, case in _CASES.items() if "private" in case}
"""Scenarios that are about secrets, digests and broken layers: what loads a contract has tests of its own."""
_FREE = ("message", "latencyMs", "daysRemaining", "error")


class _World:
    def __init__(self, name: str) -> None:
        self.case = _CASES[name]
        self.namespace = f"s-{name}"
        self.objects: dict[tuple[str, str], dict[str, Any]] = {}
        self.tags: dict[str, dict[str, dict[str, bytes]]] = {}
        self.push(self.case.get("push", {}))

    def push(self, pushed: dict[str, Any]) -> None:
        for name, texts in pushed.items():
            repository, _, tag = name.rpartition(":")
            self.tags.setdefault(repository, {})[tag] = files_of(texts)

    def apply(self, objects: list[dict[str, Any]]) -> None:
        for each in objects:
            self.objects[each["kind"], each["metadata"]["name"]] = each

    def evaluate(self, pacto: dict[str, Any]) -> tuple[Evaluation, bytes]:
        spec = pacto["spec"]
        source, data = self._load(spec["contractRef"])
        target = spec.get("target", {})
        workload = target.get("workloadRef")
        bound = target_of(
            target.get("serviceName", ""), (workload["name"], workload.get("kind", "")) if workload else None
        )
        overrides = {each["name"]: each["values"] for each in spec.get("overrides", {}).get("configurations", [])}
        observed = None if bound is None else self._observe(bound)
        return evaluate(source, today=_TODAY, observed=observed, overrides=overrides), data

    def _observe(self, target: Target) -> Observed:
        snapshot = observe(
            self.objects.get(("Service", target.service)),
            self.objects.get((target.kind, target.workload)),
            kind=target.kind,
        )
        outcomes = {}
        for path, answer in self.case.get("probes", {}).items():
            url = f"http://{target.service}.{self.namespace}.svc:8080{path}"
            is_closed = answer == "close"
            outcomes[url] = (
                Outcome(error="EOF") if is_closed else Outcome(status_code=answer[0], has_body=bool(answer[1]))
            )
        for path in ("/healthz", "/metrics", "/h", "/m"):
            url = f"http://{target.service}.{self.namespace}.svc:8080{path}"
            outcomes.setdefault(url, Outcome(status_code=200, has_body=True))
        return Observed(target=target, namespace=self.namespace, snapshot=snapshot, outcomes=outcomes)

    def _load(self, ref: dict[str, Any]) -> tuple[Loaded | Failure, bytes]:
        try:
            if "inline" in ref:
                data = ref["inline"].encode()
                return Loaded(parse_contract(data)), data
            parts = parse_parts(location(ref.get("oci", "")))
            tags = self.tags.get(parts.repository, {})
            tag = parts.tag or best_tag(tags)
            if tag not in tags:
                return Failure("not found"), b""
            files = tags[tag]
            resolved = f"{REGISTRY}/{parts.repository}:{tag}"
            return Loaded(parse_contract(files[CONTRACT_FILE]), files, resolved), files[CONTRACT_FILE]
        except ParseError as error:
            return Failure(str(error)), b""


@pytest.mark.parametrize("name", [name for name in _CASES if name not in _ACTS])
def test_a_scenario_is_decided_as_recorded(name: str) -> None:
    world = _World(name)
    for step in world.case["steps"]:
        world.apply(step.get("apply", []))
        world.push(step.get("push", {}))
        if "expect" in step:
            _check(world, step["expect"])


def _check(world: _World, expected: dict[str, Any]) -> None:
    metrics: dict[str, float] = {}
    evaluations: list[tuple[str, Evaluation]] = []
    for (kind, name), pacto in world.objects.items():
        if kind != "Pacto":
            continue
        found, data = world.evaluate(pacto)
        _check_pacto(name, pacto, found, data, expected)
        evaluations.append((name, found))
    for each in samples_of(evaluations, world.namespace):
        labels = ",".join(f"{key}={value}" for key, value in sorted(each.labels.items()) if key != "namespace")
        metrics[f"{each.name}{{{labels}}}"] = each.value
    for series, value in expected["metrics"].items():
        assert metrics.get(series, 0.0) == value, series
    free = ("pacto_contract_validation_errors", "pacto_contract_validation_warnings")
    assert [key for key in metrics if key not in expected["metrics"] and not key.startswith(free)] == []


def _check_pacto(name: str, pacto: dict[str, Any], found: Evaluation, data: bytes, expected: dict[str, Any]) -> None:
    wanted = dict(expected["pactos"][name])
    conditions = wanted.pop("conditions")
    wanted.pop("observed")
    assert {each.type: [each.status, each.reason] for each in found.conditions} == conditions
    ref = pacto["spec"]["contractRef"]
    fields = {**found.fields, "resolutionPolicy": resolution_policy(ref.get("oci", ""))}
    if found.contract is not None and found.fields["validation"]["valid"]:
        version = found.contract.service.version
        fields["currentRevision"] = revision_name(name, version, contract_hash(data))
        revision = expected["revisions"][fields["currentRevision"]]
        assert revision["contractHash"] == contract_hash(data)
        assert revision["labels"] == revision_labels(name, version)
    assert _comparable(fields) == _comparable(wanted)


def _comparable(value: Any) -> Any:
    """Without messages, times and what is zero or empty."""
    if isinstance(value, dict):
        kept = {key: _comparable(item) for key, item in value.items() if key not in _FREE}
        return {key: item for key, item in kept.items() if item not in (None, "", 0, [], {})}
    if isinstance(value, list | tuple):
        return [_comparable(item) for item in value]
    return value
