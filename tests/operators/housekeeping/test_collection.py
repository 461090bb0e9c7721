"""Garbage collection on a real plane."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from homeostat.plane import Settings, open_plane
from tests.operators.housekeeping.world import CRDS, HOLD, World, configmap_path, eventually, owner, widget_path


async def test_dependents_go_with_their_owner(world: World) -> None:
    top = await world.configmap("top")
    middle = await world.configmap("middle", owner(top))
    await world.configmap("leaf", owner(middle))
    await world.delete(configmap_path("top"))
    await world.gone(configmap_path("middle"), configmap_path("leaf"))


async def test_a_hundred_dependents_go_together(world: World) -> None:
    top = await world.configmap("top")
    await asyncio.gather(*(world.configmap(f"leaf-{index}", owner(top)) for index in range(100)))
    await world.delete(configmap_path("top"))
    await world.gone(*(configmap_path(f"leaf-{index}") for index in range(100)))


async def test_an_object_made_after_its_owner_went_is_deleted(world: World) -> None:
    top = await world.configmap("top")
    await world.delete(configmap_path("top"))
    await world.configmap("late", owner(top))
    await world.gone(configmap_path("late"))


async def test_a_dependent_held_by_a_finalizer_is_marked_and_goes_with_it(world: World) -> None:
    top = await world.configmap("top")
    await world.configmap("leaf", owner(top), finalizers=[HOLD])
    await world.delete(configmap_path("top"))
    await world.terminating(configmap_path("leaf"))
    await world.unhold(configmap_path("leaf"))
    await world.gone(configmap_path("leaf"))


async def test_one_owner_of_two_is_enough_and_the_other_is_forgotten(world: World) -> None:
    first, second = await world.configmap("first"), await world.configmap("second")
    await world.configmap("leaf", owner(first), owner(second, controller=True))
    await world.delete(configmap_path("first"))
    await world.owners(configmap_path("leaf"), "second")
    left = (await world.client.get(configmap_path("leaf")))["metadata"]["ownerReferences"]
    assert left == [owner(second, controller=True)]
    await world.delete(configmap_path("second"))
    await world.gone(configmap_path("leaf"))


async def test_an_owner_of_the_same_name_and_another_uid_does_not_count(world: World) -> None:
    await world.configmap("top")
    await world.configmap("leaf", owner({**await world.configmap("other"), "metadata": {"name": "top", "uid": "old"}}))
    await world.gone(configmap_path("leaf"))
    assert await world.find(configmap_path("top"))


async def test_an_owner_made_again_under_its_name_does_not_keep_the_dependents(world: World) -> None:
    top = await world.configmap("top")
    await world.configmap("leaf", owner(top))
    await world.delete(configmap_path("top"))
    await world.configmap("top")
    await world.gone(configmap_path("leaf"))
    assert await world.find(configmap_path("top"))


async def test_an_owner_in_another_namespace_does_not_count(world: World) -> None:
    await world.namespace("elsewhere")
    top = await world.configmap("top", namespace="elsewhere")
    await world.configmap("kept", owner(top), namespace="elsewhere")
    await world.configmap("leaf", owner(top))
    await world.gone(configmap_path("leaf"))
    await world.quiet()
    assert await world.find(configmap_path("kept", "elsewhere"))


async def test_a_dependent_in_another_namespace_does_not_hold_up_foreground_deletion(world: World) -> None:
    await world.namespace("elsewhere")
    top = await world.configmap("top")
    await world.configmap("foreign", owner(top, blocks=True), namespace="elsewhere", finalizers=[HOLD])
    await world.terminating(configmap_path("foreign", "elsewhere"))
    await world.delete(configmap_path("top"), "Foreground")
    await world.gone(configmap_path("top"))

    named = f"v1/ConfigMap, namespace: elsewhere, name: top, uid: {top['metadata']['uid']}"
    message = f'ownerRef [{named}] does not exist in namespace "elsewhere"'

    async def is_reported() -> bool:
        events, _ = await world.client.list("/api/v1/namespaces/elsewhere/events")
        found = [(each["reason"], each["involvedObject"]["name"], each["message"]) for each in events]
        return found == [("OwnerRefInvalidNamespace", "foreign", message)]

    await eventually(is_reported)
    await world.unhold(configmap_path("foreign", "elsewhere"))


async def test_orphaning_leaves_references_in_other_namespaces_alone(world: World) -> None:
    await world.namespace("elsewhere")
    top = await world.configmap("top")
    await world.configmap("foreign", owner(top), namespace="elsewhere", finalizers=[HOLD])
    await world.terminating(configmap_path("foreign", "elsewhere"))
    await world.delete(configmap_path("top"), "Orphan")
    await world.gone(configmap_path("top"))
    await world.owners(configmap_path("foreign", "elsewhere"), "top")
    await world.unhold(configmap_path("foreign", "elsewhere"))


async def test_an_owner_without_a_namespace_owns_in_all_of_them(world: World) -> None:
    await world.namespace("elsewhere")
    await world.definition(scope="Cluster")
    top = await world.widget("top", namespace="")
    await world.configmap("here", owner(top))
    await world.configmap("there", owner(top), namespace="elsewhere")
    await world.quiet()
    assert await world.find(configmap_path("here"))
    assert await world.find(configmap_path("there", "elsewhere"))
    await world.delete(widget_path("top", ""))
    await world.gone(configmap_path("here"), configmap_path("there", "elsewhere"))


async def test_an_object_without_a_namespace_is_not_judged_by_an_owner_in_one(world: World) -> None:
    await world.definition(scope="Cluster")
    top = await world.configmap("top")
    await world.widget("wide", owner(top), namespace="")
    await world.delete(configmap_path("top"))
    await world.quiet()
    assert await world.find(widget_path("wide", ""))


async def test_an_owner_of_an_unknown_kind_is_waited_for(world: World) -> None:
    ref = {"apiVersion": "example.com/v1", "kind": "Widget", "name": "top", "uid": "never"}
    await world.configmap("leaf", ref)
    await world.quiet()
    assert await world.find(configmap_path("leaf"))
    await world.definition()
    await world.gone(configmap_path("leaf"))


async def test_custom_objects_own_and_are_owned(world: World) -> None:
    await world.definition()
    top = await world.widget("top")
    middle = await world.configmap("middle", owner(top))
    await world.widget("leaf", owner(middle))
    await world.delete(widget_path("top"))
    await world.gone(configmap_path("middle"), widget_path("leaf"))


async def test_a_foreground_owner_goes_after_what_blocks_it(world: World) -> None:
    top = await world.configmap("top")
    await world.configmap("leaf", owner(top, blocks=True), finalizers=[HOLD])
    await world.delete(configmap_path("top"), "Foreground")
    await world.terminating(configmap_path("leaf"))
    await world.quiet()
    assert await world.find(configmap_path("top"))
    await world.unhold(configmap_path("leaf"))
    await world.gone(configmap_path("leaf"), configmap_path("top"))


@pytest.mark.parametrize("blocks", [False, None])
async def test_a_foreground_owner_does_not_wait_for_what_does_not_block_it(world: World, blocks: bool | None) -> None:
    top = await world.configmap("top")
    await world.configmap("leaf", owner(top, blocks=blocks), finalizers=[HOLD])
    await world.delete(configmap_path("top"), "Foreground")
    await world.gone(configmap_path("top"))
    await world.terminating(configmap_path("leaf"))


async def test_a_dependent_that_stops_blocking_lets_its_owner_go(world: World) -> None:
    top = await world.configmap("top")
    await world.configmap("leaf", owner(top, blocks=True), finalizers=[HOLD])
    await world.delete(configmap_path("top"), "Foreground")
    await world.terminating(configmap_path("leaf"))
    await world.client.merge(configmap_path("leaf"), {"metadata": {"ownerReferences": [owner(top, blocks=False)]}})
    await world.gone(configmap_path("top"))


async def test_foreground_deletion_goes_down_the_tree_and_up_again(world: World) -> None:
    top = await world.configmap("top")
    middle = await world.configmap("middle", owner(top, blocks=True))
    await world.configmap("leaf", owner(middle, blocks=True), finalizers=[HOLD])
    await world.delete(configmap_path("top"), "Foreground")
    await world.terminating(configmap_path("leaf"))
    found = await world.client.get(configmap_path("middle"))
    assert found["metadata"]["finalizers"] == ["foregroundDeletion"]
    await world.unhold(configmap_path("leaf"))
    await world.gone(configmap_path("leaf"), configmap_path("middle"), configmap_path("top"))


async def test_a_foreground_owner_spares_what_another_owner_keeps(world: World) -> None:
    top, other = await world.configmap("top"), await world.configmap("other")
    await world.configmap("leaf", owner(top, blocks=True), owner(other))
    await world.delete(configmap_path("top"), "Foreground")
    await world.gone(configmap_path("top"))
    await world.owners(configmap_path("leaf"), "other")


async def test_a_circle_of_owners_can_be_deleted_in_the_foreground(world: World) -> None:
    first = await world.configmap("first")
    second = await world.configmap("second", owner(first, blocks=True))
    patch = {"metadata": {"ownerReferences": [owner(second, blocks=True)]}}
    await world.client.merge(configmap_path("first"), patch)
    await world.delete(configmap_path("first"), "Foreground")
    await world.gone(configmap_path("first"), configmap_path("second"))


async def test_orphaned_dependents_stay_without_the_reference(world: World) -> None:
    top, other = await world.configmap("top"), await world.configmap("other")
    await world.configmap("alone", owner(top))
    await world.configmap("shared", owner(top), owner(other))
    await world.delete(configmap_path("top"), "Orphan")
    await world.gone(configmap_path("top"))
    await world.owners(configmap_path("alone"))
    await world.owners(configmap_path("shared"), "other")


async def test_a_foreground_deletion_continues_after_a_restart(data: Path) -> None:
    async with open_plane(Settings(data=data, port=0)) as plane:
        world = World(plane.client)
        top = await world.configmap("top")
        await world.configmap("leaf", owner(top, blocks=True), finalizers=[HOLD])
        await world.configmap("idle", owner(top, blocks=True), finalizers=[HOLD])
        await world.delete(configmap_path("top"), "Foreground")
        await world.terminating(configmap_path("leaf"))
    async with open_plane(Settings(data=data, port=0, operators=frozenset())) as plane:
        await World(plane.client).unhold(configmap_path("leaf"))
        await World(plane.client).unhold(configmap_path("idle"))
    async with open_plane(Settings(data=data, port=0)) as plane:
        await World(plane.client).gone(configmap_path("leaf"), configmap_path("idle"), configmap_path("top"))


async def test_what_lost_its_owner_while_no_watch_was_open_is_deleted_at_the_start(data: Path) -> None:
    async with open_plane(Settings(data=data, port=0, operators=frozenset())) as plane:
        world = World(plane.client)
        top, kept = await world.configmap("top"), await world.configmap("kept")
        await world.configmap("leaf", owner(top))
        await world.configmap("stays", owner(kept))
        await world.delete(configmap_path("top"))
    async with open_plane(Settings(data=data, port=0)) as plane:
        world = World(plane.client)
        await world.gone(configmap_path("leaf"))
        await world.quiet()
        assert await world.find(configmap_path("stays"))


async def test_dependents_of_custom_objects_go_when_the_definition_does(world: World) -> None:
    path = await world.definition()
    top = await world.widget("top")
    await world.configmap("leaf", owner(top))
    await world.delete(path)
    await world.gone(path, configmap_path("leaf"))


async def test_objects_of_a_new_kind_are_collected(world: World) -> None:
    await world.definition()
    top = await world.configmap("top")
    await world.widget("leaf", owner(top))
    await world.delete(configmap_path("top"))
    await world.gone(widget_path("leaf"))


async def test_objects_of_a_definition_that_a_status_write_has_established_own_others(world: World) -> None:
    path = await world.definition()
    other = await world.client.get(path)
    names = {"plural": "gadgets", "singular": "gadget", "kind": "Widget", "listKind": "WidgetList"}
    late = {**other, "metadata": {"name": "gadgets.example.com"}, "spec": {**other["spec"], "names": names}}
    await world.client.create(CRDS, {**late, "status": None})
    await world.delete(path)
    await world.gone(path)
    await world.quiet()
    await world.client.merge(f"{CRDS}/gadgets.example.com/status", {"status": {"storedVersions": ["v1"]}})
    gadgets = "/apis/example.com/v1/namespaces/default/gadgets"
    gadget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "g"}}
    await world.configmap("a", owner(await world.client.create(gadgets, gadget)))
    await world.delete(f"{gadgets}/g")
    await world.gone(configmap_path("a"))


async def test_a_definition_gets_a_name_that_another_one_gives_up(world: World) -> None:
    path = await world.definition()
    other = await world.client.get(path)
    short = {**other["spec"]["names"], "shortNames": ["wd", "wdg"]}
    await world.client.merge(path, {"spec": {"names": {"shortNames": short["shortNames"]}}})
    names = {
        "plural": "gadgets",
        "singular": "gadget",
        "kind": "Gadget",
        "listKind": "GadgetList",
        "shortNames": ["wdg"],
    }
    late = {**other, "metadata": {"name": "gadgets.example.com"}, "spec": {**other["spec"], "names": names}}
    created = await world.client.create(CRDS, {**late, "status": None})
    assert "shortNames" not in created["status"]["acceptedNames"]
    await world.client.merge(path, {"spec": {"names": {"shortNames": ["wd"]}}})

    async def is_accepted() -> bool:
        status = (await world.client.get(f"{CRDS}/gadgets.example.com"))["status"]
        return bool(status["acceptedNames"].get("shortNames") == ["wdg"])

    await eventually(is_accepted)
