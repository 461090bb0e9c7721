"""READY, STATUS and RESTARTS of a pod, from the states of its containers."""

from __future__ import annotations

import pytest

from homeostat.objects.json import Json, JsonObject
from homeostat.objects.time.age import epoch_of
from homeostat.server.view.table import columns_of
from tests.server.kinds.builtins.manifests import CREATED, meta

NOW = (epoch_of(CREATED) or 0.0) + 300
RUNNING = {"ready": True, "restartCount": 0, "state": {"running": {}}}
DONE = {"name": "init", "restartCount": 1, "state": {"terminated": {"exitCode": 0, "reason": "Completed"}}}
READY = [{"type": "Ready", "status": "True"}]


def cells(status: JsonObject, *, init: list[JsonObject] | None = None, **metadata: Json) -> list[Json]:
    containers = [{"name": each} for each in ("a", "b")]
    spec = {"containers": containers, "initContainers": init or []}
    return columns_of("", "Pod").cells({"metadata": meta(**metadata), "spec": spec, "status": status}, NOW)


def waiting(reason: str) -> JsonObject:
    return {"state": {"waiting": {"reason": reason}}}


def terminated(**members: Json) -> JsonObject:
    return {"state": {"terminated": members}}


@pytest.mark.parametrize(
    ("status", "ready", "word"),
    [
        ({"phase": "Pending"}, "0/2", "Pending"),
        ({"phase": "Running", "containerStatuses": [RUNNING, RUNNING]}, "2/2", "Running"),
        ({"phase": "Failed", "reason": "Evicted"}, "0/2", "Evicted"),
        (
            {"phase": "Pending", "conditions": [{"type": "PodScheduled", "reason": "SchedulingGated"}]},
            "0/2",
            "SchedulingGated",
        ),
        ({"phase": "Running", "containerStatuses": [waiting("CrashLoopBackOff"), RUNNING]}, "1/2", "CrashLoopBackOff"),
        ({"phase": "Failed", "containerStatuses": [terminated(exitCode=1, reason="Error")]}, "0/2", "Error"),
        ({"phase": "Failed", "containerStatuses": [terminated(exitCode=3)]}, "0/2", "ExitCode:3"),
        ({"phase": "Failed", "containerStatuses": [terminated(signal=9)]}, "0/2", "Signal:9"),
        (
            {"phase": "Running", "containerStatuses": [terminated(reason="Completed"), RUNNING], "conditions": READY},
            "1/2",
            "Running",
        ),
        ({"phase": "Running", "containerStatuses": [terminated(reason="Completed"), RUNNING]}, "1/2", "NotReady"),
    ],
)
def test_status_is_what_a_container_says_or_the_phase(status: JsonObject, ready: str, word: str) -> None:
    assert cells(status)[1:3] == [ready, word]


@pytest.mark.parametrize(
    ("states", "word"),
    [
        ([{}], "Init:0/2"),
        ([DONE, {}], "Init:1/2"),
        ([waiting("PodInitializing")], "Init:0/2"),
        ([waiting("ErrImagePull")], "Init:ErrImagePull"),
        ([terminated(exitCode=2)], "Init:ExitCode:2"),
        ([terminated(exitCode=2, signal=15)], "Init:Signal:15"),
        ([terminated(exitCode=2, reason="Error")], "Init:Error"),
        ([DONE, DONE], "Pending"),
    ],
)
def test_a_pod_that_is_initializing_says_how_far(states: list[JsonObject], word: str) -> None:
    status = {"phase": "Pending", "initContainerStatuses": states}
    assert cells(status, init=[{"name": "init"}, {"name": "init2"}])[2] == word


def test_a_running_sidecar_counts_as_a_container() -> None:
    sidecar = {"name": "proxy", "started": True, "ready": True, "restartCount": 4, "state": {"running": {}}}
    status = {"phase": "Running", "initContainerStatuses": [sidecar], "containerStatuses": [RUNNING, RUNNING]}
    found = cells(status, init=[{"name": "proxy", "restartPolicy": "Always"}])
    assert found[1:4] == ["3/3", "Running", "4"]


def test_restarts_say_when_the_last_one_was() -> None:
    ended = {"terminated": {"finishedAt": "2026-01-02T03:06:05Z"}}
    status = {"phase": "Running", "containerStatuses": [{**RUNNING, "restartCount": 2, "lastState": ended}, RUNNING]}
    assert cells(status)[3] == "2 (3m ago)"
    assert cells({"phase": "Running", "containerStatuses": [{**RUNNING, "restartCount": 2}]})[3] == "2"


def test_restarts_of_finished_init_containers_do_not_count() -> None:
    status = {"phase": "Running", "initContainerStatuses": [DONE], "containerStatuses": [RUNNING, RUNNING]}
    assert cells(status, init=[{"name": "init"}])[3] == "0"


@pytest.mark.parametrize(
    ("status", "word"),
    [
        ({"phase": "Running"}, "Terminating"),
        ({"phase": "Succeeded"}, "Succeeded"),
        ({"phase": "Running", "reason": "NodeLost"}, "Unknown"),
    ],
)
def test_a_deleted_pod_is_terminating_until_it_has_ended(status: JsonObject, word: str) -> None:
    assert cells(status, deletionTimestamp=CREATED)[2] == word


def test_wide_shows_address_node_and_gates() -> None:
    pod = {
        "metadata": meta(),
        "spec": {"containers": [], "nodeName": "n1", "readinessGates": [{"conditionType": "x/y"}, {}]},
        "status": {"podIPs": [{"ip": "10.0.0.1"}], "conditions": [{"type": "x/y", "status": "True"}]},
    }
    assert columns_of("", "Pod").cells(pod, NOW)[5:] == ["10.0.0.1", "n1", "<none>", "1/2"]
    assert cells({})[5:] == ["<none>", "<none>", "<none>", "<none>"]
