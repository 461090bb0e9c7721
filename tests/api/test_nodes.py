"""What users that are Nodes reach, beyond what the conversation with a real kube-apiserver shows."""

from __future__ import annotations

from typing import Any

from homeostat.objects.json import decode_stored
from homeostat.server.access.nodes.graph import Graph
from homeostat.server.access.user import User
from homeostat.store.base import Key, Record, Scope
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
