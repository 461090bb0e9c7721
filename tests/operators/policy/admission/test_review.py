"""Admission: what is denied, what is warned of, and the form of the answer."""

from typing import Any

import msgspec
import pytest

from homeostat.objects.json import JsonObject, encode
from homeostat.objects.report.report import Severity
from homeostat.objects.schema.prune import unknown_fields
from homeostat.objects.schema.validate import Validator
from homeostat.objects.wire.builtin_schema import builtin_schema
from homeostat.operators.policy.admission.review import (
    ALLOWED,
    LONGEST_MESSAGE,
    LONGEST_WARNING,
    MOST_NAMES,
    MOST_WARNINGS,
    Request,
    Verdict,
    answer,
    judge,
    read_request,
)
from homeostat.operators.policy.admission.webhook_configuration import webhook_configuration
from homeostat.operators.policy.spec import (
    Admission,
    DefaultProbe,
    DefaultResources,
    Enforcement,
    Exemption,
    Mode,
    PolicySpec,
    Rule,
    SeverityOverrides,
)
from tests.operators.policy.worlds import ALL, NOW, container, evaluator_of, pod_json

DENYING = msgspec.structs.replace(ALL, enforcement_mode="enforce")
WRONG = container("a:latest", liveness=False, readiness=False)


def review(body: Any, **fields: Any) -> bytes:
    request = {"uid": "u-1", "namespace": "production", "operation": "CREATE", "object": body, **fields}
    return encode({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})


def request_of(body: Any, **fields: Any) -> Request:
    request = read_request(review(body, **fields))
    assert request is not None
    return request


def verdict(body: Any, *specs: PolicySpec, **fields: Any) -> Verdict:
    return judge(request_of(body, **fields), [evaluator_of(each) for each in specs or (DENYING,)], now=NOW)


DENIALS = [
    pytest.param(pod_json(), [], id="clean"),
    pytest.param(pod_json(container("a:latest")), ["container 'main' uses :latest tag"], id="latest"),
    pytest.param(
        pod_json(container(liveness=False, readiness=False)),
        ["container 'main' missing liveness probe", "container 'main' missing readiness probe"],
        id="no probes",
    ),
    pytest.param(
        pod_json(container(name="good"), container("a:latest", name="bad", liveness=False)),
        ["container 'bad' uses :latest tag", "container 'bad' missing liveness probe"],
        id="one of two",
    ),
    pytest.param({"kind": "Pod", "metadata": {"name": "a"}}, [], id="no spec"),
    pytest.param({"kind": "Deployment", "spec": {}}, [], id="not a pod"),
    pytest.param(None, [], id="no object"),
    pytest.param({"kind": "Pod", "spec": {"containers": 7}}, [], id="not readable"),
]


@pytest.mark.parametrize(("body", "messages"), DENIALS)
def test_a_pod_is_denied_for_what_it_declares(body: Any, messages: list[str]) -> None:
    assert [each.message for each in verdict(body).denials] == messages


def test_the_message_lists_every_finding() -> None:
    found = verdict(pod_json(WRONG))
    assert not found.is_allowed
    assert found.message == (
        "Denied by DevOpsPolicy: container 'main' uses :latest tag, "
        "container 'main' missing liveness probe, container 'main' missing readiness probe"
    )
    assert len(verdict(pod_json(WRONG, {**WRONG, "name": "second"})).denials) == 6


def test_the_message_ends_with_the_policies_that_deny() -> None:
    tags = PolicySpec(forbid_latest_tag=True, enforcement_mode="enforce")
    named = [evaluator_of(DENYING, "all"), evaluator_of(AUDIT, "audits"), evaluator_of(tags, "tags")]
    latest = request_of(pod_json(container("a:latest")))
    assert judge(latest, named, now=NOW).message == (
        "Denied by DevOpsPolicy: container 'main' uses :latest tag (policies all, tags)"
    )
    unready = request_of(pod_json(container("a:latest", readiness=False)), oldObject=pod_json(container("a:latest")))
    assert judge(unready, named, now=NOW).message == (
        "Denied by DevOpsPolicy: container 'main' missing readiness probe (policy all)"
    )
    many = [evaluator_of(tags, f"p{at}") for at in range(9)]
    assert judge(latest, many, now=NOW).message.endswith("(policies p0, p1, p2, p3, p4 and more)")


