"""Who may do something, on a plane and on a real cluster: as the server decides, with the caller's permissions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from homeostat.client.base import Client
from homeostat.client.connect import open_client
from homeostat.client.who_can import who_can
from homeostat.objects.access.who_can import Wanted
from homeostat.objects.json import JsonObject
from homeostat.objects.roles import role, rule
from tests.cluster.fixtures import Api

_RBAC = "/apis/rbac.authorization.k8s.io/v1"
_GROUP = "rbac.authorization.k8s.io"


async def bind(client: Client, namespace: str) -> None:
    """`anna` may delete the Pod `web`, the account `bot` all Pods of the namespace."""
    one = rule("", ["pods"], ["delete"]) | {"resourceNames": ["web"]}
    for name, allowed, subject in (
        ("one", one, {"kind": "User", "name": "anna", "apiGroup": _GROUP}),
        ("all", rule("", ["*"], ["*"]), {"kind": "ServiceAccount", "name": "bot", "namespace": namespace}),
    ):
        metadata: JsonObject = {"name": name, "namespace": namespace}
        await client.create(f"{_RBAC}/namespaces/{namespace}/roles", role(metadata, [allowed]))
        ref = {"apiGroup": _GROUP, "kind": "Role", "name": name}
        binding: JsonObject = {"metadata": metadata, "roleRef": ref, "subjects": [subject]}
        await client.create(f"{_RBAC}/namespaces/{namespace}/rolebindings", binding)


async def may_delete(client: Client, user: str, namespace: str, name: str) -> bool:
    attributes = {"verb": "delete", "resource": "pods", "namespace": namespace, "name": name}
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview"}
    spec = {"user": user, "resourceAttributes": attributes}
    answer = await client.create("/apis/authorization.k8s.io/v1/subjectaccessreviews", {**review, "spec": spec})
    return bool(answer["status"]["allowed"])


@pytest.mark.parametrize(("name", "expected"), [("web", {"anna", "bot"}), ("db", {"bot"})])
async def test_it_is_what_the_server_decides(api: Api, name: str, expected: set[str]) -> None:
    await bind(api.client, api.namespace)
    wanted = Wanted("delete", resource="pods", namespace=api.namespace, name=name, is_namespaced=True)
    answer = await who_can(api.client, wanted)
    assert {each.subject.name for each in answer.grants if each.namespace == api.namespace} == expected
    assert (answer.grants[0].subject.name, answer.unread) == ("system:masters", [])
    users = {"anna": "anna", "bot": f"system:serviceaccount:{api.namespace}:bot"}
    assert {each for each, user in users.items() if await may_delete(api.client, user, api.namespace, name)} == expected


async def test_it_says_what_the_caller_may_not_list(api: Api) -> None:
    own = replace(api.endpoint, impersonation=(("Impersonate-User", "somebody"),))
    async with open_client(own) as client:
        answer = await who_can(client, Wanted("get", resource="pods", is_namespaced=True))
    assert [each.subject.name for each in answer.grants] == ["system:masters"]
    assert answer.unread == ["clusterroles", "roles", "clusterrolebindings", "rolebindings"]
