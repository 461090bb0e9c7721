"""Deployments: the steps of a rollout, scaling, history and conditions."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from homeostat.objects.json import Json, JsonObject
from homeostat.objects.views.rollout import DESIRED, MAX, REVISION
from homeostat.operators.workloads.api import Workload
from homeostat.operators.workloads.conditions import find
from homeostat.operators.workloads.deployments.decide import Step, decide, refused
from homeostat.operators.workloads.deployments.rollout import bounds_of, roll, scale
from tests.operators.workloads.objects import NOW, TEMPLATE, workload


def deployment(replicas: int = 4, *, image: str = "nginx:1", **spec: Any) -> Workload:
    template = {**TEMPLATE, "spec": {"containers": [{"name": "web", "image": image}]}}
    selector = {"matchLabels": {"app": "web"}}
    return workload(replicas=replicas, selector=selector, template=template, **spec)


def rolling(surge: Json, unavailable: Json) -> JsonObject:
    return {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}


def replica_set(name: str, size: int, available: int | None = None, *, image: str = "nginx:1", **more: Any) -> Workload:
    found = size if available is None else available
    template = {**TEMPLATE, "spec": {"containers": [{"name": "web", "image": image}]}}
    status = {"replicas": size, "readyReplicas": found, "availableReplicas": found, "observedGeneration": 2}
    annotations = {REVISION: str(more.pop("revision", 1)), **more.pop("annotations", {})}
    return workload(name, replicas=size, template=template, status=status, metadata={"annotations": annotations})


@pytest.mark.parametrize(
    ("strategy", "replicas", "bounds"),
    [
        (rolling("25%", "25%"), 10, (3, 2)),
        (rolling("25%", "25%"), 1, (1, 0)),
        (rolling(0, 0), 3, (0, 1)),
        (rolling(2, "100%"), 3, (2, 3)),
        ({"type": "Recreate"}, 3, (0, 0)),
    ],
)
def test_surge_rounds_up_and_unavailable_rounds_down(
    strategy: JsonObject, replicas: int, bounds: tuple[int, int]
) -> None:
    assert bounds_of(deployment(replicas, strategy=strategy)) == bounds


@pytest.mark.parametrize(
    ("strategy", "new", "old", "scaling"),
    [
        (rolling(1, 0), (1, 0), (4, 4), {}),
        (rolling(1, 0), (1, 1), (4, 4), {"old": 3}),
        (rolling(1, 0), (1, 1), (3, 3), {"new": 2}),
        (rolling(0, 1), (0, 0), (4, 4), {"old": 3}),
        (rolling(0, 1), (0, 0), (3, 3), {"new": 1}),
        (rolling(1, 1), (0, 0), (4, 4), {"new": 1}),
        (rolling(1, 1), (2, 1), (3, 0), {"old": 2}),
        (rolling(1, 0), (6, 6), (0, 0), {"new": 4}),
    ],
)
def test_a_rolling_update_keeps_to_its_bounds(
    strategy: JsonObject, new: tuple[int, int], old: tuple[int, int], scaling: dict[str, int]
) -> None:
    found = roll(deployment(4, strategy=strategy), replica_set("new", *new), [replica_set("old", *old)])
    assert found == scaling


def test_a_rollout_ends_with_the_new_replica_set_and_never_leaves_the_bounds() -> None:
    wanted = deployment(10, image="nginx:2", strategy=rolling("30%", "20%"))
    sizes = {"old": 10, "new": 0}
    for _ in range(40):
        new, old = replica_set("new", sizes["new"]), replica_set("old", sizes["old"])
        step = roll(wanted, new, [old])
        if not step:
            break
        sizes |= step
        assert sum(sizes.values()) <= 13
        assert sum(sizes.values()) >= 8
    assert sizes == {"old": 0, "new": 10}


def test_scaling_in_the_middle_of_a_rollout_is_in_proportion() -> None:
    sized: dict[str, Any] = {"annotations": {DESIRED: "10", MAX: "13"}}
    new, old = replica_set("new", 5, **sized), replica_set("old", 8, **sized)
    found = scale(deployment(20, strategy=rolling(3, 2)), new, [old])
    assert found == {"new": 9, "old": 14}


def test_halves_of_replicas_are_rounded_up() -> None:
    sized: dict[str, Any] = {"annotations": {DESIRED: "6", MAX: "6"}}
    new, old = replica_set("new", 1, **sized), replica_set("old", 5, **sized)
    assert scale(deployment(3, strategy=rolling(0, 1)), new, [old]) == {"old": 2}


def deciding(obj: Workload, *sets: Workload, has_old_pods: bool = False) -> Step:
    return decide(obj, sets, has_old_pods=has_old_pods, now=NOW)


def test_the_first_step_creates_a_replica_set() -> None:
    step = deciding(deployment(3, progressDeadlineSeconds=600))
    assert step.create is not None
    name = step.create["metadata"]["name"]
    digest = name.removeprefix("web-")
    assert step.create["spec"]["replicas"] == 3
    assert step.create["spec"]["selector"]["matchLabels"] == {"app": "web", "pod-template-hash": digest}
    assert step.create["metadata"]["annotations"] == {REVISION: "1", DESIRED: "3", MAX: "4"}
    assert step.status is not None
    progressing = find(step.status["conditions"], "Progressing")
    assert progressing is not None
    assert progressing["reason"] == "NewReplicaSetCreated"
    assert progressing["message"] == f'Created new replica set "{name}"'


def test_recreate_waits_for_the_last_old_pod() -> None:
    wanted = deployment(2, image="nginx:2", strategy={"type": "Recreate"})
    assert deciding(wanted, replica_set("old", 2)).scale == {"old": 0}
    assert deciding(wanted, replica_set("old", 0), has_old_pods=True).create is None
    assert deciding(wanted, replica_set("old", 0)).create is not None


def test_a_paused_deployment_is_scaled_and_not_rolled_out() -> None:
    step = deciding(deployment(5, image="nginx:2", paused=True), replica_set("old", 3))
    assert step.create is None
    assert step.scale == {"old": 5}


def test_a_paused_deployment_without_pods_is_scaled_by_its_newest_replica_set() -> None:
    first = replica_set("first", 0, image="nginx:0")
    later = replica_set("a-later", 0)
    later = msgspec.structs.replace(later, metadata=msgspec.structs.replace(later.metadata, creation_timestamp="2027"))
    assert deciding(deployment(2, image="nginx:2", paused=True), first, later).scale == {"a-later": 2}


def test_a_paused_deployment_says_so_and_no_more_of_its_progress() -> None:
    done = complete(deployment(2, progressDeadlineSeconds=600, paused=True))
    status = deciding(done, replica_set("one", 2)).status
    assert status is not None
    assert {each["type"]: each["reason"] for each in status["conditions"]} == {
        "Progressing": "DeploymentPaused",
        "Available": "MinimumReplicasAvailable",
    }


def test_a_replica_set_that_was_there_before_is_found() -> None:
    counts = {"replicas": 2, "updatedReplicas": 2}
    status = deciding(deployment(2, progressDeadlineSeconds=600, status=counts), replica_set("one", 2, 0)).status
    assert status is not None
    progressing = find(status["conditions"], "Progressing")
    assert progressing is not None
    assert progressing["message"] == 'Found new replica set "one"'


def test_a_replica_set_notes_the_size_of_its_deployment_when_it_is_scaled() -> None:
    noted = replica_set("one", 2, annotations={DESIRED: "2", MAX: "3"})
    wider = deployment(2, strategy=rolling(3, 0), metadata={"annotations": {REVISION: "1"}})
    assert not deciding(wider, noted).acts
    larger = deployment(4, strategy=rolling(3, 0), metadata={"annotations": {REVISION: "1"}})
    assert deciding(larger, noted).annotate == {"one": {DESIRED: "4", MAX: "7"}}


def test_going_back_gives_the_old_replica_set_the_highest_revision() -> None:
    sets = replica_set("one", 0, image="nginx:1", revision=1), replica_set("two", 4, image="nginx:2", revision=2)
    step = deciding(deployment(4, image="nginx:1"), *sets)
    assert step.annotate["one"][REVISION] == "3"
    assert step.annotate["one"]["deployment.kubernetes.io/revision-history"] == "1"
    assert step.revision == "3"


def complete(obj: Workload) -> Workload:
    count = obj.spec["replicas"]
    status = {"replicas": count, "updatedReplicas": count, "availableReplicas": count, "observedGeneration": 2}
    annotated = msgspec.structs.replace(obj.metadata, annotations={REVISION: "5"})
    return msgspec.structs.replace(obj, status=status, metadata=annotated)


def test_old_replica_sets_beyond_the_history_are_deleted_when_the_rollout_has_ended() -> None:
    wanted = deployment(1, image="nginx:5", revisionHistoryLimit=2)
    old = [replica_set(f"old-{number}", 0, image=f"nginx:{number}", revision=number) for number in range(1, 5)]
    new = replica_set("new", 1, image="nginx:5", revision=5)
    assert deciding(complete(wanted), *old, new).delete == ("old-1", "old-2")


def progressing_of(step: Step) -> JsonObject:
    assert step.status is not None
    found = find(step.status["conditions"], "Progressing")
    assert found is not None
    return found


def test_a_rollout_without_progress_exceeds_its_deadline() -> None:
    wanted = deployment(1, progressDeadlineSeconds=60)
    new = replica_set("new", 1, 0)
    started = deciding(wanted, new)
    assert progressing_of(started)["reason"] == "ReplicaSetUpdated"
    waiting = msgspec.structs.replace(wanted, status=started.status)
    soon = decide(waiting, [new], has_old_pods=False, now=NOW + timedelta(seconds=50))
    assert soon.again_s == pytest.approx(10)
    late = decide(waiting, [new], has_old_pods=False, now=NOW + timedelta(seconds=61))
    assert progressing_of(late)["reason"] == "ProgressDeadlineExceeded"
    assert progressing_of(late)["message"] == 'ReplicaSet "new" has timed out progressing.'
    ready = msgspec.structs.replace(waiting, status=late.status)
    assert progressing_of(deciding(ready, replica_set("new", 1)))["reason"] == "NewReplicaSetAvailable"


def test_a_changed_min_ready_time_is_passed_on_to_the_replica_set() -> None:
    sizes = {DESIRED: "4", MAX: "5"}
    wanted = deployment(4, minReadySeconds=30, strategy=rolling(1, 0), metadata={"annotations": {REVISION: "1"}})
    found = decide(wanted, [replica_set("new", 4, annotations=sizes)], has_old_pods=False, now=NOW)
    assert found.min_ready_s == {"new": 30}
    assert found.acts
    given = replica_set("new", 4, annotations=sizes)
    settled = msgspec.structs.replace(given, spec={**given.spec, "minReadySeconds": 30})
    assert not decide(wanted, [settled], has_old_pods=False, now=NOW).acts


def test_a_refused_replica_set_is_a_condition_that_is_written_once() -> None:
    wanted = deployment(progressDeadlineSeconds=600)
    conditions = refused(wanted, "quota exceeded", NOW)
    assert conditions is not None
    found = find(conditions, "Progressing")
    assert found is not None
    assert (found["status"], found["reason"]) == ("False", "ReplicaSetCreateError")
    again = msgspec.structs.replace(wanted, status={"conditions": conditions})
    assert refused(again, "quota exceeded", NOW) is None


def test_the_name_of_a_replica_set_is_valid_whatever_the_length_of_the_deployments() -> None:
    selector = {"matchLabels": {"app": "web"}}
    step = decide(workload("x" * 253, selector=selector, template=TEMPLATE), [], has_old_pods=False, now=NOW)
    assert step.create is not None
    assert len(step.create["metadata"]["name"]) == 253
