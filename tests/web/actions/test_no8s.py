"""Clients of no8s-operator get the answers that they rely on: requests and answers of `no8s.yaml`."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import aiohttp
import jwt
import pytest

from homeostat.client.base import Client
from homeostat.objects import yaml
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import LEASE
from homeostat.runtime.faces.private import NamespaceSecrets
from homeostat.runtime.installation import install
from homeostat.testing.eventually import eventually
from homeostat.web.actions.access import KINDS
from homeostat.web.actions.bodies import spec_hash
from homeostat.web.actions.heartbeat import Heartbeat
from tests.web.actions.calling import NOTE_TYPE, Answer, Api, note
from tests.web.actions.listening import listening
from tests.web.actions.pages.test_nodes import NOW
from tests.web.faces import ADMIN
from tests.web.rest import serve_rest

KEY = "k" * 32
_REQUESTS: Final = next(iter(yaml.load_all((Path(__file__).parent / "no8s.yaml").read_bytes())))
_is_time = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z").fullmatch


@pytest.fixture
async def rest(client: Client) -> AsyncIterator[Api]:
    await install(client, KINDS)
    environment = {**ADMIN, "JWT_SECRET_KEY": KEY}
    private = NamespaceSecrets(client, "kube-system")
    async with (
        serve_rest(client, private, namespace="default", environment=environment, is_open=False) as server,
        aiohttp.ClientSession() as session,
    ):
        yield Api(session, f"http://127.0.0.1:{server.port}")


class Callers:
    """Logs everybody in when they first ask."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._tokens: dict[str, str] = {}

    async def ask(self, who: str, method: str, path: str, body: Any = None) -> Answer:
        if who == "nobody":
            return await self._api.call(method, path, body)
        if who not in self._tokens:
            form = {"username": who, "password": "correct horse"}
            self._tokens[who] = (await self._api.post("/auth/login", form)).body["access_token"]
        return await self._api.call(method, path, body, Authorization=f"Bearer {self._tokens[who]}")


async def test_requests_get_the_answers_of_no8s(rest: Api) -> None:
    callers = Callers(rest)
    for at, entry in enumerate(_REQUESTS):
        who, sent = entry.get("as", "admin"), entry["send"]
        where = f"{at}: {who} {sent[0]} {sent[1]}"

        async def ask(who: str = who, sent: list[Any] = sent) -> Answer:
            return await callers.ask(who, *sent)

        answer = await (eventually(ask, _reached(entry["until"])) if "until" in entry else ask())
        assert answer.status == entry["status"], (where, answer.body)
        if "body" in entry:
            assert_has(answer.body, entry["body"], where)
        if "begins" in entry:
            assert answer.body["detail"].startswith(entry["begins"]), (where, answer.body)
        assert not [name for name in entry.get("absent", ()) if name in answer.body], where


def _reached(state: str) -> Any:
    if state == "destroyed":
        return lambda answer: answer.body["finalizers"] == ["external"]
    return lambda answer: (
        answer.body["status"] == state and any(each["status"] == "True" for each in answer.body["conditions"])
    )


def assert_has(found: Any, wanted: Any, where: str) -> None:
    match wanted:
        case "<any>":
            return
        case "<text>":
            assert found != "", where
            assert isinstance(found, str), where
        case "<time>":
            assert _is_time(str(found)), (where, found)
        case dict():
            for name, value in wanted.items():
                assert name in found, (where, name, found)
                assert_has(found[name], value, f"{where} .{name}")
        case list():
            assert len(found) >= len(wanted), (where, found)
            assert bool(found) == bool(wanted), (where, found)
            for one, other in zip(found, wanted, strict=False):
                assert_has(one, other, f"{where} []")
        case _:
            assert found == wanted, (where, found, wanted)


