"""Any replica serves any client: what one has acknowledged holds at once on all."""

from __future__ import annotations

import asyncio
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from uuid import uuid4

import pytest

from homeostat.client.base import Client
from homeostat.objects.errors import (
    AlreadyExistsError,
    ConflictError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    UnauthorizedError,
)
from homeostat.objects.json import JsonObject
from homeostat.server.access.authn import RECHECK_S
from homeostat.server.access.tokens.file import Tokens
from tests.replicas.replica import Replica, open_clients
from tools.build_kubectl import find_kubectl

ROUNDS = 60
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
REVIEWS = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
GROUPS = "/apis/rbac.authorization.k8s.io/v1"


def config_maps(namespace: str, name: str = "") -> str:
    return f"/api/v1/namespaces/{namespace}/configmaps{name and f'/{name}'}"


def definition_of(plural: str, group: str) -> JsonObject:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    names = {"plural": plural, "singular": plural, "kind": plural.title()}
    spec = {"group": group, "scope": "Namespaced", "names": names, "versions": [version]}
    return {"metadata": {"name": f"{plural}.{group}"}, "spec": spec}


async def test_a_round_robin_over_replicas_sees_every_step_before(clients: list[Client], namespace: str) -> None:
    turn: Iterator[Client] = cycle(clients)
    for number in range(ROUNDS):
        path = config_maps(namespace, f"c{number}")
        made = await next(turn).create(config_maps(namespace), {"metadata": {"name": f"c{number}"}})
        assert (await next(turn).get(path)) == made
        updated = await next(turn).update(path, {**made, "data": {"step": "updated"}})
        patched = await next(turn).merge(path, {"data": {"step": "patched"}})
        assert int(patched["metadata"]["resourceVersion"]) > int(updated["metadata"]["resourceVersion"])
        listed = (await next(turn).list(config_maps(namespace)))[0]
        assert patched in [{"apiVersion": "v1", "kind": "ConfigMap", **each} for each in listed]
        await next(turn).delete(path)
        with pytest.raises(NotFoundError):
            await next(turn).get(path)


def services(namespace: str, name: str = "") -> str:
    return f"/api/v1/namespaces/{namespace}/services{name and f'/{name}'}"


async def test_services_that_replicas_create_at_once_share_no_address_and_no_node_port(
    clients: list[Client], namespace: str
) -> None:
    quota = {"metadata": {"name": "q"}, "spec": {"hard": {"services": "100"}}}
    await clients[0].create(f"/api/v1/namespaces/{namespace}/resourcequotas", quota)
    bodies: list[JsonObject] = [
        {"metadata": {"name": f"s{number}"}, "spec": {"type": "NodePort", "ports": [{"port": 80}]}}
        for number in range(30)
    ]
    turn: Iterator[Client] = cycle(clients)
    made = await asyncio.gather(*(next(turn).create(services(namespace), each) for each in bodies))
    assert len({each["spec"]["clusterIP"] for each in made}) == len(bodies)
    assert len({each["spec"]["ports"][0]["nodePort"] for each in made}) == len(bodies)


async def test_one_service_gets_an_address_that_replicas_give_at_once(clients: list[Client], namespace: str) -> None:
    spec = {"clusterIP": "10.0.0.9", "ports": [{"port": 80}]}
    for round_number in range(5):
        wanted: list[JsonObject] = [{"metadata": {"name": f"s{number}"}, "spec": spec} for number in range(9)]
        turn: Iterator[Client] = cycle(clients)
        made = await asyncio.gather(
            *(next(turn).create(services(namespace), each) for each in wanted), return_exceptions=True
        )
        assert sum(isinstance(each, InvalidError) for each in made) == len(wanted) - 1, made
        [winner] = [each for each in made if not isinstance(each, BaseException)]
        await clients[round_number % 3].delete(services(namespace, winner["metadata"]["name"]))
        again = await clients[(round_number + 1) % 3].create(services(namespace), wanted[0])
        await clients[(round_number + 2) % 3].delete(services(namespace, again["metadata"]["name"]))


async def test_one_definition_gets_a_name_that_replicas_claim_at_once(clients: list[Client]) -> None:
    group = f"{uuid4().hex[:8]}.example.com"
    wanted = [definition_of(f"plates{number}", group) for number in range(9)]
    for each in wanted:
        each["spec"]["names"] |= {"kind": "Plate", "listKind": "PlateList"}
    await asyncio.gather(*(clients[at % 3].create(DEFINITIONS, each) for at, each in enumerate(wanted)))
    for client in clients:
        found, _ = await client.list(DEFINITIONS)
        kinds = [each["status"]["acceptedNames"].get("kind") for each in found if each["spec"]["group"] == group]
        assert sorted(kinds) == [""] * 8 + ["Plate"]


async def test_writers_on_all_replicas_add_up_by_conflicts_and_retries(clients: list[Client], namespace: str) -> None:
    path = config_maps(namespace, "sum")
    await clients[0].create(config_maps(namespace), {"metadata": {"name": "sum"}, "data": {"count": "0"}})

    async def count(client: Client, times: int) -> None:
        while times:
            obj = await client.get(path)
            obj["data"]["count"] = str(int(obj["data"]["count"]) + 1)
            try:
                await client.update(path, obj)
            except ConflictError:
                continue
            times -= 1

    await asyncio.gather(*(count(client, 10) for client in clients))

    assert [(await client.get(path))["data"]["count"] for client in clients] == ["30"] * 3