def test_of_many_policies_that_deny_the_first_few_are_kept() -> None:
    tags = PolicySpec(forbid_latest_tag=True, enforcement_mode="enforce")
    found = judge(
        request_of(pod_json(container("a:latest"))), [evaluator_of(tags, f"p{at:03}") for at in range(500)], now=NOW
    )
    assert [len(each) for each in found.denied_by] == [MOST_NAMES + 1]


def test_long_texts_of_a_pod_are_cut() -> None:
    pinned = PolicySpec(require_image_pin="digest")
    body = pod_json(*(container(f"{at}" + " x" * 500_000, name=f"c{at}") for at in range(MOST_WARNINGS)))
    denied = verdict(body, pinned)
    assert len(denied.message) <= LONGEST_MESSAGE
    warned = verdict(body, msgspec.structs.replace(pinned, admission=Admission(mode="warn")))
    (first, *others) = answer("u", warned)["response"]["warnings"]
    assert first.startswith("DevOpsPolicy: container 'c0' uses image '0 x x x")
    assert {len(each) for each in (first, *others)} == {LONGEST_WARNING}


def test_a_pod_that_does_not_run_yet_is_not_checked_for_its_status() -> None:
    runtime = PolicySpec(max_restart_count=0, forbid_pending_duration=0, enforcement_mode="enforce")
    assert verdict(pod_json(restarts=9, phase="Pending"), runtime) == ALLOWED


@pytest.mark.parametrize("namespace", ["kube-system", "monitoring"])
def test_a_system_namespace_is_let_alone(namespace: str) -> None:
    assert verdict(pod_json(WRONG, namespace=namespace), namespace=namespace) == ALLOWED


def test_without_policies_everything_is_allowed() -> None:
    assert judge(request_of(pod_json(WRONG)), [], now=NOW) == ALLOWED


def by_mode(spec: PolicySpec) -> PolicySpec:
    """The policy with the admission mode that follows its enforcement mode."""
    return msgspec.structs.replace(spec, admission=Admission(mode="auto"))


AUDIT = by_mode(ALL)


@pytest.mark.parametrize("mode", [None, "audit", "enforce"])
def test_a_policy_denies_in_every_enforcement_mode(mode: Mode | None) -> None:
    found = verdict(pod_json(WRONG), msgspec.structs.replace(ALL, enforcement_mode=mode))
    assert (len(found.denials), found.warnings) == (3, ())


def test_an_audit_policy_with_mode_auto_warns_and_does_not_deny() -> None:
    found = verdict(pod_json(WRONG), AUDIT)
    assert found.is_allowed
    assert len(found.warnings) == 3


def test_every_policy_of_the_namespace_has_its_say() -> None:
    tags = PolicySpec(forbid_latest_tag=True, enforcement_mode="enforce")
    probes = PolicySpec(require_liveness_probe=True, enforcement_mode="enforce")
    found = verdict(pod_json(WRONG), AUDIT, probes, tags)
    assert [each.check.type for each in found.denials] == ["missing_liveness", "latest_tag"]
    assert [each.check.type for each in found.warnings] == ["missing_readiness"]


MODES = [
    pytest.param(msgspec.structs.replace(DENYING, admission=Admission(mode="warn")), True, 3, id="warn"),
    pytest.param(msgspec.structs.replace(DENYING, admission=Admission(mode="off")), True, 0, id="off"),
    pytest.param(msgspec.structs.replace(ALL, admission=Admission(mode="deny")), False, 0, id="deny"),
    pytest.param(msgspec.structs.replace(DENYING, enforcement=Enforcement(dry_run=True)), True, 3, id="dry run"),
]


