"""What a Pod shows over time, by its fate."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from homeostat.objects.json import JsonObject
from homeostat.operators.workloads.api import OUTCOME, READY_AFTER, Pod, Rules
from homeostat.operators.workloads.pods.decide import Decision, decide, decide_deadline, elapsed_before
from homeostat.operators.workloads.pods.rules import Fate, Outcome, Rulebook, RuleError, fate_of, parse_rules
from homeostat.operators.workloads.pods.state import PodState
from homeostat.operators.workloads.pods.status import orphaned_status, shows, status_of
from tests.operators.workloads.objects import NOW, THEN, pod

RUNNING = {"containerStatuses": [{"name": "web", "ready": True, "restartCount": 0}]}


@pytest.mark.parametrize(
    ("outcome", "policy", "elapsed_s", "stage", "reason", "restarts"),
    [
        ("ready", "Always", 1, "ready", "", 0),
        ("never-ready", "Always", 100, "running", "", 0),
        ("pending", "Always", 100, "waiting", "ContainerCreating", 0),
        ("image-pull-error", "Always", 0.5, "waiting", "ErrImagePull", 0),
        ("image-pull-error", "Always", 2, "waiting", "ImagePullBackOff", 0),
        ("succeed", "Never", 1, "succeeded", "Completed", 0),
        ("succeed", "Always", 1, "waiting", "CrashLoopBackOff", 1),
        ("fail", "Never", 1, "failed", "Error", 0),
        ("fail", "OnFailure", 1, "waiting", "CrashLoopBackOff", 1),
        ("oom-killed", "Never", 1, "failed", "OOMKilled", 0),
        ("crash-loop", "Always", 1, "waiting", "CrashLoopBackOff", 1),
        ("crash-loop", "Always", 11, "waiting", "CrashLoopBackOff", 2),
        ("crash-loop", "Always", 31, "waiting", "CrashLoopBackOff", 3),
    ],
)
def test_an_outcome_shows_as_kubelet_shows_it(
    outcome: Outcome, policy: str, elapsed_s: float, stage: str, reason: str, restarts: int
) -> None:
    found = decide(pod(spec={"restartPolicy": policy}), Fate(outcome), elapsed_s).state
    assert found is not None
    assert (found.stage, found.reason, found.restarts) == (stage, reason, restarts)


def test_the_back_off_doubles_up_to_five_minutes() -> None:
    messages = []
    elapsed_s = 0.1
    for _ in range(7):
        decision = decide(pod(), Fate("crash-loop", after_s=0.0), elapsed_s)
        assert decision.state is not None
        assert decision.again_s is not None
        messages.append(decision.state.message.split()[1])
        elapsed_s += decision.again_s + 0.1
    assert messages == ["10s", "20s", "40s", "1m20s", "2m40s", "5m0s", "5m0s"]


def test_a_short_delay_shows_nothing_and_a_long_one_a_running_pod() -> None:
    assert decide(pod(), Fate(after_s=0.01), 0.0).state is None
    found = decide(pod(), Fate(after_s=5.0), 1.0)
    assert found.state == PodState("running")
    assert found.again_s == 4.0


def fate(data: dict[str, str], **metadata: Any) -> Fate:
    rules, faults = parse_rules(msgspec.convert({"metadata": {"name": "rules"}, "data": data}, Rules))
    assert not faults
    return fate_of(pod(metadata=metadata), rules, Fate())


def test_an_annotation_wins_over_the_first_rule_that_selects() -> None:
    rules = {
        "a": "selector: app=other\noutcome: fail",
        "b": 'image: "nginx:*"\noutcome: crash-loop\nready-after: 2s\nback-off: 1s',
        "c": "outcome: oom-killed",
    }
    assert fate(rules) == Fate("crash-loop", 2.0, 1.0)
    assert fate(rules, annotations={OUTCOME: "ready", READY_AFTER: "250ms"}) == Fate("ready", 0.25, 1.0)
    assert fate({}) == Fate()


def test_rules_count_from_the_change_of_their_config_map_on() -> None:
    book = Rulebook(Fate())
    found = pod(metadata={"namespace": "shop"})

    def outcome_with(namespace: str, text: str | None) -> Outcome:
        data = {"metadata": {"name": "rules"}, "data": {"all": text}}
        book.note((namespace, "rules"), None if text is None else msgspec.convert(data, Rules))
        return book.fate(found).outcome

    assert book.fate(found).outcome == "ready"
    assert outcome_with("kube-system", "outcome: fail") == "fail"
    assert outcome_with("shop", "outcome: pending") == "pending"
    assert outcome_with("elsewhere", "outcome: succeed") == "pending"
    assert outcome_with("shop", None) == "fail"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("outcome: explode", "outcome 'explode' is unknown; expected one of ready, crash-loop"),
        ("ready-after: soon", "invalid duration 'soon'"),
        ("ready-after: -1s", "not negative"),
        ("colour: red", "unknown field 'colour'"),
        ("selector: '='", "invalid selector"),
        ("- 1", "expected the fields"),
        ("{", "not YAML"),
    ],
)
def test_an_invalid_rule_is_left_out_and_explained(text: str, said: str) -> None:
    rules, (fault,) = parse_rules(msgspec.convert({"metadata": {"name": "rules"}, "data": {"bad": text}}, Rules))
    assert not rules
    assert said in fault


def test_an_invalid_annotation_is_an_error() -> None:
    with pytest.raises(RuleError, match="outcome 'x' is unknown"):
        fate_of(pod(metadata={"annotations": {OUTCOME: "x"}}), [], Fate())


def test_a_status_that_says_the_same_is_not_written_again() -> None:
    found = pod(status=RUNNING)
    assert shows(found, PodState("ready"))
    assert not shows(found, PodState("running"))
    assert not shows(found, PodState("ready", restarts=1))
    changed = msgspec.structs.replace(found, metadata=msgspec.structs.replace(found.metadata, generation=2))
    assert not shows(changed, PodState("ready")), "the status is of another generation"


def condition(status: JsonObject, kind: str) -> JsonObject:
    (found,) = [each for each in status["conditions"] if each["type"] == kind]
    return found  # type: ignore[no-any-return]


def test_a_condition_keeps_its_time_while_its_status_is_the_same() -> None:
    now = "2026-11-17T12:00:00Z"
    status = status_of(pod(), PodState("ready"), now=now, ip="10.128.0.1", host_ip="172.16.0.1")
    assert condition(status, "Ready")["lastTransitionTime"] == THEN
    status = status_of(pod(), PodState("running"), now=now, ip="10.128.0.1", host_ip="172.16.0.1")
    assert condition(status, "Ready")["lastTransitionTime"] == now
    assert condition(status, "Ready")["message"] == "containers with unready status: [web]"


def restarted(count: int, reason: str = "CrashLoopBackOff", *, containers: int = 1) -> JsonObject:
    state = {"waiting": {"reason": reason}} if reason else {}
    names = [f"c{number}" for number in range(containers)]
    return {
        "containerStatuses": [
            {"name": each, "ready": not reason, "restartCount": count, "state": state} for each in names
        ]
    }


def test_restarts_of_two_containers_are_not_added_up() -> None:
    found = pod(status=restarted(3, containers=2), ready=False)
    for outcome in ("crash-loop", "ready", "never-ready"):
        state = decide(found, Fate(outcome, after_s=0.0), 1.0).state
        assert state is not None
        assert state.restarts == 3
    assert shows(found, decide(found, Fate("crash-loop", after_s=0.0), 1.0).state or PodState("ready"))
    assert found.restarts == 6


@pytest.mark.parametrize("back_off_s", [1e-9, 0.001, 0.1, 10.0])
def test_a_loop_of_a_year_has_its_next_restart_ahead(back_off_s: float) -> None:
    decision = decide(pod(), Fate("crash-loop", after_s=0.0, back_off_s=back_off_s), 365 * 86_400.0)
    assert decision.state is not None
    assert decision.state.restarts > 1000
    assert decision.again_s is not None
    assert 0 < decision.again_s <= max(back_off_s, 0.1) * 30


@pytest.mark.parametrize("restarts", [1, 2, 6, 7, 5000])
def test_a_pod_that_is_seen_again_continues_where_it_was(restarts: int) -> None:
    fate = Fate("crash-loop", after_s=5.0)
    found = pod(status=restarted(restarts), ready=False)
    elapsed_s = elapsed_before(found, fate)
    for later_s, expected in ((0.1, restarts), (300.1, restarts + 1)):
        state = decide(pod(), fate, elapsed_s + later_s).state
        assert state is not None
        assert state.restarts >= expected
        assert state.restarts == restarts or later_s > 1
    ready = pod(status=restarted(restarts, ""))
    assert decide(ready, Fate(after_s=5.0), elapsed_before(ready, Fate(after_s=5.0))).state == PodState(
        "ready", restarts=restarts
    )
    pulling = pod(status=restarted(0, "ImagePullBackOff"), ready=False)
    assert elapsed_before(pulling, Fate("image-pull-error")) >= 1.0
    assert elapsed_before(pod(ready=False), Fate(after_s=5.0)) == 0.0


def shown(found: Pod, state: PodState, *, host_ip: str = "172.16.0.1") -> JsonObject:
    return status_of(found, state, now="2026-11-17T12:00:00Z", ip="10.128.0.1", host_ip=host_ip)


def test_conditions_of_others_and_the_class_of_the_server_are_kept() -> None:
    other = {"type": "example.com/lb", "status": "False", "lastProbeTime": None, "lastTransitionTime": THEN}
    status = shown(pod(status={"conditions": [other]}), PodState("ready"))
    assert condition(status, "example.com/lb") == other
    assert condition(status, "Ready")["status"] == "True"
    assert "qosClass" not in status


@pytest.mark.parametrize(
    ("gate", "ready", "message"),
    [
        (None, "False", 'corresponding condition of pod readiness gate "lb" does not exist.'),
        ("False", "False", 'the status of pod readiness gate "lb" is not "True", but False'),
        ("True", "True", None),
    ],
)
def test_a_pod_is_ready_when_its_readiness_gates_are(gate: str | None, ready: str, message: str | None) -> None:
    conditions = [] if gate is None else [{"type": "lb", "status": gate}]
    found = pod(spec={"readinessGates": [{"conditionType": "lb"}]}, status={**RUNNING, "conditions": conditions})
    status = shown(found, PodState("ready"))
    assert condition(status, "Ready")["status"] == ready
    assert condition(status, "Ready").get("message") == message
    assert condition(status, "ContainersReady")["status"] == "True"
    assert status["containerStatuses"][0]["ready"]
    written = msgspec.convert(
        {"metadata": {"name": "a"}, "spec": msgspec.to_builtins(found.spec), "status": status}, Pod
    )
    assert shows(written, PodState("ready"))


def test_an_unknown_address_of_a_node_is_left_out() -> None:
    assert not shown(pod(), PodState("ready"), host_ip="").keys() & {"hostIP", "hostIPs"}


def test_a_pod_that_is_active_for_too_long_fails() -> None:
    found = pod(spec={"activeDeadlineSeconds": 90}, status={**RUNNING, "startTime": THEN})
    assert decide_deadline(found, NOW).again_s == 30
    assert decide_deadline(pod(status={**RUNNING, "startTime": THEN}), NOW) == Decision()
    late = decide_deadline(found, NOW + timedelta(seconds=30)).state
    assert late is not None
    status = status_of(found, late, now=THEN, ip="10.0.0.1", host_ip="")
    assert (status["phase"], status["reason"]) == ("Failed", "DeadlineExceeded")
    assert status["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 137


def test_a_pod_whose_node_is_gone_fails_as_a_target_of_disruption() -> None:
    status = orphaned_status(pod(metadata={"generation": 3}), THEN)
    assert status["phase"] == "Failed"
    found = condition(status, "DisruptionTarget")
    assert (found["reason"], found["message"]) == ("DeletionByPodGC", "PodGC: node no longer exists")
    assert found["observedGeneration"] == 3
    assert condition(status, "Ready"), "conditions of others stay"
