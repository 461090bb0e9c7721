"""Objects of a REST API are kept as declared, and never made twice."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from homeostat.client.base import Client
from homeostat.external.rest.client import RestClient
from homeostat.external.rest.errors import AddressRefusedError, ResponseLostError
from homeostat.objects.decision import Wait
from homeostat.operators.actions.dependencies import open_dependencies
from homeostat.operators.actions.plugins.http import HttpPlugin
from homeostat.operators.actions.plugins.plugin import ActionError
from homeostat.operators.actions.settings import ActionSettings
from tests.external.servers import serving
from tests.operators.actions.jobs import Desk, tools
from tests.operators.actions.real_plugin import Nowhere

TOKEN = "a-very-secret-token"


class Shelf:
    """An API of databases, which it names itself; it may lose its answers."""

    def __init__(self) -> None:
        self.items: dict[str, dict[str, Any]] = {}
        self.requests: list[str] = []
        self.keys: set[str] = set()
        self.loses = ""
        self.refuses: web.Response | None = None

    async def __call__(self, request: web.Request) -> web.StreamResponse:
        if request.headers.get("Authorization") != f"Bearer {TOKEN}":
            return web.Response(status=401, text=f"wrong: {request.headers.get('Authorization')}")
        self.requests.append(f"{request.method} {request.rel_url.raw_path}")
        if self.refuses is not None:
            return self.refuses
        answer = await self._answer(request)
        if request.method == self.loses:
            self.loses = ""
            assert request.transport is not None
            request.transport.close()
        return answer

    async def _answer(self, request: web.Request) -> web.Response:
        key = request.path.removeprefix("/databases").strip("/")
        match request.method:
            case "GET" if not key:
                return web.json_response({"items": list(self.items.values())})
            case "GET":
                return web.json_response(self.items[key]) if key in self.items else web.Response(status=404)
            case "POST":
                self.keys.add(request.headers["Idempotency-Key"])
                made = {**await request.json(), "id": f"id-{len(self.items) + 1}", "created": "today"}
                self.items[made["id"]] = made
                return web.json_response(made, status=201)
            case "PUT":
                self.items[key] = {**self.items[key], **await request.json()}
                return web.json_response(self.items[key])
            case _:
                self.items.pop(key, None)
                return web.Response(status=204)


@pytest.fixture
async def shelf() -> AsyncIterator[tuple[Shelf, str]]:
    handler = Shelf()
    async with serving(handler) as url:
        yield handler, url


@pytest.fixture
async def desk(shelf: tuple[Shelf, str], tmp_path: Path) -> AsyncIterator[Desk]:
    url = f"{shelf[1]}/databases"
    config = {
        "url": url,
        "item": f"{url}/${{outputs.id}}",
        "find": {"url": url, "items": "items", "field": "name", "value": "${name}"},
        "headers": {"Authorization": {"store": "env", "key": "TOKEN", "prefix": "Bearer "}},
        "body": {"name": "${name}", "size": "${spec.size}", "tags": "${spec.tags}"},
        "outputs": {"id": "id"},
    }
    async with RestClient() as http:
        yield Desk(HttpPlugin(tools(http)), config, tmp_path, TOKEN=TOKEN)


async def applied(desk: Desk, spec: dict[str, Any]) -> None:
    outcome = await HttpPlugin.apply(desk.plugin, desk.job(spec, "apply"))  # type: ignore[arg-type]
    desk.outputs = outcome.outputs or desk.outputs


def plugin(desk: Desk) -> HttpPlugin:
    assert isinstance(desk.plugin, HttpPlugin)
    return desk.plugin


async def test_what_is_missing_is_created_and_then_as_declared(shelf: tuple[Shelf, str], desk: Desk) -> None:
    plan = await plugin(desk).plan(desk.job({"size": 1}))
    assert (plan.is_changed, plan.changes.created) == (True, 1)
    await applied(desk, {"size": 1})
    assert shelf[0].items == {"id-1": {"name": "db", "size": 1, "id": "id-1", "created": "today"}}
    assert desk.outputs == {"id": "id-1"}
    seen = await plugin(desk).plan(desk.job({"size": 1}))
    assert (seen.is_changed, seen.outputs) == (False, {"id": "id-1"})


async def test_a_declared_field_that_differs_is_updated_and_others_are_kept(
    shelf: tuple[Shelf, str], desk: Desk
) -> None:
    await applied(desk, {"size": 1})
    shelf[0].items["id-1"]["owner"] = "somebody"
    plan = await plugin(desk).plan(desk.job({"size": 2}))
    assert plan.output == "size: 1 becomes 2"
    await applied(desk, {"size": 2})
    assert shelf[0].items["id-1"]["size"] == 2
    assert shelf[0].items["id-1"]["owner"] == "somebody"


async def test_drift_is_seen(shelf: tuple[Shelf, str], desk: Desk) -> None:
    await applied(desk, {"size": 1})
    shelf[0].items["id-1"]["size"] = 9
    assert (await plugin(desk).plan(desk.job({"size": 1}))).is_changed


async def test_a_creation_whose_answer_was_lost_is_not_repeated(shelf: tuple[Shelf, str], desk: Desk) -> None:
    shelf[0].loses = "POST"
    with pytest.raises(ResponseLostError):
        await applied(desk, {"size": 1})
    await applied(desk, {"size": 1})
    assert len(shelf[0].items) == 1
    assert desk.outputs == {"id": "id-1"}
    assert shelf[0].keys == {"u-1-1"}


async def test_what_was_made_is_deleted_once(shelf: tuple[Shelf, str], desk: Desk) -> None:
    await applied(desk, {"size": 1})
    for expected in ("deleted", "already deleted"):
        assert (await plugin(desk).destroy(desk.job({"size": 1}, "destroy"))).output == expected
    assert shelf[0].items == {}


async def test_a_refusal_is_reported_without_the_token(shelf: tuple[Shelf, str], desk: Desk) -> None:
    desk.secrets = type(desk.secrets)({"env": _Wrong()})
    with pytest.raises(ActionError, match="GET: HTTP 401") as error:
        await plugin(desk).plan(desk.job({"size": 1}))
    assert desk.secrets.scrub(str(error.value)).count("wrong-token") == 0


async def test_a_refusal_that_is_cut_shows_no_half_of_the_token(shelf: tuple[Shelf, str], desk: Desk) -> None:
    shelf[0].refuses = web.Response(status=400, text=f"{'x' * 292}{TOKEN}")
    with pytest.raises(ActionError) as error:
        await plugin(desk).plan(desk.job({"size": 1}))
    assert TOKEN[:8] not in str(error.value)


class _Wrong:
    async def get_secret(self, key: str) -> str:
        return "wrong-token"


async def test_the_operator_calls_no_metadata_service(tmp_path: Path) -> None:
    async with open_dependencies(Client(Nowhere()), {}, tmp_path, ActionSettings()) as dependencies:
        http = dependencies.plugins.get("http")
        config = {"url": "http://2852039166/latest", "item": "http://[::ffff:169.254.169.254]/latest"}
        with pytest.raises(AddressRefusedError):
            await http.plan(Desk(http, config, tmp_path).job({"size": 1}))


async def test_a_retry_after_is_followed(shelf: tuple[Shelf, str], desk: Desk) -> None:
    shelf[0].refuses = web.Response(status=429, headers={"Retry-After": "17"})
    with pytest.raises(Wait) as wait:
        await plugin(desk).plan(desk.job({"size": 1}))
    assert wait.value.after.total_seconds() == 17


async def test_two_of_a_name_are_nobodys(shelf: tuple[Shelf, str], desk: Desk) -> None:
    shelf[0].items = {"a": {"name": "db", "id": "a"}, "b": {"name": "db", "id": "b"}}
    with pytest.raises(ActionError, match="2 objects have name = db"):
        await plugin(desk).plan(desk.job({"size": 1}))


async def test_a_value_cannot_leave_its_place_in_an_address(shelf: tuple[Shelf, str], desk: Desk) -> None:
    desk.outputs = {"id": "../../admin?x=1"}
    await plugin(desk).plan(desk.job({"size": 1}))
    assert shelf[0].requests == ["GET /databases/..%2F..%2Fadmin%3Fx=1"]


async def test_secrets_are_sent_and_not_compared(shelf: tuple[Shelf, str], desk: Desk) -> None:
    desk.config = {**desk.config, "secrets": {"password": {"key": "TOKEN"}}}
    await applied(desk, {"size": 1})
    assert shelf[0].items["id-1"]["password"] == TOKEN
    del shelf[0].items["id-1"]["password"]
    assert (await plugin(desk).plan(desk.job({"size": 1}))).is_changed is False