@pytest.mark.parametrize(("spec", "is_allowed", "warnings"), MODES)
def test_a_policy_may_set_its_mode_for_admission(spec: PolicySpec, is_allowed: bool, warnings: int) -> None:
    found = verdict(pod_json(WRONG), spec)
    assert (found.is_allowed, len(found.warnings)) == (is_allowed, warnings)


LACKING = container("a:latest", liveness=False, readiness=False)
LISTENING: JsonObject = {**LACKING, "ports": [{"containerPort": 8080}]}
REPLICA = ("ReplicaSet", "web-5d4f8b9c7f")
SIZED = msgspec.structs.replace(
    DENYING, require_resources=("cpuRequest",), default_resources=DefaultResources(cpu_request="50m")
)
INJECTED: list[Any] = [
    pytest.param(pod_json(LISTENING, owner=REPLICA), DENYING, ["latest_tag"], id="probes of a known port"),
    pytest.param(pod_json(LISTENING, owner=("StatefulSet", "db")), SIZED, ["latest_tag"], id="resources"),
    pytest.param(
        pod_json({**LISTENING, "resources": {"limits": {"memory": "1Gi"}}}, owner=REPLICA),
        SIZED,
        ["latest_tag", "missing_resources"],
        id="resources of which there are some",
    ),
    pytest.param(
        pod_json(LACKING, owner=REPLICA),
        DENYING,
        ["latest_tag", "missing_liveness", "missing_readiness"],
        id="probes without a port",
    ),
    pytest.param(
        pod_json(LACKING, owner=REPLICA),
        msgspec.structs.replace(DENYING, default_probe=DefaultProbe(fallback_port=8080)),
        ["latest_tag"],
        id="probes of the policy's port",
    ),
    pytest.param(
        pod_json(LISTENING), DENYING, ["latest_tag", "missing_liveness", "missing_readiness"], id="a bare Pod"
    ),
    pytest.param(
        pod_json(LISTENING, owner=("Job", "once")),
        DENYING,
        ["latest_tag", "missing_liveness", "missing_readiness"],
        id="a Job's Pod",
    ),
    pytest.param(
        pod_json(LISTENING, owner=REPLICA),
        msgspec.structs.replace(DENYING, admission=Admission(mode="deny")),
        ["latest_tag", "missing_liveness", "missing_readiness"],
        id="a policy that says deny",
    ),
]


@pytest.mark.parametrize(("body", "spec", "denied"), INJECTED)
def test_what_enforcement_is_going_to_inject_only_warns(body: JsonObject, spec: PolicySpec, denied: list[str]) -> None:
    found = verdict(body, spec if spec.admission else by_mode(spec))
    assert [each.check.type for each in found.denials] == denied
    told = {each.check.type for each in (*found.denials, *found.warnings)}
    assert {"latest_tag", "missing_liveness", "missing_readiness"} <= told


def test_what_one_policy_injects_another_that_says_deny_still_denies() -> None:
    strict = PolicySpec(require_liveness_probe=True, admission=Admission(mode="deny"))
    found = verdict(pod_json(LISTENING, owner=REPLICA), by_mode(DENYING), strict)
    assert [each.check.type for each in found.denials] == ["latest_tag", "missing_liveness"]
    assert [each.check.type for each in found.warnings] == ["missing_readiness"]


LATEST = pod_json(container("a:latest"))
UNREADY = pod_json(container(readiness=False))
SEVERITIES: list[Any] = [
    pytest.param(LATEST, None, "critical", True, id="high is below critical"),
    pytest.param(LATEST, None, "high", False, id="high is high"),
    pytest.param(UNREADY, None, "medium", True, id="low is below medium"),
    pytest.param(LATEST, "low", "high", True, id="an override counts"),
]


