"""Whatever is sent to the pages of users, roles and webhooks, the answer is one of this API and never a failure."""

from __future__ import annotations

import random
from typing import Any

from homeostat.plane import Plane
from tests.web.faces import ADMIN, Caller, open_face

PATHS = ["/users", "/users/2", "/users/3", "/users/ldap-sync", "/custom-roles", "/custom-roles/1", "/auth/login",
         "/custom-roles/1/permissions", "/custom-roles/1/permissions/1", "/admission-webhooks",
         "/admission-webhooks/1", "/users/x", "/users/999999999999999", "/users/0", "/users/%00",
         "/auth/me"]  # fmt: skip
FIELDS = ["username", "password", "email", "display_name", "is_admin", "custom_role_id", "status", "name",
          "description", "system_permissions", "permissions", "resource_type_name", "resource_type_version",
          "operations", "webhook_url", "webhook_type", "timeout_seconds", "failure_policy", "ordering"]  # fmt: skip
WORDS = ["", "a", "anna", "password", "*", "mutating", "validating", "Fail", "Ignore", "active", "suspended", "\0",
         "https://example.com/x", "http://[::1", "ä", "\u202e", "x" * 300, "READ", "CREATE",
         "view_plugins"]  # fmt: skip
QUERIES = ["", "?limit=1", "?limit=x", "?after=9", "?source=ldap", "?is_admin=1", "?%ff=%ff", "?webhook_type=mutating"]
EXPECTED = {200, 201, 204, 400, 401, 404, 405, 409, 422, 429, 503}
_TRIES = 1000


def value(chance: random.Random, depth: int = 0) -> Any:
    match chance.randrange(8 if depth < 3 else 5):
        case 0:
            return chance.choice([None, True, False])
        case 1:
            return chance.choice([0, 1, 2, -1, 10**9, 2**63, -(2**63), 0.5, 1e300])
        case 2 | 3 | 4:
            return chance.choice(WORDS)
        case 5:
            return [value(chance, depth + 1) for _ in range(chance.randrange(4))]
        case _:
            return {chance.choice(FIELDS): value(chance, depth + 1) for _ in range(chance.randrange(5))}


def body(chance: random.Random) -> Any:
    fields = chance.sample(FIELDS, chance.randrange(1, 7))
    if chance.random() < 0.1:
        return value(chance)
    given = {each: value(chance) for each in fields}
    if chance.random() < 0.5:
        given |= {
            "username": "anna",
            "password": "password",
            "name": "n",
            "webhook_url": "https://e.com",
            "operations": ["READ"],
        }
        given |= {chance.choice(fields): value(chance)}
    return given


async def ask(caller: Caller, chance: random.Random) -> tuple[str, str, Any, int, Any]:
    method, path = chance.choice(["GET", "POST", "PUT", "DELETE"]), chance.choice(PATHS) + chance.choice(QUERIES)
    sent = None if chance.random() < 0.05 else body(chance)
    told = await caller.ask(method, path, sent)
    return method, path, sent, told.status, told.body


async def test_whatever_is_sent_the_answer_is_one_of_this_api(plane: Plane) -> None:
    chance = random.Random(7)
    async with open_face(plane.client, ADMIN) as face:
        admin = await face.nobody.login("admin", "correct horse")
        for _ in range(_TRIES):
            told = await ask(admin, chance)
            assert told[3] in EXPECTED, told
            assert told[3] < 400 or "detail" in told[4], told
        assert (await admin.get("/users/1")).status == 200
