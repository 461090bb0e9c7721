"""Deletion of namespaces and of definitions, and what namespaces are furnished with, on a real plane."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from homeostat.objects.flow_control import COLLECTIONS, MANDATORY, default_objects
from homeostat.plane import Settings, open_plane
from tests.cluster.test_names import definition
from tests.holds import measured_turns
from tests.operators.housekeeping.world import CRDS, HOLD, World, configmap_path, eventually, widget_path


def condition(obj: dict[str, Any], kind: str) -> dict[str, Any]:
    found = obj.get("status", {}).get("conditions", ())
    return next((each for each in found if each["type"] == kind), {})


async def told(world: World, path: str, kind: str, reason: str) -> dict[str, Any]:
    """Wait for a condition of this reason."""

    async def is_told() -> bool:
        return bool(condition(await world.client.get(path), kind).get("reason") == reason)

    await eventually(is_told)
    return condition(await world.client.get(path), kind)


def pod(name: str, **metadata: Any) -> dict[str, Any]:
    spec = {"containers": [{"name": "main", "image": "nginx:1"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **metadata}, "spec": spec}


async def test_a_namespace_goes_with_all_that_is_in_it(world: World) -> None:
    path = await world.namespace("team")
    await world.definition()
    await world.configmap("a", namespace="team")
    await world.widget("w", namespace="team")
    await world.client.create(f"{path}/pods", pod("p"))
    await world.delete(path)
    await world.gone(path, configmap_path("a", "team"), widget_path("w", "team"))
    assert (await world.client.list("/api/v1/namespaces/team/configmaps"))[0] == []


async def test_an_empty_namespace_can_be_made_again_at_once(world: World) -> None:
    path = await world.namespace("team")
    await world.delete(path)
    await world.gone(path)
    await world.namespace("team")
    await eventually(lambda: _is_there(world, f"{path}/serviceaccounts/default"))


async def test_a_namespace_waits_for_finalizers_and_names_them(world: World) -> None:
    path = await world.furnished("team")
    await world.configmap("held", namespace="team", finalizers=[HOLD])
    await world.configmap("free", namespace="team")
    await world.delete(path)
    remaining = await told(world, path, "NamespaceContentRemaining", "SomeResourcesRemain")
    assert remaining["message"] == "Some resources are remaining: configmaps. has 1 resource instances"
    finalizers = await told(world, path, "NamespaceFinalizersRemaining", "SomeFinalizersRemain")
    assert finalizers["message"].endswith(f"remaining: {HOLD} in 1 resource instances")
    assert finalizers["status"] == "True"
    failure = await told(world, path, "NamespaceDeletionContentFailure", "ContentDeleted")
    assert failure["status"] == "False"
    assert await world.find(configmap_path("free", "team")) is None
    await world.unhold(configmap_path("held", "team"))
    await world.gone(path)


async def test_pods_go_before_the_rest_of_a_namespace(world: World) -> None:
    path = await world.namespace("team")
    await world.client.create(f"{path}/pods", pod("held", finalizers=[HOLD]))
    await world.configmap("used", namespace="team")
    await world.delete(path)
    await told(world, path, "NamespaceContentRemaining", "SomeResourcesRemain")
    assert "deletionTimestamp" not in (await world.client.get(configmap_path("used", "team")))["metadata"]
    await world.unhold(f"{path}/pods/held")
    await world.gone(path)


async def test_a_finalizer_of_the_namespace_itself_outlasts_its_content(world: World) -> None:
    path = await world.namespace("team")
    await world.client.merge(path, {"metadata": {"finalizers": [HOLD]}})
    await world.configmap("a", namespace="team")
    await world.delete(path)
    await world.gone(configmap_path("a", "team"))
    await world.quiet()
    assert (await world.client.get(path))["status"]["phase"] == "Terminating"
    await world.unhold(path)
    await world.gone(path)


async def test_a_namespace_deletion_continues_after_a_restart(data: Path) -> None:
    async with open_plane(Settings(data=data, port=0, operators=frozenset())) as plane:
        world = World(plane.client)
        path = await world.namespace("team")
        await world.configmap("a", namespace="team")
        await world.delete(path)
        assert await world.find(configmap_path("a", "team"))
    async with open_plane(Settings(data=data, port=0)) as plane:
        await World(plane.client).gone(path)


async def test_a_definition_goes_after_its_objects(world: World) -> None:
    path = await world.definition()
    await world.namespace("team")
    await world.widget("a")
    await world.widget("held", namespace="team", finalizers=[HOLD])
    await world.delete(path)
    terminating = await told(world, path, "Terminating", "InstanceDeletionInProgress")
    assert terminating["status"] == "True"
    await world.terminating(widget_path("held", "team"))
    assert await world.find(widget_path("a")) is None
    await world.unhold(widget_path("held", "team"))
    await world.gone(path)
    await world.definition()
    assert (await world.client.list("/apis/example.com/v1/widgets"))[0] == []


async def test_objects_of_a_definition_without_a_served_version_are_deleted_with_it(world: World) -> None:
    path = await world.definition()
    await world.widget("a")
    versions = (await world.client.get(path))["spec"]["versions"]
    await world.client.merge(path, {"spec": {"versions": [{**versions[0], "served": False}]}})
    assert await world.find(widget_path("a")) is None
    await world.delete(path)
    await world.gone(path)
    await world.definition()
    assert (await world.client.list("/apis/example.com/v1/widgets"))[0] == []


async def test_a_definition_without_objects_goes_at_once(world: World) -> None:
    path = await world.definition(scope="Cluster")
    await world.delete(path)
    await world.gone(path)


async def test_a_finalizer_of_the_definition_itself_outlasts_its_objects(world: World) -> None:
    path = await world.definition()
    cleanup = (await world.client.get(path))["metadata"]["finalizers"]
    await world.client.merge(path, {"metadata": {"finalizers": [*cleanup, HOLD]}})
    await world.widget("a")
    await world.delete(path)
    completed = await told(world, path, "Terminating", "InstanceDeletionCompleted")
    assert completed["status"] == "False"
    await world.gone(widget_path("a"))
    await eventually(lambda: _has_finalizers(world, path, [HOLD]))
    await world.unhold(path)
    await world.gone(path)


async def test_every_namespace_has_a_service_account_and_the_certificate(world: World, data: Path) -> None:
    for path in ("/api/v1/namespaces/default", await world.namespace("team")):
        await eventually(lambda path=path: _is_there(world, f"{path}/serviceaccounts/default"))  # type: ignore[misc]
        certificate = f"{path}/configmaps/kube-root-ca.crt"
        await eventually(lambda: _is_there(world, certificate))  # noqa: B023
        found = await world.client.get(certificate)
        assert found["data"] == {"ca.crt": (data / "pki" / "ca.crt").read_text()}


async def test_a_service_account_that_is_deleted_is_made_again(world: World) -> None:
    path = f"{await world.namespace('team')}/serviceaccounts/default"
    await eventually(lambda: _is_there(world, path))
    before = (await world.client.get(path))["metadata"]["uid"]
    await world.delete(path)

    async def is_another() -> bool:
        found = await world.find(path)
        return found is not None and found["metadata"]["uid"] != before

    await eventually(is_another)


async def test_default_objects_of_flow_control_are_made_again(world: World) -> None:
    for wanted in default_objects():
        if wanted["metadata"]["name"] not in (*MANDATORY, "probes", "system"):
            continue
        path = f"{COLLECTIONS[wanted['kind']]}/{wanted['metadata']['name']}"
        assert (await world.client.get(path))["spec"] == wanted["spec"]
        await world.client.delete(path)
        await eventually(lambda path=path: _is_there(world, path))  # type: ignore[misc]


async def test_a_certificate_that_is_changed_or_deleted_is_restored(world: World) -> None:
    path = f"{await world.namespace('team')}/configmaps/kube-root-ca.crt"
    await eventually(lambda: _is_there(world, path))
    right = (await world.client.get(path))["data"]

    async def is_right() -> bool:
        return bool((await world.find(path) or {}).get("data") == right)

    await world.client.merge(path, {"data": {"ca.crt": "mine", "more": "x"}})
    await eventually(is_right)
    await world.delete(path)
    await eventually(is_right)


async def _is_there(world: World, path: str) -> bool:
    return await world.find(path) is not None


async def _has_finalizers(world: World, path: str, finalizers: list[str]) -> bool:
    return bool((await world.client.get(path))["metadata"].get("finalizers") == finalizers)


async def test_a_large_definition_does_not_hold_the_event_loop_when_another_is_deleted(world: World) -> None:
    example = msgspec.Raw(b"{%b}" % b",".join(b'"%x":1' % at for at in range(300_000)))
    large = definition("large.example.com", "larges", "Large")
    large["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["example"] = example
    await world.client.create(CRDS, large)
    waiting, holder = (definition("names.example.com", each, "Name", singular=each) for each in ("y", "x"))
    for each in (holder, waiting):
        await world.client.create(CRDS, each)
    async with measured_turns() as turns:
        await world.delete(f"{CRDS}/x.names.example.com")
        await told(world, f"{CRDS}/y.names.example.com", "NamesAccepted", "NoConflicts")
    assert turns.longest_s < 0.06, turns.longest_s


async def test_a_definition_gets_a_name_when_its_owner_is_deleted(world: World) -> None:
    first, second, third = (definition("names.example.com", each, "Name", singular=each) for each in ("a", "b", "c"))
    for each in (first, second, third):
        await world.client.create(CRDS, each)
    assert await world.find("/apis/names.example.com/v1/b") is None
    await world.client.delete(f"{CRDS}/a.names.example.com")

    async def accepted() -> list[str]:
        found = [await world.client.get(f"{CRDS}/{each}.names.example.com") for each in ("b", "c")]
        return [each["status"]["conditions"][0]["status"] for each in found]

    async def has_one() -> bool:
        return sorted(await accepted()) == ["False", "True"]

    await eventually(has_one)


async def test_a_custom_group_has_an_api_service_while_it_is_served(world: World) -> None:
    path = "/apis/apiregistration.k8s.io/v1/apiservices/v1.registered.example.com"
    await world.client.create(CRDS, definition("registered.example.com", "things", "Thing"))

    async def is_registered() -> bool:
        return await world.find(path) is not None

    async def is_gone() -> bool:
        return await world.find(path) is None

    await eventually(is_registered)
    found = await world.client.get(path)
    assert found["spec"] == {
        "group": "registered.example.com",
        "version": "v1",
        "groupPriorityMinimum": 1000,
        "versionPriority": 100,
    }
    assert found["status"]["conditions"][0]["reason"] == "Local"
    await world.client.delete(f"{CRDS}/things.registered.example.com")
    await eventually(is_gone)
