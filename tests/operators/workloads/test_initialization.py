"""Init containers run one after the other before the containers, and ephemeral ones beside them."""

from __future__ import annotations

import math
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from homeostat.objects.json import JsonObject
from homeostat.operators.workloads.api import Pod
from homeostat.operators.workloads.pods.decide import decide, elapsed_before, limited, stopped
from homeostat.operators.workloads.pods.ephemeral import decide_ephemeral
from homeostat.operators.workloads.pods.rules import Fate, fate_of
from homeostat.operators.workloads.pods.state import PodState
from homeostat.operators.workloads.pods.status import shows, status_of
from tests.operators.workloads.objects import NOW, pod

USUAL = Fate()
SIDECAR = {"name": "mesh", "image": "mesh:1", "restartPolicy": "Always"}


def init(name: str, *command: str) -> JsonObject:
    return {"name": name, "image": "busybox:1", "command": list(command)}


def new_pod(*containers: JsonObject, policy: str = "Always", **fields: Any) -> Pod:
    spec = {"initContainers": list(containers), "restartPolicy": policy, **fields.pop("spec", {})}
    return pod(phase="Pending", ready=False, spec=spec, status={"podIP": ""}, **fields)


def picture_of(found: Pod, elapsed_s: float = 1.0) -> PodState:
    state = decide(found, fate_of(found, (), USUAL), elapsed_s).state
    assert state is not None
    return state


def written(found: Pod, state: PodState) -> tuple[Pod, JsonObject]:
    """The Pod after a kubelet has reported this of it, and its status."""
    now = "2026-11-17T12:00:00Z"
    ephemeral = decide_ephemeral(found, NOW, is_over=state.is_over)
    status = status_of(found, state, now=now, ip="10.128.0.1", host_ip="172.16.0.1", ephemeral=ephemeral.statuses)
    return msgspec.structs.replace(found, status=msgspec.convert(status, type(found.status))), status


def states(status: JsonObject) -> list[str]:
    """Of init containers, then of the containers."""
    found = []
    for each in (*status["initContainerStatuses"], *status["containerStatuses"]):
        ((kind, detail),) = each["state"].items()
        found.append(f"{kind} {detail.get('reason', '')}".strip())
    return found


def condition(status: JsonObject, kind: str) -> tuple[str, str, str]:
    (found,) = [each for each in status["conditions"] if each["type"] == kind]
    return found["status"], found.get("reason", ""), found.get("message", "")


WAITS = "waiting PodInitializing"


@pytest.mark.parametrize(
    ("containers", "policy", "elapsed_s", "phase", "expected"),
    [
        ([init("a", "sleep", "5"), init("b", "true")], "Always", 1.0, "Pending", ["running", WAITS, WAITS]),
        ([init("a", "sleep", "5"), init("b", "true")], "Always", 6.0, "Running", ["terminated Completed"] * 2),
        ([init("a", "true"), init("b", "sleep", "inf")], "Never", 99.0, "Pending", ["terminated Completed", "running"]),
        ([init("a", "false"), init("b", "true")], "Always", 0.0, "Pending", ["waiting CrashLoopBackOff", WAITS, WAITS]),
        ([init("a", "false")], "OnFailure", 0.0, "Pending", ["waiting CrashLoopBackOff", WAITS]),
        ([init("a", "true"), init("b", "false")], "Never", 0.0, "Failed", ["terminated Completed", "terminated Error"]),
        ([SIDECAR, init("b", "sleep", "5")], "Always", 1.0, "Pending", ["running", "running", WAITS]),
        ([init("a", "unknown", "program")], "Always", 1.0, "Running", ["terminated Completed", "running"]),
    ],
)
def test_init_containers_show_as_kubelet_shows_them(
    containers: list[JsonObject], policy: str, elapsed_s: float, phase: str, expected: list[str]
) -> None:
    found = new_pod(*containers, policy=policy)
    state = picture_of(found, elapsed_s)
    shown, status = written(found, state)
    assert (status["phase"], states(status)[: len(expected)]) == (phase, expected)
    assert shows(shown, state)
    is_initialized = state.init is None
    assert condition(status, "Initialized")[0] == str(is_initialized)


def test_a_pod_whose_init_container_fails_says_which_ones_are_missing() -> None:
    found = new_pod(init("init1", "/bin/false"), init("init2", "/bin/true"))
    shown, status = written(found, picture_of(found))
    expected = ("False", "ContainersNotInitialized", "containers with incomplete status: [init1 init2]")
    assert condition(status, "Initialized") == expected
    assert condition(status, "Ready") == ("False", "ContainersNotReady", "containers with unready status: [web]")
    first = status["initContainerStatuses"][0]
    assert first["lastState"]["terminated"]["exitCode"] == 1
    assert "back-off 10s restarting failed container=init1" in first["state"]["waiting"]["message"]
    assert [picture_of(shown, each).restarts for each in (1.0, 11.0, 31.0)] == [1, 2, 3]
    assert not shows(shown, picture_of(shown, 31.0))
    assert shown.restarts == 1, "a Job counts them"


