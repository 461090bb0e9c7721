"""What users that are Nodes reach, beyond what the conversation with a real kube-apiserver shows."""

from __future__ import annotations

from typing import Any

import pytest

from homeostat.objects.json import decode_stored
from homeostat.server.access.nodes.graph import Graph
from homeostat.server.access.user import User
from homeostat.store.base import CompactedError, Draft, Key, Put, Record, Scope, Store
from tests.api.conftest import MERGE_PATCH, STRATEGIC_PATCH, Api

DEFAULT = "/api/v1/namespaces/default"
PODS = f"{DEFAULT}/pods"
KUBELET = User("system:node:n1", groups=("system:nodes", "system:authenticated"))


async def create_pod(api: Api, name: str, *, node: str = "n1", **spec: Any) -> dict[str, Any]:
    spec = {"containers": [{"name": "main", "image": "a"}], "nodeName": node, **spec}
    created = await api("POST", PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec})
    assert created.status == 201, created.json
    found: dict[str, Any] = created.json
    return found


async def test_a_node_gets_a_token_for_a_pod_of_its_own_and_for_the_audience_of_its_volume(api: Api) -> None:
    await api("POST", f"{DEFAULT}/serviceaccounts", {"metadata": {"name": "default"}})
    own, other = await create_pod(api, "own"), await create_pod(api, "other", node="n2")

    async def ask(pod: dict[str, Any], **spec: Any) -> tuple[int, str]:
        metadata = pod["metadata"]
        bound = {"apiVersion": "v1", "kind": "Pod", "name": metadata["name"], "uid": metadata["uid"]}
        path = f"{DEFAULT}/serviceaccounts/default/token"
        answer = await api("POST", path, {"spec": {"boundObjectRef": bound, **spec}}, user=KUBELET)
        return answer.status, answer.json.get("message", "")

    assert await ask(own) == (201, "")
    status, message = await ask(own, audiences=["vault"])
    assert (status, 'audience "vault" not found in pod spec volume' in message) == (403, True)
    status, message = await ask(other)
    assert (status, "bound to a pod scheduled on a different node" in message) == (403, True)
    driver = {"metadata": {"name": "csi.example.com"}, "spec": {"tokenRequests": [{"audience": "vault"}]}}
    await api("POST", "/apis/storage.k8s.io/v1/csidrivers", driver)
    mounted = await create_pod(api, "mounted", volumes=[{"name": "a", "csi": {"driver": "csi.example.com"}}])
    assert await ask(mounted, audiences=["vault"]) == (201, "")
    lacking = await create_pod(api, "lacking", volumes=[{"name": "a", "csi": {"driver": "gone"}}])
    status, message = await ask(lacking, audiences=["vault"])
    assert (status, 'csidriver.storage.k8s.io "gone" not found' in message) == (403, True)
    nameless = User("system:node:", groups=("system:nodes", "system:masters"))
    answer = await api("POST", f"{DEFAULT}/serviceaccounts/default/token", {"spec": {}}, user=nameless)
    assert (answer.status, "could not determine node from user" in answer.json["message"]) == (403, True)


