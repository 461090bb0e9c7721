"""Which controllers a budget counts: by group and uid, and no further than a Deployment; and how it gets their size."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from homeostat.client.base import Client, Response
from homeostat.objects.errors import NotFoundError, status_of
from homeostat.objects.json import Json, JsonObject, encode
from homeostat.objects.kind import DEPLOYMENT, REPLICA_SET, STATEFUL_SET, Kind
from homeostat.operators.workloads.api import REPLICATION_CONTROLLER, Owner, Workload
from homeostat.operators.workloads.budgets.owners import Other, Owners, owners_of
from homeostat.operators.workloads.budgets.scales import ScaleError, Scales
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


VERSION = "scaled.example.com/v1"
DISCOVERY, WORKERS = f"/apis/{VERSION}", f"/apis/{VERSION}/namespaces/default/workers"
SCALABLE: list[Json] = [{"name": "workers", "kind": "Worker"}, {"name": "workers/scale", "kind": "Scale"}]


class Server:
    """It has two workers, and notes what it is asked at which time."""

    def __init__(self, resources: Json = SCALABLE, replicas: Json = 4) -> None:
        self.now_s, self.asked = 100.0, list[str]()
        self.answers: dict[str, JsonObject] = {DISCOVERY: {"resources": resources}}
        for name in ("a", "b"):
            scale: JsonObject = {"metadata": {"name": name, "uid": f"uid-{name}"}, "spec": {"replicas": replicas}}
            self.answers[f"{WORKERS}/{name}/scale"] = scale
        self.scales = Scales(Client(self), lambda: self.now_s)

    async def send(
        self, method: str, path: str, *, query: str = "", body: bytes = b"", content_type: str = "", accept: str = ""
    ) -> Response:
        self.asked.append(path)
        if path in self.answers:
            return Response(200, encode(self.answers[path]))
        return Response(404, encode(status_of(NotFoundError("no such path"))))

    async def stream(self, path: str, *, query: str = "", accept: str = "") -> Response | AsyncIterator[bytes]:
        return Response(404, b"{}")

    async def size_of(self, name: str, kind: str = "Worker", version: str = VERSION) -> int | str:
        try:
            return await self.scales.size_of(Other(Owner(kind, name, f"uid-{name}", version), "p"), "default")
        except ScaleError as error:
            return str(error)


async def test_the_kinds_of_a_group_version_are_read_once_for_all_owners() -> None:
    server = Server()
    assert [await server.size_of(name) for name in ("a", "b", "a", "gone")] == [
        *(4, 4, 4),
        'found no controllers for pod "p"',
    ]
    assert server.asked.count(DISCOVERY) == 1
    server.now_s += 30
    await server.size_of("a")
    assert server.asked.count(DISCOVERY) == 2


@pytest.mark.parametrize("resources", [None, [], SCALABLE[:1]], ids=["no group version", "no kind", "no scale"])
async def test_a_kind_that_could_not_be_scaled_is_looked_for_again_soon(resources: list[Json] | None) -> None:
    server = Server(resources)
    if resources is None:
        del server.answers[DISCOVERY]
    found = [await server.size_of(name) for name in ("a", "b", "a", "b")]
    assert (server.asked, len(set(found))) == ([DISCOVERY], 1)
    server.answers[DISCOVERY] = {"resources": SCALABLE}
    server.now_s += 2
    assert await server.size_of("a") == 4


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ({"replicas": "many"}, 'the scale of worker.scaled.example.com "a" is unreadable: Expected `int`'),
        ({"resources": 3}, f'the resources of "{VERSION}" are unreadable: Expected `array`'),
    ],
    ids=["scale", "resources"],
)
async def test_an_unreadable_answer_is_a_reason_why_the_size_is_unknown(answers: dict[str, Json], said: str) -> None:
    assert str(await Server(**answers).size_of("a")).startswith(said)


@pytest.mark.parametrize("version", ["", "a/b/c", "../v1", "a/v1?watch=1", "a/", "a/../v1"])
async def test_an_owner_of_an_impossible_version_costs_no_request(version: str) -> None:
    server = Server()
    assert await server.size_of("a", version=version) == f'no matches for kind "Worker" in version "{version}"'
    assert server.asked == []
