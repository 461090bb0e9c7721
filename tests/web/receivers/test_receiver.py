"""Webhooks over HTTP, and what they do to Pactos of a plane."""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from io import BytesIO
from typing import Any, NamedTuple

import aiohttp
import pytest

from homeostat.client.base import Client
from homeostat.edge.server import serve
from homeostat.objects.json import JsonObject, encode
from homeostat.operators.contracts.api import KINDS, PACTO, REQUESTED
from homeostat.plane import Plane
from homeostat.runtime.installation import install
from homeostat.testing.eventually import eventually
from homeostat.web.receivers.contracts import SECRET, SECRET_REF, PushedContracts, check_settings, open_hooks
from homeostat.web.receivers.limits import Deliveries, Rate
from homeostat.web.receivers.push import ImagePush
from homeostat.web.receivers.receiver import BURST, FAILURES, LARGEST_BODY
from tests.web.receivers.payloads import DISTRIBUTION, github_package

KEY = "a secret of some length"


class Answered(NamedTuple):
    status: int
    body: Any


class Hooks:
    def __init__(self, url: str, session: aiohttp.ClientSession, client: Client) -> None:
        self.url, self.client = url, client
        self._session = session

    async def send(self, sender: str, body: JsonObject | bytes, query: str = "", **headers: str) -> Answered:
        data = body if isinstance(body, bytes) else encode(body)
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        async with self._session.post(f"{self.url}/{sender}{query}", data=BytesIO(data), headers=sent) as found:
            return Answered(found.status, await found.json())

    async def signed(self, body: JsonObject, number: str, key: str = KEY) -> Answered:
        proof = hmac.new(key.encode(), encode(body), "sha256").hexdigest()
        return await self.send(
            "github",
            body,
            X_Hub_Signature_256=f"sha256={proof}",
            X_GitHub_Event="registry_package",
            X_GitHub_Delivery=number,
        )

    async def declare(self, name: str, oci: str) -> None:
        kind = PACTO.kind
        body = {
            "apiVersion": kind.api_version,
            "kind": kind.kind,
            "metadata": {"name": name},
            "spec": {"contractRef": {"oci": oci}},
        }
        await self.client.create(kind.path("default"), body)

    async def requested(self) -> dict[str, str]:
        """The annotation by name; empty if there is none."""
        pactos, _ = await self.client.list(PACTO.kind.path("default"))
        return {each["metadata"]["name"]: each["metadata"].get("annotations", {}).get(REQUESTED, "") for each in pactos}


@asynccontextmanager
async def open_receiver(
    client: Client, environment: Mapping[str, str], *, is_open: bool = False
) -> AsyncIterator[Hooks]:
    await install(client, KINDS)
    async with (
        open_hooks(client, namespace="default", environment=environment, is_open=is_open, settle_s=0.0) as app,
        aiohttp.ClientSession() as session,
    ):
        server = await serve(app)
        try:
            yield Hooks(f"http://127.0.0.1:{server.port}/hooks/contracts", session, client)
        finally:
            await server.stop(grace_s=1.0)


@pytest.fixture
async def hooks(plane: Plane) -> AsyncIterator[Hooks]:
    async with open_receiver(plane.client, {SECRET: KEY}) as hooks:
        yield hooks


BEARER = {"Authorization": f"Bearer {KEY}"}


async def test_a_push_requests_the_pactos_of_its_repository_and_no_others(hooks: Hooks) -> None:
    await hooks.declare("ledger", "registry.example.org:5000/contracts/ledger")
    await hooks.declare("pinned", "oci://registry.example.org:5000/contracts/ledger:1.0.0")
    await hooks.declare("other", "registry.example.org:5000/contracts/rates")
    told = await eventually(
        lambda: hooks.send("distribution", DISTRIBUTION, **BEARER), lambda told: told.body["notified"] == 2
    )
    assert told == (202, {"pushes": 1, "notified": 2})
    first = await hooks.requested()
    assert {name for name, value in first.items() if value} == {"ledger", "pinned"}
    await hooks.send("distribution", DISTRIBUTION, **BEARER)
    assert (await hooks.requested())["ledger"] > first["ledger"]


async def test_a_webhook_of_many_repositories_waits_once_for_those_that_nobody_refers_to(plane: Plane) -> None:
    await install(plane.client, KINDS)
    pushed = PushedContracts(plane.client, settle_s=0.2)
    pushes = [ImagePush("registry.example", f"nobody/{at}") for at in range(1000)]
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(pushed.run())
        before = len(asyncio.all_tasks())
        delivery = tasks.create_task(pushed.deliver(pushes))
        while not delivery.done():
            await asyncio.sleep(0.02)
            assert len(asyncio.all_tasks()) < before + 50
        running.cancel()
    assert delivery.result() == 0


async def test_a_registry_that_pactos_call_by_another_name_is_found_by_its_repository(hooks: Hooks) -> None:
    await hooks.declare("ledger", "registry.shop.svc/contracts/ledger")
    await eventually(
        lambda: hooks.send("distribution", DISTRIBUTION, **BEARER), lambda told: told.body["notified"] == 1
    )


