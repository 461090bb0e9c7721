"""Exemptions: what is let off, and until when."""

from math import inf

import msgspec
import pytest

from homeostat.objects.json import JsonObject
from homeostat.operators.policy.spec import Exemption, PolicySpec
from tests.operators.policy.worlds import ALL, GOOD, NOW, container, evaluator_of, pod_json, to_pod

TOMORROW = "2026-11-17T12:00:00Z"


def exempting(**fields: object) -> PolicySpec:
    exemption = msgspec.convert({"reason": "vendor", **fields}, Exemption)
    return msgspec.structs.replace(ALL, exemptions=(exemption,))


OWNED = to_pod(
    pod_json(
        container("a:latest", liveness=False),
        name="web-5d4f8b9c7f-x2x4z",
        labels={"app": "web"},
        owner=("ReplicaSet", "web-5d4f8b9c7f"),
    )
)
EXEMPT = [
    pytest.param({}, [], id="everything"),
    pytest.param({"checks": ["latest_tag"]}, ["missing_liveness"], id="one check"),
    pytest.param({"names": ["web"]}, [], id="the workload by name"),
    pytest.param({"names": ["we?-*"]}, [], id="the pod by a pattern"),
    pytest.param({"names": ["WEB", "eb*"]}, ["latest_tag", "missing_liveness"], id="other names"),
    pytest.param({"containers": ["main"]}, [], id="the container"),
    pytest.param({"containers": ["sidecar"]}, ["latest_tag", "missing_liveness"], id="another container"),
    pytest.param({"selector": {"matchLabels": {"app": "web"}}}, [], id="by label"),
    pytest.param({"selector": {"matchLabels": {"app": "db"}}}, ["latest_tag", "missing_liveness"], id="by another"),
    pytest.param({"expires": TOMORROW}, [], id="until tomorrow"),
    pytest.param({"expires": "2026-11-16T12:00:00Z"}, ["latest_tag", "missing_liveness"], id="until now"),
]


@pytest.mark.parametrize(("fields", "left"), EXEMPT)
def test_an_exemption_exempts_what_it_names(fields: JsonObject, left: list[str]) -> None:
    result = evaluator_of(exempting(**fields)).evaluate(OWNED, now=NOW)
    assert [each.check.type for each in result.findings] == left
    assert result.exempted == 2 - len(left)
    assert result.pods == 1


def test_a_pod_is_evaluated_again_when_its_exemption_ends() -> None:
    evaluator = evaluator_of(exempting(expires=TOMORROW))
    result = evaluator.evaluate(OWNED, now=NOW)
    assert result.recheck_at == NOW + 86400
    assert len(evaluator.evaluate(OWNED, now=result.recheck_at).findings) == 2
    assert evaluator.evaluate(GOOD, now=NOW).recheck_at == inf


def test_the_longest_of_several_exemptions_counts() -> None:
    ends = (TOMORROW, "2026-11-18T12:00:00Z")
    exemptions = tuple(Exemption(reason="vendor", expires=each) for each in ends)
    spec = msgspec.structs.replace(ALL, exemptions=exemptions)
    assert evaluator_of(spec).evaluate(OWNED, now=NOW).recheck_at == NOW + 2 * 86400


@pytest.mark.parametrize("label", ["batch.kubernetes.io/job-name", "job-name"])
@pytest.mark.parametrize(
    ("probes", "types"), [(None, ["latest_tag", "missing_liveness"]), (True, ["latest_tag", "missing_liveness"])]
)
def test_live_pods_of_jobs_need_probes_as_in_the_original(label: str, probes: bool | None, types: list[str]) -> None:
    pod = to_pod(pod_json(container("a:latest", liveness=False), labels={label: "nightly"}))
    spec = msgspec.structs.replace(ALL, probes_for_jobs=probes)
    assert [each.check.type for each in evaluator_of(spec).evaluate(pod, now=NOW).findings] == types
    without = msgspec.structs.replace(ALL, probes_for_jobs=False)
    assert [each.check.type for each in evaluator_of(without).evaluate(pod, now=NOW).findings] == ["latest_tag"]
    assert len(evaluator_of(without).evaluate(OWNED, now=NOW).findings) == 2
