"""A value with `format: password` is nowhere shown: not in bodies, lists, events, history, logs or errors."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from homeostat.client.base import Client
from homeostat.objects.json import encode
from homeostat.objects.schema.passwords import HIDDEN
from homeostat.operators.actions.plugins.plugin import ActionError, Job
from homeostat.operators.actions.runs.run import Outcome
from homeostat.operators.actions.world import Plan
from homeostat.testing.eventually import eventually
from tests.web.actions.calling import Api, note
from tests.web.actions.listening import listening
from tests.web.actions.shelf import ShelfPlugin, World

PASSWORD = "hunter2-hunter2"
VAULT_TYPE = {
    "name": "Safe",
    "version": "v1",
    "schema": {
        "type": "object",
        "properties": {"text": {"type": "string"}, "password": {"type": "string", "format": "password"}},
    },
}


@pytest.fixture
def talkative(shelf: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """A plugin that repeats the password wherever it can."""

    async def plan(self: ShelfPlugin, job: Job[Any]) -> Plan:
        return Plan(self.world.things.get(job.name) != job.spec, output=f"will set {job.spec.get('password')}")

    async def apply(self: ShelfPlugin, job: Job[Any]) -> Outcome:
        if job.spec.get("text") == "broken":
            raise ActionError("Broken", f"cannot set {job.spec['password']}")
        self.world.things[job.name] = job.spec
        told = f"set {job.spec.get('password')}"
        return Outcome(is_success=True, output=told, message=told, outputs={"echo": told})

    monkeypatch.setattr(ShelfPlugin, "plan", plan)
    monkeypatch.setattr(ShelfPlugin, "apply", apply)
    return shelf


async def test_a_password_is_nowhere_shown(talkative: World, served: Api, client: Client) -> None:
    await served.made("/resource-types", VAULT_TYPE)
    seen: list[Any] = []
    async with listening(served.url, "/events") as events:
        body = note("one", resource_type_name="Safe", spec={"text": "a", "password": PASSWORD})
        made = await served.made("/resources", body)
        assert made["spec"] == {"text": "a", "password": HIDDEN}
        ready = await served.becomes(made["id"], "ready")
        assert talkative.things["one"]["password"] == PASSWORD
        pages = [f"/resources/{made['id']}{path}" for path in ("", "/history", "/logs", "/outputs")]
        seen += [(await served.get(each)).body for each in pages]
        seen += [made, ready, (await served.get("/resources")).body]
        seen += [each.data for each in await events.until(lambda each: each.data["resource_data"]["status"] == "ready")]
    assert PASSWORD not in encode(seen).decode()
    assert encode(seen).decode().count(HIDDEN) >= 4
    obj = await client.get("/apis/resources.homeostat.dev/v1/namespaces/default/safes/one")
    assert PASSWORD not in encode(obj["status"]).decode()


async def test_a_hidden_value_that_is_sent_back_stays_what_it_was(talkative: World, served: Api) -> None:
    await served.made("/resource-types", VAULT_TYPE)
    body = note("one", resource_type_name="Safe", spec={"text": "a", "password": PASSWORD})
    number = (await served.made("/resources", body))["id"]
    await served.becomes(number, "ready")
    read = (await served.get(f"/resources/{number}")).body["spec"]
    changed = await served.put(f"/resources/{number}", {"spec": {**read, "text": "b"}})
    assert changed.body["spec"] == {"text": "b", "password": HIDDEN}
    await eventually(
        lambda: asyncio.sleep(0, talkative.things.get("one")),
        lambda found: found == {"text": "b", "password": PASSWORD},
    )
    same = await served.put("/resources/by-name/Safe/v1/one", {"spec": {"text": "b", "password": HIDDEN}})
    assert (same.status, same.body["generation"]) == (200, 2)
    fresh = note("two", resource_type_name="Safe", spec={"password": HIDDEN})
    answer = await served.post("/resources", fresh)
    assert (answer.status, "password: " in answer.body["detail"]) == (400, True)


async def test_an_error_of_a_plugin_does_not_repeat_it(talkative: World, served: Api) -> None:
    await served.made("/resource-types", VAULT_TYPE)
    body = note("one", resource_type_name="Safe", spec={"text": "broken", "password": PASSWORD})
    number = (await served.made("/resources", body))["id"]
    failed = await served.becomes(number, "failed")
    history = (await served.get(f"/resources/{number}/history")).body
    assert (failed["status_message"], PASSWORD in encode([failed, history]).decode()) == (
        "Broken: cannot set ***",
        False,
    )