async def test_a_token_of_no8s_is_valid_although_it_does_not_say_when_it_was_issued(rest: Api) -> None:
    assert (await rest.post("/auth/login", {"username": "admin", "password": "correct horse"})).status == 200
    claims = {"sub": "1", "username": "admin", "is_admin": True, "source": "manual", "custom_role_id": None}
    token = jwt.encode({**claims, "exp": int(time.time()) + 60}, KEY, "HS256")
    headers = {"Authorization": f"Bearer {token}"}
    assert (await rest.get("/users", **headers)).status == 200
    # A new password revokes all tokens from before, and this one may be from before.
    assert (await rest.put("/users/1", {"password": "another horse"}, **headers)).status == 200
    assert (await rest.get("/users", **headers)).status == 401
    expired = jwt.encode({**claims, "exp": int(time.time()) - 60}, KEY, "HS256")
    answer = await rest.get("/users", Authorization=f"Bearer {expired}")
    assert (answer.status, answer.body["detail"].startswith("Token has expired")) == (401, True)


async def test_an_event_has_the_hash_of_the_spec(served: Api) -> None:
    async with listening(served.url, "/events") as events:
        await served.made("/resources", note("one", "hello"))
        data = (await events.next()).data["resource_data"]
    # From a shell: printf '{"size": 3, "text": "hello"}' | sha256sum
    assert data["spec_hash"] == "ad6ee9f108279fed8aaef4a95a693b32edb96f53ec0d5d302b73d87a1fb52604"


def test_the_hash_of_a_spec_does_not_depend_on_the_order_of_keys() -> None:
    # From a shell: printf '{"key": "value", "number": 42}' | sha256sum
    known = "cb8ae809def24febd91f2e04ec52a326e7f4c4b428e49ce0956482373d70edfa"
    large = json.dumps({"a": ["x"] * 10_000}, separators=(",", ":")).encode()
    assert spec_hash(large) == hashlib.sha256(json.dumps(json.loads(large), sort_keys=True).encode()).hexdigest()
    one, other = spec_hash(b'{"key":"value","number":42}'), spec_hash(b'{"number":42,"key":"value"}')
    assert (one, len(one)) == (other, 64)
    assert one == known
    assert one != spec_hash(b'{"key":"different"}')


async def test_the_page_of_the_api_has_both_names_of_fastapi(rest: Api) -> None:
    async with aiohttp.ClientSession() as session:
        for path in ("/docs", "/redoc"):
            async with session.get(f"{rest.url}{path}") as answer:
                assert (answer.status, answer.content_type) == (200, "text/html"), path


async def test_types_whose_names_differ_in_separators_or_capitals_only_do_not_share_resources(api: Api) -> None:
    names = ("my-db", "my_db", "MyDb", "mydb")
    for name in names:
        await api.made("/resource-types", {**NOTE_TYPE, "name": name})
        await api.made("/resources", note("one", name, resource_type_name=name))
    for name in names:
        found = (await api.get(f"/resources/by-name/{name}/v1/one")).body
        assert (found["resource_type_name"], found["spec"]["text"]) == (name, name)
        listed = (await api.get(f"/resources?resource_type_name={name}")).body
        assert [each["resource_type_name"] for each in listed] == [name]
        await api.becomes(found["id"], "ready")
    await api.made("/resource-types", {**NOTE_TYPE, "name": "my_db", "version": "v2"})
    await api.made("/resources", note("two", resource_type_name="my_db", resource_type_version="v2"))


class Clock:
    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        return self.now


async def test_processes_that_wait_for_leadership_are_nodes_too(client: Client) -> None:
    await client.create("/api/v1/namespaces", {"metadata": {"name": "own"}})
    clock = Clock()
    crashed, standby = (
        Heartbeat(client, namespace="own", identity=lambda node=node: f"host_{node}/1", now=clock)  # type: ignore[misc]
        for node in ("crashed", "standby")
    )
    assert await crashed.beat()
    clock.now += timedelta(days=2)
    assert await standby.beat()
    assert not await standby.beat()
    assert [each["status"] for each in await nodes(client)] == ["NotReady", "Ready"]
    await standby.sweep()
    (node,) = await nodes(client)
    assert (node["node_id"], node["role"], node["pid"].isdecimal()) == ("host_standby", "follower", True)
    await standby.end()
    assert await nodes(client) == []


async def nodes(client: Client) -> list[JsonObject]:
    from homeostat.web.actions.pages.nodes import nodes_body, read_leases

    leases = read_leases(await client.fetch("GET", LEASE.path("own")))
    found: list[JsonObject] = nodes_body(leases, identity="", now=datetime(2026, 1, 4, 3, 4, 6, tzinfo=UTC))["nodes"]
    return found
