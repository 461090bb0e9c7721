"""The REST API beside a real API server, with the operator in the same process: as on a plane."""

from __future__ import annotations

from collections.abc import AsyncIterator

import aiohttp
import pytest

from homeostat.operators import actions
from homeostat.operators.actions.plugins.catalog import ACTIONS
from homeostat.runtime.faces.private import NamespaceSecrets
from homeostat.runtime.installation import install
from homeostat.runtime.manager import Manager
from homeostat.testing.eventually import eventually
from homeostat.web.actions.access import KINDS as FACE_KINDS
from tests.cluster.fixtures import Api as Server
from tests.web.actions.calling import NOTE_TYPE, Api, note
from tests.web.actions.shelf import ShelfPlugin, World
from tests.web.rest import serve_rest

NAME = "RestNote"
"""The cluster is everybody's: no other test has a type of this name."""


@pytest.fixture
def shelf(monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setitem(ACTIONS, "shelf", "tests.web.actions.shelf:ShelfPlugin")
    monkeypatch.setattr(ShelfPlugin, "world", World())
    return ShelfPlugin.world


@pytest.fixture
async def rest(real_api: Server, shelf: World) -> AsyncIterator[Api]:
    client, namespace = real_api.client, real_api.namespace
    await install(client, (*actions.KINDS, *FACE_KINDS))
    manager = Manager(client, namespace=namespace, environment={})
    manager.add("actions", actions.register)
    private = NamespaceSecrets(client, namespace)
    async with (
        manager.running(),
        serve_rest(client, private, namespace=namespace, environment={}, is_open=True) as server,
        aiohttp.ClientSession() as session,
    ):
        api = Api(session, f"http://127.0.0.1:{server.port}")
        await eventually(lambda: api.get("/resource-types"), lambda answer: answer.status == 200)
        yield api


async def test_a_type_and_a_resource_live_and_go(rest: Api, shelf: World) -> None:
    declared = await rest.made("/resource-types", {**NOTE_TYPE, "name": NAME})
    made = await rest.post("/resources", note("one", resource_type_name=NAME, metadata={"team": "a"}))
    assert (made.status, made.body["spec"], made.body["metadata"]) == (201, {"text": "hello", "size": 3}, {"team": "a"})
    number = made.body["id"]
    await rest.becomes(number, "ready")
    path = f"/resources/by-name/{NAME}/v1/one"
    seen = await rest.get(path)
    assert (await rest.put(path, {"spec": {"text": "hello"}})).etag == seen.etag
    assert (await rest.post("/resources", note("one", resource_type_name=NAME))).status == 409
    assert (await rest.put(f"/resources/{number}", {"spec": {"size": 0}})).status == 400
    assert (await rest.put(f"/resources/{number}", {"spec": {"text": "b"}}, If_Match=seen.etag)).status == 200
    assert (await rest.put(f"/resources/{number}", {"spec": {"text": "c"}}, If_Match=seen.etag)).status == 412
    await rest.becomes(number, "ready")
    assert shelf.things == {"one": {"text": "b", "size": 3}}
    assert (await rest.delete(f"/resource-types/{declared['id']}")).status == 409
    assert [each["name"] for each in (await rest.get("/resources")).body] == ["one"]
    assert (await rest.delete(f"/resources/{number}")).status == 202
    await rest.is_gone(number)
    reasons = [each["trigger_reason"] for each in (await rest.get(f"/resources/{number}/history")).body]
    assert reasons == ["deletion", "spec_change", "initial"]
    assert (await rest.delete(f"/resource-types/{declared['id']}")).status == 204
    assert (await rest.get(f"/resource-types/{declared['id']}")).status == 404
