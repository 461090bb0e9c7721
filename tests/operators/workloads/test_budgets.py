"""Which controllers a budget counts: by group and uid, and no further than a Deployment."""

from __future__ import annotations

import pytest

from homeostat.objects.json import JsonObject
from homeostat.objects.kind import DEPLOYMENT, REPLICA_SET, STATEFUL_SET, Kind
from homeostat.operators.workloads.api import REPLICATION_CONTROLLER, Workload
from homeostat.operators.workloads.budgets.owners import Owners, owners_of
from tests.operators.workloads.objects import pod, workload


def owner(kind: str, name: str, *, uid: str = "", version: str = "apps/v1") -> JsonObject:
    return {"apiVersion": version, "kind": kind, "name": name, "uid": uid or f"uid-{name}", "controller": True}


def owned(name: str, replicas: int, *owners: JsonObject) -> Workload:
    return workload(name, replicas=replicas, metadata={"ownerReferences": list(owners)})


STORED: dict[tuple[Kind, str], Workload] = {
    (DEPLOYMENT, "web"): owned("web", 5),
    (REPLICA_SET, "new"): owned("new", 3, owner("Deployment", "web")),
    (REPLICA_SET, "old"): owned("old", 2, owner("Deployment", "web")),
    (REPLICA_SET, "orphan"): owned("orphan", 4, owner("Deployment", "gone")),
    (REPLICA_SET, "rollout"): owned("rollout", 6, owner("Rollout", "web", version="argoproj.io/v1alpha1")),
    (REPLICA_SET, "self"): owned("self", 1, owner("ReplicaSet", "self")),
    (REPLICA_SET, "a"): owned("a", 1, owner("ReplicaSet", "b")),
    (REPLICA_SET, "b"): owned("b", 2, owner("ReplicaSet", "a")),
    (REPLICA_SET, "looped"): owned("looped", 1, owner("Deployment", "looped")),
    (DEPLOYMENT, "looped"): workload(
        "looped", replicas=7, metadata={"uid": "uid-looped", "ownerReferences": [owner("ReplicaSet", "looped")]}
    ),
    (STATEFUL_SET, "db"): owned("db", 3),
    (REPLICATION_CONTROLLER, "rc"): owned("rc", 2),
}


@pytest.mark.parametrize(
    ("owners", "sizes"),
    [
        ([owner("ReplicaSet", "new"), owner("ReplicaSet", "old")], {"uid-web": 5}),
        ([owner("StatefulSet", "db"), owner("StatefulSet", "db")], {"uid-db": 3}),
        ([owner("ReplicationController", "rc", version="v1")], {"uid-rc": 2}),
        ([owner("ReplicaSet", "rollout")], {"uid-rollout": 6}),
        ([owner("ReplicaSet", "orphan")], {}),
        ([owner("ReplicaSet", "self")], {"uid-self": 1}),
        ([owner("ReplicaSet", "a")], {"uid-a": 1}),
        ([owner("ReplicaSet", "looped")], {"uid-looped": 7}),
        ([owner("StatefulSet", "db", uid="of an earlier one")], {}),
        ([owner("StatefulSet", "db", version="apps.kruise.io/v1beta1")], {}),
        ([owner("ReplicationController", "rc", version="apps/v1")], {}),
        ([owner("DaemonSet", "web")], {}),
    ],
    ids=[
        "deployment",
        "set",
        "core group",
        "owner of another group",
        "deployment gone",
        "owns itself",
        "own each other",
        "deployment owned by its set",
        "earlier uid",
        "foreign group",
        "wrong group",
        "not counted",
    ],
)
def test_only_controllers_of_the_same_group_and_uid_count(owners: list[JsonObject], sizes: dict[str, int]) -> None:
    pods = [pod(f"p-{number}", metadata={"ownerReferences": [each]}) for number, each in enumerate(owners)]
    found = owners_of(pods, lambda kind, _, name: STORED.get((kind, name)))
    assert found.sizes == sizes
    assert [each.pod for each in found.others] == ([] if sizes else ["p-0"]), "the server is asked for others"


def test_pods_without_a_controller_are_noted() -> None:
    assert owners_of([pod("bare")], lambda *_: None) == Owners({}, (), has_unmanaged=True)