@pytest.mark.parametrize(("body", "override", "bound", "is_allowed"), SEVERITIES)
def test_findings_below_the_bound_only_warn(
    body: JsonObject, override: Severity | None, bound: Severity, is_allowed: bool
) -> None:
    spec = msgspec.structs.replace(
        DENYING, severity_overrides=SeverityOverrides(latest_tag=override), admission=Admission(severity=bound)
    )
    found = verdict(body, spec)
    assert found.is_allowed is is_allowed
    assert len(found.warnings) == is_allowed


def test_exemptions_and_rules_count_at_admission_too() -> None:
    spec = msgspec.structs.replace(
        DENYING,
        exemptions=(Exemption(reason="r", checks=("latest_tag", "missing_liveness")),),
        rules=(Rule(name="named", expression="object.metadata.name == 'x'", message="must be x"),),
    )
    found = verdict(pod_json(WRONG), spec)
    assert [each.message for each in found.denials] == ["container 'main' missing readiness probe", "must be x"]


CHANGES = [
    pytest.param(pod_json(WRONG), [], 3, id="what was wrong before"),
    pytest.param(pod_json(container("a:latest")), ["missing_liveness", "missing_readiness"], 1, id="what is new"),
    pytest.param(None, ["latest_tag", "missing_liveness", "missing_readiness"], 0, id="nothing before"),
]


@pytest.mark.parametrize(("before", "denied", "warnings"), CHANGES)
def test_a_change_is_denied_for_what_it_makes_wrong(before: Any, denied: list[str], warnings: int) -> None:
    found = verdict(pod_json(WRONG), operation="UPDATE", oldObject=before)
    assert [each.check.type for each in found.denials] == denied
    assert len(found.warnings) == warnings


def test_an_answer_echoes_the_uid_and_says_why_only_when_it_denies() -> None:
    assert answer("u-1") == {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "response": {"uid": "u-1", "allowed": True},
    }
    denied = answer("u-2", verdict(pod_json(container("a:latest"))))["response"]
    assert denied == {
        "uid": "u-2",
        "allowed": False,
        "status": {"message": "Denied by DevOpsPolicy: container 'main' uses :latest tag"},
    }


def test_warnings_are_bounded() -> None:
    many = [{**WRONG, "name": f"c{at}"} for at in range(50)]
    warnings = answer("u", verdict(pod_json(*many), AUDIT))["response"]["warnings"]
    assert len(warnings) == 21
    assert warnings[-1] == "DevOpsPolicy: and 130 more"


def test_a_denial_is_bounded() -> None:
    many = [{**WRONG, "name": f"c{at}"} for at in range(10_000)]
    found = judge(request_of(pod_json(*many)), [evaluator_of(DENYING, "strict")], now=NOW)
    assert len(found.message) == 4096
    assert found.message.endswith(" (policy strict)")


NO_REVIEW = [
    b"",
    b"{",
    b"[]",
    b"7",
    b"{}",
    b'{"request":7}',
    b'{"request":{"uid":7}}',
    b"[" * 5000,
    b'{"request":null}',
]


@pytest.mark.parametrize("data", NO_REVIEW)
def test_what_is_no_review_is_none(data: bytes) -> None:
    assert read_request(data) is None


def test_a_request_without_a_namespace_is_for_the_default_one() -> None:
    request = request_of(pod_json(), namespace=None)
    assert request.namespace == "default"


def test_a_server_takes_the_configuration_of_the_webhook() -> None:
    body = webhook_configuration(b"-----BEGIN CERTIFICATE-----", service="hook", namespace="ops")
    (webhook,) = body["webhooks"]
    assert (body["metadata"]["name"], webhook["name"]) == ("hook", "validate.devops.stochastic.io")
    assert webhook["clientConfig"]["service"] == {"name": "hook", "namespace": "ops", "path": "/validate", "port": 8443}
    assert (webhook["failurePolicy"], webhook["sideEffects"]) == ("Ignore", "None")
    schema = builtin_schema("admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration")
    assert Validator(schema).check(body) == []
    assert unknown_fields(body, schema) == []