async def test_a_new_node_takes_no_pods_until_it_is_ready(api: Api) -> None:
    own = {"key": "a", "effect": "NoExecute"}
    created = await api("POST", "/api/v1/nodes", {"metadata": {"name": "n1"}, "spec": {"taints": [own]}})
    assert created.json["spec"]["taints"] == [own, {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]
    ready = {"spec": {"taints": None}}
    changed = await api("PATCH", "/api/v1/nodes/n1", ready, headers={"content-type": MERGE_PATCH})
    assert (changed.status, changed.json["spec"]) == (200, {})


async def test_a_node_follows_what_happens_to_its_pods_after_its_first_call(api: Api) -> None:
    for name in ("a", "b", "c"):
        await api("POST", f"{DEFAULT}/secrets", {"metadata": {"name": name}})

    async def reached() -> str:
        statuses = [(await api("GET", f"{DEFAULT}/secrets/{name}", user=KUBELET)).status for name in ("a", "b", "c")]
        return "".join(name for name, status in zip("abc", statuses, strict=True) if status == 200)

    def mounting(secret: str) -> dict[str, Any]:
        return {"volumes": [{"name": "s", "secret": {"secretName": secret}}]}

    await create_pod(api, "before", **mounting("a"))
    assert await reached() == "a"
    await create_pod(api, "after", node="", **mounting("b"))
    assert await reached() == "a"
    target = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "after"},
        "target": {"kind": "Node", "name": "n1"},
    }
    assert (await api("POST", f"{PODS}/after/binding", target)).status == 201
    assert await reached() == "ab"
    shell = {"name": "shell", "image": "b", "envFrom": [{"secretRef": {"name": "c"}}]}
    patch = {"spec": {"ephemeralContainers": [shell]}}
    assert (await api("PATCH", f"{PODS}/after/ephemeralcontainers", patch, type=STRATEGIC_PATCH)).status == 200
    assert await reached() == "abc"
    await api("DELETE", f"{PODS}/after", gracePeriodSeconds=0)
    assert await reached() == "a"


async def test_a_pod_whose_status_changes_is_not_indexed_again(api: Api) -> None:
    await create_pod(api, "p")
    store = api.plane.app.backend.store
    graph = Graph(store)
    await graph.prepare()
    key = Key("pods", "default", "p")
    before = graph._bound[key]
    await api("PATCH", f"{PODS}/p/status", {"status": {"phase": "Running"}}, type=MERGE_PATCH)
    assert graph._bound[key] is before
    [record] = store.select(Scope("pods", "default", "p"))
    assert isinstance(record, Record)
    assert decode_stored(record.value)["status"]["phase"] == "Running"
    await api("DELETE", f"{PODS}/p", gracePeriodSeconds=0)
    assert not graph._bound
    assert not graph._nodes


async def test_the_rules_of_a_node_are_incomplete(api: Api) -> None:
    path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
    status = (await api("POST", path, {"spec": {"namespace": "default"}}, user=KUBELET)).json["status"]
    assert (status["incomplete"], status["evaluationError"]) == (
        True,
        "node authorizer does not support user rule resolution",
    )


async def test_an_unreadable_pod_is_skipped_and_logged(api: Api, caplog: pytest.LogCaptureFixture) -> None:
    store = api.plane.app.backend.store
    graph = Graph(store)
    await graph.prepare()

    async def put(name: str, rest: bytes) -> None:
        draft = Draft(b'{"metadata":{"resourceVersion":"', b'"},"spec":{"nodeName":"n1"}%s}' % rest)
        await store.write(Put(Key("pods", "default", name), draft, 0))

    await put("bad", b',"status":[]')
    await put("null", b',"status":null')
    assert [key.name for key in graph._bound] == ["null"]
    assert [record.__dict__["object"] for record in caplog.records if "unreadable" in record.message] == ["default/bad"]
    graph.close()
    assert not graph._bound
    await put("later", b"")
    assert not graph._bound


class Interrupted:
    """A store that refuses the first subscription to volumes."""

    def __init__(self, store: Store) -> None:
        self._store, self.has_refused, self.opened = store, False, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def subscribe(self, scope: Scope, **settings: Any) -> Any:
        if scope.resource == "persistentvolumes" and not self.has_refused:
            self.has_refused = True
            raise CompactedError(1, 2)
        self.opened += 1
        return Opened(await self._store.subscribe(scope, **settings), self)


class Opened:
    def __init__(self, subscription: Any, store: Interrupted) -> None:
        self._subscription, self._store = subscription, store

    def close(self) -> None:
        self._store.opened -= 1
        self._subscription.close()


async def test_a_graph_that_could_not_follow_starts_over(api: Api) -> None:
    await create_pod(api, "p")
    store = Interrupted(api.plane.app.backend.store)
    graph = Graph(store)
    with pytest.raises(CompactedError):
        await graph.prepare()
    assert (store.opened, graph._bound) == (0, {})
    await graph.prepare()
    assert (store.opened, len(graph._bound)) == (2, 1)
    graph.close()
    assert store.opened == 0
