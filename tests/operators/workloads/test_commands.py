"""What the commands and images of a Pod say about its end."""

from __future__ import annotations

import time
from typing import Any

import pytest

from homeostat.operators.workloads.api import OUTCOME, READY_AFTER
from homeostat.operators.workloads.pods.commands import MOST_SCRIPT, NEVER, Ending, ending_of
from homeostat.operators.workloads.pods.decide import decide, elapsed_before
from homeostat.operators.workloads.pods.rules import Fate, fate_of
from tests.operators.workloads.objects import pod

SH = ["/bin/sh", "-c"]
JOB: dict[str, Any] = {
    "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": "job", "uid": "job", "controller": True}]
}


def container(*command: str, image: str = "app:1", args: tuple[str, ...] = ()) -> dict[str, Any]:
    return {"name": image, "image": image, "command": list(command), "args": list(args)}


@pytest.mark.parametrize(
    ("containers", "ending"),
    [
        ([container("sleep", "5")], Ending(0, 5.0)),
        ([container("/bin/sleep", "1m", "0.5")], Ending(0, 60.5)),
        ([container("sleep", "infinity")], NEVER),
        ([container("true")], Ending(0, 0.0)),
        ([container("/bin/false")], Ending(1, 0.0)),
        ([container(*SH, "exit 3")], Ending(3, 0.0)),
        ([container("bash", "-e", "-c", "echo 'a b'; sleep 2 && exit 300")], Ending(44, 2.0)),
        ([container(args=("sh", "-c", "sleep 100"))], Ending(0, 100.0)),
        ([container(*SH, "false; sleep 1")], Ending(0, 1.0)),
        ([container(*SH, "false && sleep 1 && true; sleep 2")], Ending(0, 2.0)),
        ([container(*SH, "false && sleep 1")], Ending(1, 0.0)),
        ([container("sh", "-ec", "false\nsleep 1")], Ending(1, 0.0)),
        ([container(*SH, "set -e; false; sleep 1")], Ending(1, 0.0)),
        ([container(*SH, "echo on; while true; do date; sleep 1; done")], NEVER),
        ([container(*SH, "exit 2; while true; do date; done")], Ending(2, 0.0)),
        ([container(*SH, "exit")], Ending(0, 0.0)),
        ([container(*SH, "false; exit")], Ending(1, 0.0)),
        ([container(*SH, "false && true; exit; sleep 3")], Ending(1, 0.0)),
        ([container(*SH, "false; sleep 2; exit")], Ending(0, 2.0)),
        ([container(*SH, "while true  ;  do date; done")], NEVER),
        ([container(*SH, "until false\n\ndo date; done")], NEVER),
        ([container(*SH, "exec sleep 7; exit 1")], Ending(0, 7.0)),
        ([container("tail", "-f", "/dev/null")], NEVER),
        ([container(image="registry.example:5000/pause:3.10")], NEVER),
        ([container(image="nginx:1.29@sha256:0", args=("-g", "daemon off;"))], NEVER),
        ([container(image="postgres:17", args=("pg_dump", "shop"))], None),
        ([container(*SH, "exit $(( $RANDOM / 16384 ))")], None),
        ([container(*SH, "if true; then exit 1; fi")], None),
        ([container(*SH, "echo 'a; exit 1")], None),
        ([container(*SH, "sleep x")], None),
        ([container(*SH, "sleep 1 & wait")], None),
        ([container("sh", "script.sh")], None),
        ([container(*SH)], None),
        ([container(*SH, "true;" * MOST_SCRIPT)], None),
        ([container(*SH, ";".join(["true"] * 500))], None),
        ([container()], None),
        ([], None),
        ([container("sleep", "1"), container("sleep", "3")], Ending(0, 3.0)),
        ([container("true"), container(*SH, "exit 4")], Ending(4, 0.0)),
        ([container("true"), container(image="nginx")], NEVER),
        ([container("true"), container()], None),
        ([container("echo", "x" * (MOST_SCRIPT // 2)), container("sleep", "1", "1" * 9)], Ending(0, 111111112.0)),
        ([container("echo", "x" * (MOST_SCRIPT // 2)), container("echo", "x" * (MOST_SCRIPT // 2))], None),
        ([container("echo", "x" * MOST_SCRIPT), container(image="nginx")], NEVER),
    ],
)
def test_only_a_command_whose_end_is_plain_is_understood(
    containers: list[dict[str, Any]], ending: Ending | None
) -> None:
    assert ending_of(pod(spec={"containers": containers}).spec) == ending


def test_a_script_of_blanks_takes_time_in_proportion_to_its_length() -> None:
    script = f"while true{' ' * (MOST_SCRIPT - 20)}"
    start = time.process_time()
    for blank in (" ", "\t", "\n", "\r", "\f"):
        assert ending_of(pod(spec={"containers": [container(*SH, script.replace(" ", blank))]}).spec) is None
    assert time.process_time() - start < 0.1


def fate(*command: str, image: str = "app:1", **metadata: Any) -> Fate:
    return fate_of(pod(metadata=metadata, spec={"containers": [container(*command, image=image)]}), (), Fate())


def test_a_command_decides_unless_an_annotation_does() -> None:
    assert fate("sleep", "5") == Fate("succeed", run_s=5.0)
    assert fate(*SH, "exit 3") == Fate("fail", exit_code=3)
    assert fate("sleep", "5", annotations={OUTCOME: "fail"}) == Fate("fail")
    assert fate("sleep", "5", annotations={READY_AFTER: "1s"}) == Fate("succeed", after_s=1.0, run_s=5.0)


def test_a_pod_of_a_job_succeeds_if_its_command_says_nothing() -> None:
    assert fate("python", "job.py", **JOB) == Fate("succeed")
    assert fate("python", "job.py") == Fate()
    assert fate(image="registry.k8s.io/pause:3.10", **JOB) == Fate()
    other: dict[str, Any] = {"ownerReferences": [{**JOB["ownerReferences"][0], "apiVersion": "example.com/v1"}]}
    assert fate("python", "job.py", **other) == Fate()
    assert fate("false", **JOB) == Fate("fail", exit_code=1)


def test_a_pod_is_ready_while_its_command_runs_and_ends_by_its_restart_policy() -> None:
    given = Fate("succeed", after_s=0.0, run_s=5.0)
    for policy, ends in (("Never", "succeeded"), ("OnFailure", "succeeded"), ("Always", "ready")):
        one = pod(spec={"restartPolicy": policy})
        running, ended = decide(one, given, 4.0), decide(one, given, 6.0)
        assert running.state is not None
        assert ended.state is not None
        assert (running.state.stage, running.again_s, ended.state.stage) == ("ready", 1.0, ends)
        assert (ended.state.restarts, ended.state.ended) == ((1, "Completed") if policy == "Always" else (0, ""))


def test_a_command_that_ends_again_and_again_runs_between_its_back_offs() -> None:
    given, found, elapsed_s = Fate("fail", after_s=0.0, run_s=5.0, exit_code=3), [], 0.0
    for _ in range(6):
        decision = decide(pod(), given, elapsed_s)
        assert decision.state is not None
        assert decision.again_s is not None
        found.append((decision.state.stage, decision.state.restarts, round(decision.again_s)))
        elapsed_s += decision.again_s + 0.001
    ready, waiting = "ready", "waiting"
    assert found == [(ready, 0, 5), (ready, 1, 5), (waiting, 1, 10), (ready, 2, 5), (waiting, 2, 20), (ready, 3, 5)]


@pytest.mark.parametrize(
    ("ready", "restarts", "age_s", "elapsed_s"), [(True, 0, 3.0, 3.0), (True, 2, 900.0, 20.0), (False, 2, 900.0, 25.0)]
)
def test_a_pod_continues_where_it_was_after_a_restart_of_the_plane(
    ready: bool, restarts: int, age_s: float, elapsed_s: float
) -> None:
    state = {"running": {}} if ready else {"waiting": {"reason": "CrashLoopBackOff"}}
    shown = {"containerStatuses": [{"name": "web", "ready": ready, "restartCount": restarts, "state": state}]}
    assert elapsed_before(pod(status=shown), Fate("fail", after_s=0.0, run_s=5.0), age_s) == elapsed_s
