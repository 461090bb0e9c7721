"""A version of a type can go, also one that resources were stored in; on a plane and beside a real cluster."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from homeostat.client.base import Client, Response, Transport
from homeostat.objects.declared import Metadata
from homeostat.objects.errors import ConflictError, NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.operators.actions.api import KINDS, RESOURCE_TYPE, ResourceType, ResourceTypeSpec
from homeostat.operators.actions.types.migration import migrate
from homeostat.operators.actions.types.operator import TypeOperator
from homeostat.plane import Settings, open_plane
from homeostat.runtime.control.reconcile import Options
from homeostat.runtime.installation import install
from homeostat.runtime.manager import Manager
from homeostat.runtime.setup import Setup
from homeostat.testing.eventually import eventually
from homeostat.testing.status import condition_of
from tests.cluster.fixtures import Api

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GROUP = "/apis/resources.homeostat.dev"
SCHEMA = {"required": ["size"], "properties": {"size": {"type": "integer"}}}


class Kit:
    """A type of several versions that nobody else on the server has."""

    def __init__(self, api: Api) -> None:
        self.client, self.namespace = api.client, api.namespace
        self.kind = "T" + api.namespace.replace("-", "").lower()
        self.plural = f"{self.kind.lower()}s"

    async def declare(self, version: str, **spec: Any) -> None:
        given = {"name": self.kind, "version": version, "schema": SCHEMA, **spec}
        metadata = {"name": f"{self.kind.lower()}-{version}"}
        body = {"apiVersion": "homeostat.dev/v1alpha1", "kind": "ResourceType", "metadata": metadata, "spec": given}
        await self.client.create(RESOURCE_TYPE.kind.path(""), body)
        await self.ready(version)

    def type_path(self, version: str) -> str:
        return RESOURCE_TYPE.kind.path("", f"{self.kind.lower()}-{version}")

    async def ready(self, version: str) -> None:
        await eventually(
            lambda: self.client.get(self.type_path(version)),
            lambda obj: condition_of(obj, "Ready").get("status") == "True",
        )

    def path(self, version: str, name: str = "") -> str:
        return f"{GROUP}/{version}/namespaces/{self.namespace}/{self.plural}" + (f"/{name}" if name else "")

    async def make(self, version: str, name: str) -> None:
        body = {
            "apiVersion": f"resources.homeostat.dev/{version}",
            "kind": self.kind,
            "metadata": {"name": name},
            "spec": {"size": 1},
        }
        # A cluster serves a new version some moments after it was asked to.
        await eventually(lambda: self._create(version, body))

    async def _create(self, version: str, body: JsonObject) -> bool:
        try:
            await self.client.create(self.path(version), body)
        except NotFoundError:
            return False
        return True

    async def definition(self) -> JsonObject:
        return await self.client.get(f"{DEFINITIONS}/{self.plural}.resources.homeostat.dev")

    async def delete(self, version: str) -> None:
        await self.client.delete(self.type_path(version))

    async def gone(self, version: str) -> None:
        async def is_gone() -> bool:
            try:
                await self.client.get(self.type_path(version))
            except NotFoundError:
                return True
            return False

        await eventually(is_gone, within_s=30)

    async def versions(self) -> tuple[list[str], list[str]]:
        """Those that there are, and those that may be stored."""
        found = await self.definition()
        return [each["name"] for each in found["spec"]["versions"]], found["status"]["storedVersions"]


def register(setup: Setup) -> None:
    types = setup.watch(RESOURCE_TYPE.kind, ResourceType)
    operator = TypeOperator(setup.client, lambda: types.cache, settle_s=0.5)
    setup.control(RESOURCE_TYPE.kind, ResourceType, operator, Options(finalizer="homeostat.dev/definition"))


@pytest.fixture
async def kit(api: Api) -> AsyncIterator[Kit]:
    await install(api.client, KINDS)
    manager = Manager(api.client)
    manager.add("types", register)
    async with manager.running():
        yield Kit(api)


@pytest.fixture
async def started_plane(data: Path) -> AsyncIterator[Client]:
    async with open_plane(Settings(data=data, port=0, operators=frozenset())) as plane:
        await install(plane.client, KINDS)
        yield plane.client


@pytest.mark.parametrize(("goes", "stays"), [("v1beta1", "v1"), ("v1", "v1beta1")])
async def test_a_version_that_was_stored_can_go(kit: Kit, goes: str, stays: str) -> None:
    await kit.declare("v1beta1")
    await kit.make("v1beta1", "old")
    await kit.declare("v1")
    await kit.make("v1", "new")
    assert await kit.versions() == (["v1", "v1beta1"], ["v1beta1", "v1"])
    await kit.delete(goes)
    await kit.gone(goes)
    assert await kit.versions() == ([stays], [stays])
    for name in ("old", "new"):
        obj = await kit.client.get(kit.path(stays, name))
        assert (obj["apiVersion"], obj["spec"]) == (f"resources.homeostat.dev/{stays}", {"size": 1})
    await kit.client.merge(kit.type_path(stays), {"spec": {"description": "sizes"}})
    await eventually(
        lambda: kit.client.get(kit.type_path(stays)),
        lambda obj: obj.get("status", {}).get("observedGeneration") == obj["metadata"]["generation"],
    )
    await kit.ready(stays)


async def test_what_does_not_match_the_version_that_stays_is_named_and_kept(kit: Kit) -> None:
    await kit.declare("v1")
    await kit.make("v1", "fits")
    await kit.declare("v2", schema={"properties": {"size": {"type": "integer"}, "name": {"type": "string"}}})
    body = {"apiVersion": "resources.homeostat.dev/v2", "kind": kit.kind, "metadata": {"name": "not"}, "spec": {}}
    await eventually(lambda: kit._create("v2", body))
    await kit.delete("v2")
    obj = await eventually(
        lambda: kit.client.get(kit.type_path("v2")),
        lambda obj: condition_of(obj, "Reconciling").get("reason") == "Incompatible",
        within_s=30,
    )
    assert f"{kit.namespace}/not" in condition_of(obj, "Reconciling")["message"]
    assert (await kit.versions())[1] == ["v1", "v2"]
    await kit.client.delete(kit.path("v1", "not"))
    await kit.client.merge(kit.type_path("v2"), {"metadata": {"labels": {"look": "again"}}})
    await kit.gone("v2")
    assert await kit.versions() == (["v1"], ["v1"])


class KilledError(Exception):
    """The process that was looking is gone."""


class Mortal:
    """Dies at a write: before it is sent, or after the server has it."""

    def __init__(self, inner: Transport, dies_at: int, *, is_sent: bool) -> None:
        self._inner, self._dies_at, self._is_sent = inner, dies_at, is_sent
        self.writes = 0

    async def send(self, method: str, path: str, **rest: Any) -> Response:
        if method == "GET":
            return await self._inner.send(method, path, **rest)
        self.writes += 1
        if self.writes != self._dies_at:
            return await self._inner.send(method, path, **rest)
        if self._is_sent:
            await self._inner.send(method, path, **rest)
        raise KilledError

    async def stream(self, path: str, **rest: Any) -> Response | AsyncIterator[bytes]:
        return await self._inner.stream(path, **rest)


async def look_until_settled(client: Client, types: list[ResourceType], going: ResourceType) -> None:
    """As one process: what it knows is lost with it."""
    operator = TypeOperator(client, lambda: types, settle_s=0.0)
    for _ in range(10):
        decision = operator.decide(going, await operator.observe(going))
        if decision.is_settled:
            return
        for action in decision.actions:
            await operator.act(going, action)
    raise AssertionError("it does not come to an end")


@pytest.mark.parametrize("is_sent", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("dies_at", range(1, 8))
async def test_whoever_comes_after_a_crash_continues(started_plane: Client, dies_at: int, is_sent: bool) -> None:
    client = started_plane
    kit = Kit(Api(client, Path(), "default"))
    one, two = (_declared(kit.kind, version) for version in ("v1", "v2"))
    for types in ([one], [one, two]):
        await look_until_settled(client, types, types[-1])
        await kit.make(types[-1].spec.version, f"in-{types[-1].spec.version}")
    going = [one, _declared(kit.kind, "v2", is_going=True)]
    mortals: list[Mortal] = []

    def wrap(inner: Transport) -> Mortal:
        mortals.append(Mortal(inner, dies_at, is_sent=is_sent))
        return mortals[0]

    try:
        await look_until_settled(client.over(wrap), going, going[1])
    except* KilledError:
        await look_until_settled(client, going, going[1])
    assert await kit.versions() == (["v1"], ["v1"])
    assert [each["metadata"]["name"] for each in (await client.get(kit.path("v1")))["items"]] == ["in-v1", "in-v2"]
    assert mortals[0].writes >= min(dies_at, 5)


async def test_a_definition_that_changed_meanwhile_is_not_migrated(started_plane: Client) -> None:
    kit = Kit(Api(started_plane, Path(), "default"))
    one, two = (_declared(kit.kind, version) for version in ("v1", "v2"))
    for types in ([one], [one, two]):
        await look_until_settled(started_plane, types, types[-1])
    found = await kit.definition()
    await look_until_settled(started_plane, [_declared(kit.kind, "v1", description="another"), two], two)
    with pytest.raises(ConflictError, match="changed while its resources were migrated"):
        await migrate(started_plane, found)
    assert (await kit.versions())[1] == ["v1", "v2"]


def _declared(kind: str, version: str, *, is_going: bool = False, description: str = "") -> ResourceType:
    gone = "2026-01-02T00:00:00Z" if is_going else None
    metadata = Metadata(version, uid=version, creation_timestamp="2026-01-01T00:00:00Z", deletion_timestamp=gone)
    spec = ResourceTypeSpec(name=kind, version=version, schema=SCHEMA, description=description)
    return ResourceType(metadata=metadata, spec=spec)