async def test_nothing_is_done_for_a_sender_without_proof(hooks: Hooks) -> None:
    await hooks.declare("ledger", "registry.example.org:5000/contracts/ledger")
    assert (await hooks.send("distribution", DISTRIBUTION)).status == 401
    assert (await hooks.send("distribution", b"not json", Authorization="Bearer wrong")).status == 401
    assert (await hooks.signed(github_package(), "1", key="another secret of it")).status == 401
    assert await hooks.requested() == {"ledger": ""}


async def test_who_guesses_has_to_wait(hooks: Hooks) -> None:
    statuses = [(await hooks.send("distribution", DISTRIBUTION)).status for _ in range(FAILURES + 1)]
    assert statuses == [401] * FAILURES + [429]


async def test_a_repeated_delivery_does_nothing(hooks: Hooks) -> None:
    await hooks.declare("ledger", "ghcr.io/acme/ledger")
    first = await eventually(
        lambda: hooks.signed(github_package(), str(id(object()))), lambda told: told.body["notified"] == 1
    )
    assert first.status == 202
    once = await hooks.signed(github_package(), "d-7")
    before = await hooks.requested()
    again = await hooks.signed(github_package(), "d-7")
    assert (once.status, again.status, again.body["repeated"]) == (202, 200, True)
    assert await hooks.requested() == before


async def test_a_delivery_with_a_long_id_counts_as_one_without(hooks: Hooks) -> None:
    """Ten thousand ids are kept."""
    sent = [(await hooks.signed({"zen": "x"}, "d" * length)).body.get("repeated") for length in (256, 256, 257, 257)]
    assert sent == [None, True, None, None]


async def test_other_events_are_accepted_and_ignored(hooks: Hooks) -> None:
    told = await hooks.send("distribution", {"events": []}, **BEARER)
    assert told == (200, {"pushes": 0, "notified": 0})


async def test_bad_requests_are_refused_by_name(hooks: Hooks) -> None:
    assert (await hooks.send("nobody", {})).status == 404
    assert (await hooks.send("distribution", b"{", **BEARER)).status == 400
    assert (await hooks.send("distribution", {"zen": "x"}, **BEARER)).status == 422
    assert (await hooks.send("distribution", b" " * (LARGEST_BODY + 1), **BEARER)).status == 413


async def test_a_burst_is_accepted_and_then_slowed_down(hooks: Hooks) -> None:
    statuses = {(await hooks.send("distribution", {"events": []}, **BEARER)).status for _ in range(BURST + 30)}
    assert statuses == {200, 429}


async def test_a_secret_of_kubernetes_is_read_again_when_it_is_replaced(plane: Plane) -> None:
    path = "/api/v1/namespaces/default/secrets"
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "hook"}, "stringData": {"key": KEY}}
    async with open_receiver(plane.client, {SECRET_REF: "hook/key"}) as hooks:
        assert (await hooks.send("distribution", {"events": []}, **BEARER)).status == 503
        await plane.client.create(path, secret)
        told = await eventually(
            lambda: hooks.send("distribution", {"events": []}, **BEARER), lambda told: told.status == 200, within_s=30
        )
        assert told.status == 200


async def test_without_a_secret_only_an_open_server_accepts_webhooks(plane: Plane) -> None:
    async with open_receiver(plane.client, {}) as closed:
        told = await closed.send("distribution", {"events": []})
        assert (told.status, SECRET_REF in told.body["detail"]) == (403, True)
    async with open_receiver(plane.client, {}, is_open=True) as hooks:
        assert (await hooks.send("distribution", {"events": []})).status == 200
        assert (await hooks.send("distribution", {"events": []}, Origin="https://evil.example.org")).status == 403


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [(SECRET, "short", "fewer than 16"), (SECRET, "x" * 20 + "\ny", "fewer than 16"), (SECRET_REF, "hook", "name/key")],
)
def test_an_invalid_setting_is_refused_and_not_shown(name: str, value: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem) as caught:
        check_settings({name: value})
    assert name in str(caught.value)
    assert name != SECRET or "short" not in str(caught.value).replace("shorter", "")


def test_a_rate_refills_with_time() -> None:
    now = [0.0]
    rate = Rate(burst=2, every_s=1.0, seconds=lambda: now[0])
    for _ in range(2):
        assert rate.wait_s("a") == 0
        rate.spend("a")
    assert (rate.wait_s("a"), rate.wait_s("b")) == (1, 0)
    now[0] = 1.0
    assert rate.wait_s("a") == 0
    rate.spend("a")
    assert rate.wait_s("a") == 1


def test_deliveries_are_forgotten_in_the_end() -> None:
    now = [0.0]
    seen = Deliveries(seconds=lambda: now[0], most_kept=2)
    for each in ("a", "b", "c"):
        seen.remember(each)
    assert [seen.is_known(each) for each in ("a", "b", "c", "")] == [False, True, True, False]
    now[0] = 3601.0
    assert not seen.is_known("c")