async def test_a_name_is_given_once_whoever_is_asked(clients: list[Client], namespace: str) -> None:
    for number in range(10):
        obj: JsonObject = {"metadata": {"name": f"one-{number}"}}
        answers = await asyncio.gather(
            *(client.create(config_maps(namespace), obj) for client in clients), return_exceptions=True
        )
        assert sorted(type(answer).__name__ for answer in answers) == [
            AlreadyExistsError.__name__,
            AlreadyExistsError.__name__,
            "dict",
        ]


async def test_a_kind_defined_on_one_is_served_by_all_at_once(clients: list[Client], namespace: str) -> None:
    one, two, three = clients
    for number in range(5):
        plural = f"gears{number}"
        await one.create(DEFINITIONS, definition_of(plural, "test.example"))
        path = f"/apis/test.example/v1/namespaces/{namespace}/{plural}"
        await two.create(path, {"apiVersion": "test.example/v1", "kind": plural.title(), "metadata": {"name": "first"}})
        assert [each["metadata"]["name"] for each in (await three.list(path))[0]] == ["first"]
        await three.delete(f"{DEFINITIONS}/{plural}.test.example")


async def test_a_namespace_made_on_one_is_filled_through_another(clients: list[Client], namespace: str) -> None:
    for number in range(10):
        inner = f"{namespace}-{number}"
        await clients[number % 3].create("/api/v1/namespaces", {"metadata": {"name": inner}})
        await clients[(number + 1) % 3].create(config_maps(inner), {"metadata": {"name": "a"}})
        await clients[(number + 2) % 3].delete(f"/api/v1/namespaces/{inner}")


async def test_a_role_granted_on_one_counts_on_all(
    clients: list[Client], replicas: Sequence[Replica], namespace: str
) -> None:
    path = f"{GROUPS}/namespaces/{namespace}"
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]}]
    subject = {"kind": "User", "name": "reader", "apiGroup": "rbac.authorization.k8s.io"}
    role = {"kind": "Role", "name": "read", "apiGroup": "rbac.authorization.k8s.io"}
    await clients[0].create(f"{path}/roles", {"metadata": {"name": "read"}, "rules": rules})
    as_reader = [replace(each.endpoint, impersonation=(("Impersonate-User", "reader"),)) for each in replicas]
    async with open_clients(as_reader) as readers:
        for number in range(10):
            with pytest.raises(ForbiddenError):
                await readers[(number + 1) % 3].list(config_maps(namespace))
            binding = {"metadata": {"name": "read"}, "subjects": [subject], "roleRef": role}
            await clients[number % 3].create(f"{path}/rolebindings", binding)
            await readers[(number + 1) % 3].list(config_maps(namespace))
            await clients[(number + 2) % 3].delete(f"{path}/rolebindings/read")
            await asyncio.gather(*(client.get(f"{path}/roles/read") for client in clients))


async def test_a_token_of_a_new_account_is_good_on_all_at_once_and_void_on_all_soon(
    clients: list[Client], replicas: Sequence[Replica], namespace: str
) -> None:
    accounts = f"/api/v1/namespaces/{namespace}/serviceaccounts"
    for number in range(10):
        one, two, three = (number, (number + 1) % 3, (number + 2) % 3)
        await clients[one % 3].create(accounts, {"metadata": {"name": f"robot{number}"}})
        answer = await clients[two].create(f"{accounts}/robot{number}/token", {"spec": {}})
        token = answer["status"]["token"]
        bearer = replace(replicas[three].endpoint, certificate=None, key=None, token=token)
        async with open_clients([bearer]) as (robot,):
            told = await robot.create(REVIEWS, {})
            assert told["status"]["userInfo"]["username"] == f"system:serviceaccount:{namespace}:robot{number}"
    async with open_clients([bearer]) as (robot,):
        await clients[0].delete(f"{accounts}/robot9")
        await asyncio.sleep(RECHECK_S)
        with pytest.raises(UnauthorizedError):
            await robot.create(REVIEWS, {})


async def test_a_bearer_token_of_the_data_directory_is_good_on_all(replicas: Sequence[Replica], data: Path) -> None:
    token = Tokens(data / "tokens.json").create("ci", now=time.time(), groups=["builders"])
    bearer = [replace(each.endpoint, certificate=None, key=None, token=token) for each in replicas]
    async with open_clients(bearer) as people:
        for person in people:
            assert (await person.create(REVIEWS, {}))["status"]["userInfo"]["username"] == "ci"


async def test_discovery_lists_a_kind_at_once_and_until_its_end(clients: list[Client]) -> None:
    for number in range(6):
        definition = definition_of(f"wheels{number}", "wheels.example")
        await clients[number % 3].create(DEFINITIONS, definition)
        other = clients[(number + 1) % 3]
        told = await other.get("/apis/wheels.example/v1")
        assert f"wheels{number}" in {each["name"] for each in told["resources"]}
        await clients[(number + 2) % 3].delete(f"{DEFINITIONS}/wheels{number}.wheels.example")


@pytest.mark.kubectl
def test_kubectl_may_be_pointed_at_any_of_them(replicas: Sequence[Replica]) -> None:
    program = str(find_kubectl())

    def kubectl(replica: Replica, *arguments: str) -> str:
        command = [program, "--kubeconfig", str(replica.data / "kubeconfig"), "--server", replica.url, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=30)
        assert done.returncode == 0, done.stderr
        return done.stdout

    one, two, three = replicas
    kubectl(one, "create", "namespace", "by-kubectl")
    kubectl(two, "-n", "by-kubectl", "create", "configmap", "a", "--from-literal=x=1")
    kubectl(three, "-n", "by-kubectl", "annotate", "configmap", "a", "seen=yes")
    assert kubectl(one, "-n", "by-kubectl", "get", "cm", "a", "-o", "jsonpath={.metadata.annotations.seen}") == "yes"
    kubectl(two, "delete", "namespace", "by-kubectl")