def test_init_containers_continue_where_they_were() -> None:
    found = new_pod(init("a", "sleep", "5"), init("b", "false"))
    fate = fate_of(found, (), USUAL)
    shown, _ = written(found, picture_of(found, 36.0))
    assert shown.status.init_container_statuses[1].restart_count == 3
    assert picture_of(shown, elapsed_before(shown, fate)).restarts == 3
    first, _ = written(found, picture_of(found, 1.0))
    assert elapsed_before(first, fate) == 0.0
    done = new_pod(init("a", "sleep", "5"))
    ready, _ = written(done, picture_of(done, 6.0))
    assert picture_of(ready, elapsed_before(ready, fate_of(done, (), USUAL)) + 0.1).stage == "ready"


def test_an_outcome_wins_over_the_commands_of_init_containers() -> None:
    annotated = {"annotations": {"simulation.homeostat.dev/outcome": "ready"}}
    assert picture_of(new_pod(init("a", "false"), metadata=annotated)).stage == "ready"
    annotated = {"annotations": {"simulation.homeostat.dev/outcome": "init-fail"}}
    failed = picture_of(new_pod(SIDECAR, init("a", "true"), policy="Never", metadata=annotated))
    assert (failed.stage, failed.init, failed.exit_code) == ("failed", 1, 1)
    assert picture_of(pod(spec={"restartPolicy": "Never"}, metadata=annotated)).stage == "failed", "without any"


def test_a_pod_that_waits_has_init_containers_that_wait() -> None:
    annotated = {"annotations": {"simulation.homeostat.dev/outcome": "pending"}}
    found = new_pod(init("a", "true"), metadata=annotated)
    _, status = written(found, picture_of(found))
    assert states(status) == [WAITS, WAITS]


def test_sidecars_end_with_their_pod() -> None:
    found = new_pod(SIDECAR, policy="Never", spec={"containers": [init("web", "true")]})
    _, status = written(found, picture_of(found))
    assert (status["phase"], states(status)) == ("Succeeded", ["terminated Completed"] * 2)


def test_a_pod_that_is_stopped_before_it_is_initialized_fails() -> None:
    found = new_pod(init("a", "true"), init("b", "sleep", "inf"), spec={"activeDeadlineSeconds": 10})
    shown, _ = written(found, picture_of(found))
    assert stopped(shown).init == 1
    decision = limited(shown, decide(shown, fate_of(found, (), USUAL), 1.0), NOW + timedelta(seconds=60))
    assert decision.state is not None
    _, status = written(shown, decision.state)
    assert (status["phase"], status["reason"]) == ("Failed", "DeadlineExceeded")
    assert states(status) == ["terminated Completed", "terminated Error", WAITS]


def test_a_pod_is_evicted_in_kubelet_s_words() -> None:
    annotated = {"annotations": {"simulation.homeostat.dev/outcome": "evicted-memory"}}
    _, status = written(found := pod(metadata=annotated), picture_of(found))
    assert (status["phase"], status["reason"]) == ("Failed", "Evicted")
    assert condition(status, "DisruptionTarget") == (
        "True",
        "TerminationByKubelet",
        "The node was low on resource: memory. ",
    )
    annotated = {"annotations": {"simulation.homeostat.dev/outcome": "evicted-storage"}}
    limits = [{"name": "web", "image": "nginx:1", "resources": {"limits": {"ephemeral-storage": "5Mi"}}}]
    _, status = written(found := pod(metadata=annotated, spec={"containers": limits}), picture_of(found))
    assert status["message"] == 'Container web exceeded its local ephemeral storage limit "5Mi". '
    assert "DisruptionTarget" not in {each["type"] for each in status["conditions"]}, "nobody disrupts it but itself"


def test_an_evicted_pod_lasts_a_second() -> None:
    """Or a ReplicaSet would replace hundreds each second, and all of them stay."""
    found = pod(metadata={"annotations": {"simulation.homeostat.dev/outcome": "evicted-memory"}})
    early = decide(found, fate_of(found, (), USUAL), 0.9)
    assert early.state is not None
    assert early.state.stage == "running"
    assert early.again_s == pytest.approx(0.1)


def test_ephemeral_containers_run_until_their_command_ends() -> None:
    debuggers = [init("shell", "sh"), init("short", "sleep", "5"), init("broken", "false")]
    found = pod(spec={"ephemeralContainers": debuggers})
    first = decide_ephemeral(found, NOW, is_over=False)
    assert [[*each["state"]] for each in first.statuses] == [["running"], ["running"], ["terminated"]]
    assert (first.is_shown, first.again_s) == (False, 5.0)
    shown, _ = written(found, PodState("ready"))
    assert decide_ephemeral(shown, NOW, is_over=False).is_shown
    later = decide_ephemeral(shown, NOW + timedelta(seconds=6), is_over=False)
    assert [[*each["state"]] for each in later.statuses] == [["running"], ["terminated"], ["terminated"]]
    assert not later.is_shown
    killed = decide_ephemeral(shown, NOW + timedelta(seconds=1), is_over=True)
    codes = [each["state"]["terminated"]["exitCode"] for each in killed.statuses]
    assert codes == [137, 137, 1]
    assert decide_ephemeral(pod(), NOW, is_over=False).again_s is None


def test_an_init_container_that_never_ends_is_not_checked_again() -> None:
    found = new_pod(init("a", "tail", "-f", "/dev/null"))
    fate = fate_of(found, (), USUAL)
    assert math.isinf(fate.init[0].after_s)
    assert decide(found, fate, 1.0).again_s is None
