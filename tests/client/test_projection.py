"""Objects seen through a struct of the fields one needs, over every transport and on a real cluster."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import msgspec
import pytest

from homeostat.client.base import Client
from homeostat.client.projection import Bookmark, Changed, Projection, ProjectionError
from homeostat.client.requests import Selection, Writing
from homeostat.objects.errors import (
    AlreadyExistsError,
    BadRequestError,
    ConflictError,
    InternalError,
    InvalidError,
    NotFoundError,
)
from homeostat.objects.kind import CONFIG_MAP, DEPLOYMENT, EVENT, LEASE, NAMESPACE


class Metadata(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    name: str
    resource_version: str = ""
    uid: str = ""
    labels: dict[str, str] = {}


class Map(msgspec.Struct, frozen=True):
    metadata: Metadata
    data: dict[str, str] = {}


class Container(msgspec.Struct, frozen=True):
    name: str
    image: str


class PodSpec(msgspec.Struct, frozen=True):
    containers: list[Container]


class Template(msgspec.Struct, frozen=True):
    spec: PodSpec


class DeploymentSpec(msgspec.Struct, frozen=True):
    template: Template


class DeploymentStatus(msgspec.Struct, frozen=True, rename="camel"):
    observed_generation: int = 0


class Deployment(msgspec.Struct, frozen=True):
    metadata: Metadata
    spec: DeploymentSpec
    status: DeploymentStatus = DeploymentStatus()


class LeaseSpec(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    holder_identity: str = ""
    lease_transitions: int = 0
    renew_time: str | None = None


class Lease(msgspec.Struct, frozen=True):
    metadata: Metadata
    spec: LeaseSpec = LeaseSpec()


class Wrong(msgspec.Struct, frozen=True):
    metadata: Metadata
    data: int


@pytest.fixture
def maps(client: Client) -> Projection[Map]:
    return Projection(client, CONFIG_MAP, Map)


def deployment(image: str) -> dict[str, object]:
    containers = [
        {"name": "log", "image": "log:1", "args": ["-v"]},
        {"name": "web", "image": image, "ports": [{"containerPort": 80}]},
    ]
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": containers}}
    spec = {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    return {"metadata": {"name": "web"}, "spec": spec}


async def test_what_is_created_is_read_back_as_the_struct(maps: Projection[Map], home: str) -> None:
    made = await maps.create(Map(Metadata("a"), {"x": "1"}), home)
    assert made.metadata.resource_version
    assert await maps.get("a", home) == made
    with pytest.raises(AlreadyExistsError):
        await maps.create(Map(Metadata("a")), home)
    with pytest.raises(NotFoundError):
        await maps.get("b", home)


async def test_a_list_goes_through_all_pages(maps: Projection[Map], home: str) -> None:
    for name in "abcde":
        await maps.create(Map(Metadata(name, labels={"odd": "yes" if name in "ace" else "no"})), home)
    chosen = Selection(home, labels="odd=yes")
    assert [each.metadata.name async for each in maps.list(chosen, limit=1)] == ["a", "c", "e"]
    everything = [page async for page in maps.pages(Selection(home), limit=2)]
    assert {page.version for page in everything} == {everything[0].version}
    assert [each.metadata.name for page in everything for each in page.items if len(each.metadata.name) == 1] == [
        *"abcde"
    ]


async def test_a_watch_delivers_changes_in_order_and_ends(maps: Projection[Map], home: str) -> None:
    first = await maps.create(Map(Metadata("a")), home)
    await maps.patch({"data": {"x": "1"}}, "a", home)
    await maps.delete("a", home)
    chosen = Selection(home, fields="metadata.name=a")
    events = maps.watch(chosen, version=first.metadata.resource_version, timeout_s=1)
    seen = [event async for event in events]
    changes = [(each.type, each.obj.data) for each in seen if isinstance(each, Changed)]
    assert changes == [("MODIFIED", {"x": "1"}), ("DELETED", {"x": "1"})]


async def test_a_watch_may_begin_with_the_state(maps: Projection[Map], home: str) -> None:
    made = await maps.create(Map(Metadata("a")), home)
    chosen = Selection(home, fields="metadata.name=a")
    async with asyncio.timeout(30), aclosing(maps.watch(chosen, has_initial=True)) as events:
        assert await anext(events) == Changed("ADDED", made)
        end = await anext(events)
    assert isinstance(end, Bookmark)
    assert end.is_initial_end
    assert int(end.version) >= int(made.metadata.resource_version)


async def test_a_watch_from_no_version_is_refused(maps: Projection[Map], home: str) -> None:
    # Real servers call it a fault of their own.
    with pytest.raises((BadRequestError, InternalError)):
        await anext(maps.watch(Selection(home), version="nonsense"))


async def test_an_edit_keeps_what_the_struct_does_not_name(client: Client, home: str) -> None:
    deployments = Projection(client, DEPLOYMENT, Deployment)
    await deployments.create(deployment("web:1"), home)
    before = await client.get(DEPLOYMENT.path(home, "web"))

    def upgrade(old: Deployment) -> Deployment:
        log, web = old.spec.template.spec.containers
        containers = [log, msgspec.structs.replace(web, image="web:2")]
        return msgspec.structs.replace(old, spec=DeploymentSpec(Template(PodSpec(containers))))

    await deployments.edit("web", home, change=upgrade)
    after = await client.get(DEPLOYMENT.path(home, "web"))
    before["spec"]["template"]["spec"]["containers"][1]["image"] = "web:2"
    assert after["spec"] == before["spec"]


async def test_an_edit_that_changes_nothing_writes_nothing(maps: Projection[Map], home: str) -> None:
    made = await maps.create(Map(Metadata("a")), home)
    assert await maps.edit("a", home, change=lambda old: old) == made


async def test_an_edit_loses_to_a_quicker_one(client: Client, maps: Projection[Map], home: str) -> None:
    made = await maps.create(Map(Metadata("a")), home)
    newer = await maps.patch({"data": {"x": "1"}}, "a", home)
    assert newer.metadata.resource_version != made.metadata.resource_version

    def behind(old: Map) -> Map:
        return msgspec.structs.replace(old, metadata=made.metadata, data={})

    with pytest.raises(ConflictError):
        await maps.edit("a", home, change=behind)


async def test_the_status_is_written_apart(client: Client, home: str) -> None:
    deployments = Projection(client, DEPLOYMENT, Deployment)
    await deployments.create(deployment("web:1"), home)
    patched = await deployments.patch({"status": {"observedGeneration": 1}}, "web", home, subresource="status")
    assert patched.status.observed_generation == 1

    def observe(old: Deployment) -> Deployment:
        return msgspec.structs.replace(old, status=DeploymentStatus(2))

    assert (await deployments.edit("web", home, change=observe)).status.observed_generation == 1
    edited = await deployments.edit("web", home, change=observe, subresource="status")
    assert edited.status.observed_generation == 2


async def test_patches_come_in_three_forms(maps: Projection[Map], home: str) -> None:
    me = Writing("me")
    applied = await maps.patch({"data": {"x": "1"}}, "a", home, form="apply", writing=me)
    assert applied.data == {"x": "1"}
    operations = [{"op": "add", "path": "/data/y", "value": "2"}]
    assert (await maps.patch(operations, "a", home, form="json")).data == {"x": "1", "y": "2"}
    assert (await maps.patch({"data": {"y": None}}, "a", home)).data == {"x": "1"}
    with pytest.raises(ConflictError):
        await maps.patch({"data": {"x": "9"}}, "a", home, form="apply", writing=Writing("other"))
    forced = Writing("other", is_forced=True)
    assert (await maps.patch({"data": {"x": "9"}}, "a", home, form="apply", writing=forced)).data == {"x": "9"}


async def test_applied_fields_are_kept_apart_from_those_of_others(maps: Projection[Map], home: str) -> None:
    made = await maps.apply({"data": {"x": "1", "y": "1"}}, "a", home, manager="me")
    assert (made.metadata.name, made.data) == ("a", {"x": "1", "y": "1"})
    labels = {"metadata": {"labels": {"app": "web"}}, "data": {"z": "3"}}
    other = await maps.apply(labels, "a", home, manager="other")
    assert (other.metadata.labels, other.data) == ({"app": "web"}, {"x": "1", "y": "1", "z": "3"})
    # What a manager no longer says goes, and nothing else does.
    assert (await maps.apply({"data": {"x": "1"}}, "a", home, manager="me")).data == {"x": "1", "z": "3"}
    with pytest.raises(ConflictError):
        await maps.apply({"data": {"x": "9"}}, "a", home, manager="other", is_forced=False)
    assert (await maps.apply({"data": {"x": "9"}}, "a", home, manager="other")).data == {"x": "9"}


async def test_a_dry_run_leaves_nothing(maps: Projection[Map], home: str) -> None:
    await maps.create(Map(Metadata("a")), home, writing=Writing(is_dry_run=True))
    with pytest.raises(NotFoundError):
        await maps.get("a", home)


async def test_a_deletion_meets_only_the_object_it_means(maps: Projection[Map], home: str) -> None:
    made = await maps.create(Map(Metadata("a")), home)
    with pytest.raises(ConflictError):
        await maps.delete("a", home, uid="another")
    await maps.patch({"data": {"x": "1"}}, "a", home)
    with pytest.raises(ConflictError):
        await maps.delete("a", home, version=made.metadata.resource_version)
    await maps.delete("a", home, uid=made.metadata.uid, propagation="Background")
    with pytest.raises(NotFoundError):
        await maps.get("a", home)


async def test_a_selection_is_deleted_at_once(maps: Projection[Map], home: str) -> None:
    for name in "abc":
        await maps.create(Map(Metadata(name, labels={"keep": "yes" if name == "b" else "no"})), home)
    await maps.delete_all(Selection(home, labels="keep=no"))
    assert [each.metadata.name async for each in maps.list(Selection(home, labels="keep"))] == ["b"]


async def test_a_lease_is_an_object_like_any(client: Client, home: str) -> None:
    leases = Projection(client, LEASE, Lease)
    moment = "2026-01-02T03:04:05.000006Z"
    await leases.create(Lease(Metadata("lock"), LeaseSpec("a", 0, moment)), home)
    taken = await leases.edit(
        "lock", home, change=lambda old: msgspec.structs.replace(old, spec=LeaseSpec("b", 1, moment))
    )
    assert taken.spec == LeaseSpec("b", 1, moment)


async def test_an_event_is_an_object_like_any(client: Client, home: str) -> None:
    events = Projection(client, EVENT, Map)
    made = {
        "metadata": {"name": "web.1"},
        "eventTime": "2026-01-02T03:04:05.000006Z",
        "reportingController": "homeostat.dev/test",
        "reportingInstance": "one",
        "action": "Push",
        "reason": "Pushed",
        "type": "Normal",
        "note": "pushed",
        "regarding": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "namespace": home},
    }
    assert (await events.create(made, home)).metadata.name == "web.1"


async def test_errors_are_of_the_shared_tree(client: Client) -> None:
    namespaces = Projection(client, NAMESPACE, Map)
    with pytest.raises(InvalidError) as caught:
        await namespaces.create(Map(Metadata("Not A Name")))
    assert caught.value.causes[0].field == "metadata.name"


async def test_an_object_that_is_unreadable_is_reported_with_its_field(
    client: Client, maps: Projection[Map], home: str
) -> None:
    made = await maps.create(Map(Metadata("a"), {"x": "1"}), home)
    wrong = Projection(client, CONFIG_MAP, Wrong)
    with pytest.raises(ProjectionError, match=r"configmap does not match Wrong: .*\$\.data"):
        await wrong.get("a", home)
    with pytest.raises(ProjectionError):
        await anext(wrong.list(Selection(home)))
    version = str(int(made.metadata.resource_version) - 1)
    with pytest.raises(ProjectionError):
        await anext(wrong.watch(Selection(home), version=version))
