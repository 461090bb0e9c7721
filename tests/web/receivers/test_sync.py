"""Hostile webhooks of repositories: replays, patterns and refs that take long, secrets that prove nothing."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from homeostat.edge.routes import Routes
from homeostat.edge.server import serve
from homeostat.objects.json import JsonObject
from homeostat.operators import sync
from homeostat.operators.sync.api.repository import RESOURCE_REPOSITORY
from homeostat.operators.sync.api.webhook import HOOKS, REPOSITORY_WEBHOOK
from homeostat.plane import Plane, Settings, open_plane
from homeostat.runtime.installation import install
from homeostat.web.kit.answering import answered
from homeostat.web.receivers.receiver import BURST
from homeostat.web.receivers.sync import SyncReceiver
from tests.holds import measured_turns

SECRET = "a secret of some length"


class Hooks:
    def __init__(self, plane: Plane, session: aiohttp.ClientSession) -> None:
        self._plane, self._session = plane, session

    async def declare(self, name: str, secret: str = SECRET, **spec: Any) -> None:
        client = self._plane.client
        await client.create(
            "/api/v1/namespaces/default/secrets", {"metadata": {"name": name}, "stringData": {"k": secret}}
        )
        await client.create(
            REPOSITORY_WEBHOOK.kind.path("default"),
            {
                "apiVersion": REPOSITORY_WEBHOOK.kind.api_version,
                "kind": REPOSITORY_WEBHOOK.kind.kind,
                "metadata": {"name": name},
                "spec": {
                    "repositoryRef": {"name": "shop"},
                    "provider": "github",
                    "secretRef": {"name": name, "key": "k"},
                    **spec,
                },
            },
        )

    async def push(self, name: str, number: int, ref: str = "refs/heads/main", secret: str = SECRET) -> tuple[int, str]:
        return await self.send(name, number, json.dumps({"ref": ref}).encode(), secret)

    async def send(self, name: str, number: int, body: bytes, secret: str = SECRET) -> tuple[int, str]:
        headers = {
            "X-GitHub-Event": "push",
            "X-GitHub-Delivery": str(number),
            "X-Hub-Signature-256": hmac.new(secret.encode(), body, hashlib.sha256).hexdigest(),
        }
        async with self._session.post(f"{HOOKS}/default/{name}", data=body, headers=headers) as answer:
            return answer.status, (await answer.text()).strip()


@pytest.fixture
async def hooks(data: Path) -> AsyncIterator[Hooks]:
    async with open_plane(Settings(data=data, port=0, operators=frozenset())) as plane:
        await install(plane.client, sync.KINDS)
        kind = RESOURCE_REPOSITORY.kind
        spec: JsonObject = {"pollInterval": "1h", "type": "git", "git": {"url": "https://git.example/shop.git"}}
        spec["storage"] = {"existingPVC": {"name": "data"}}
        repository = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": "shop"}, "spec": spec}
        await plane.client.create(kind.path("default"), repository)
        receiver, routes = SyncReceiver(plane.client, {}, seconds=lambda: 0.0), Routes()
        routes.add("POST", f"{HOOKS}/{{rest:path}}", lambda *given: answered(receiver.receive, *given))
        server = await serve(routes)
        try:
            async with aiohttp.ClientSession(f"http://127.0.0.1:{server.port}") as session:
                yield Hooks(plane, session)
        finally:
            await server.stop(0)


async def test_hostile_webhooks_are_refused_and_hold_up_nobody(hooks: Hooks) -> None:
    await hooks.declare("empty", "\n")
    assert (await hooks.push("empty", 0, secret=""))[0] == 500, "nothing proves nothing"
    await hooks.declare("globs", branchFilter={"exclude": ["*a" * 8 + "b", "[", "*a*"]})
    await hooks.declare("hook")
    assert (await hooks.push("hook", 0, "refs/heads/" + "a" * 5000))[0] == 400
    async with measured_turns() as turns:
        assert await hooks.push("globs", 1, "refs/heads/" + "a" * 4000) == (202, "filtered")
    assert turns.longest_s < 0.1
    # The one with the long ref counts, too.
    answers = [await hooks.push("hook", 10 + number) for number in range(BURST)]
    assert set(answers[:-1]) == {(202, "accepted")}
    assert answers[-1][0] == 429, "a replay with another id is limited"
    assert (await hooks.send("hook", 500, b"["))[0] == 429, "a body is not decoded beyond the limit"
    large = json.dumps({"ref": "refs/heads/a", "commits": [{"id": [number]} for number in range(30_000)]}).encode()
    async with measured_turns() as turns:
        told = await asyncio.gather(*(hooks.send("globs", 1000 + number, large) for number in range(10)))
    assert set(told) == {(202, "filtered")}
    assert turns.longest_s < 0.1
    at_once = await asyncio.gather(*(hooks.push("globs", 2000 + number, "refs/heads/dev") for number in range(60)))
    assert set(at_once) == {(202, "accepted")}, "webhooks that arrive at once do not conflict"
    assert await hooks.push("globs", 2, "refs/heads/dev") == (202, "accepted")
