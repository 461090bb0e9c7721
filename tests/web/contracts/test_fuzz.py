"""Whatever is sent to the API and to the webhooks, the answer is one of theirs and never a failure."""

from __future__ import annotations

import random
from typing import Any

from homeostat.objects.json import encode
from homeostat.plane import Plane
from homeostat.testing.eventually import eventually
from homeostat.web.receivers.contracts import SECRET
from homeostat.web.receivers.senders import REGISTRIES
from tests.web.contracts.calling import open_api, status_of
from tests.web.receivers.test_receiver import BEARER, KEY, open_receiver

NAMES = ["ledger", "none", "%00", "%ff", "..%2f..", "x" * 300, "ä", "a%20b", "{name}"]
WORDS = [
    "",
    "ledger",
    "\0",
    "x" * 3000,
    "\u202e",
    "^1.0.0",
    "127.0.0.1:1/a/b",
    "oci://",
    "a/b@sha256:00",
    "http://[::1",
]
FIELDS = ["ref", "compatibility", "fetch", "namespace", "events", "target", "repository", "updated_tags", "type",
          "push_data", "package", "action", "repo_name", "event_data", "resources"]  # fmt: skip
QUERIES = [
    "",
    "?limit=x",
    "?limit=99999",
    "?q=%ff",
    "?namespace=%00",
    "?from_name=ledger&to_name=%00",
    "?after=" + "z" * 400,
]
EXPECTED = {200, 400, 403, 404, 405, 422, 429, 502}


def value(chance: random.Random, depth: int = 0) -> Any:
    match chance.randrange(6 if depth < 3 else 3):
        case 0:
            return chance.choice([None, True, 0, -1, 2**63, 0.5])
        case 1 | 2:
            return chance.choice(WORDS)
        case 3:
            return [value(chance, depth + 1) for _ in range(chance.randrange(4))]
        case _:
            return {chance.choice(FIELDS): value(chance, depth + 1) for _ in range(chance.randrange(5))}


async def test_the_api_answers_anything(plane: Plane) -> None:
    chance = random.Random(7)
    below = ["", "/versions", "/versions/1.0.0", "/versions/%00", "/sources", "/graph", "/dependents", "/refs"]
    async with open_api(plane.client) as api:
        await api.declare("ledger", status_of("ledger", "rates"))
        await eventually(lambda: api.get("/api/services"), lambda told: told.body)
        for _ in range(300):
            path = chance.choice(
                [
                    f"/api/services/{chance.choice(NAMES)}{chance.choice(below)}",
                    "/api/diff",
                    "/api/services",
                    f"/schemas/{chance.choice(NAMES)}",
                    "/api/resolve",
                    "/api/versions",
                ]
            )
            method = chance.choice(["GET", "GET", "POST", "PUT"])
            told = await api.ask(method, path + chance.choice(QUERIES), value(chance) if method == "POST" else None)
            assert told.status in EXPECTED, (method, path, told)


async def test_webhooks_answer_anything(plane: Plane) -> None:
    chance = random.Random(7)
    async with open_receiver(plane.client, {SECRET: KEY}) as hooks:
        for _ in range(300):
            sender = chance.choice([*REGISTRIES, "none"])
            told = await hooks.send(sender, encode(value(chance)), X_GitHub_Event="package", **BEARER)
            assert told.status in {200, 202, 400, 401, 404, 422, 429}, (sender, told)
