from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest

from homeostat.edge.reply import Reply
from homeostat.server.admission.pace import Shares
from homeostat.server.admission.webhooks import client as webhook_client
from homeostat.server.admission.webhooks.client import MOST_BYTES, Address, CallError, WebhookClient
from tests.api.conftest import Api
from tests.api.objects import CONFIGMAPS, configmap
from tests.edge.wire import eventually
from tests.external.rest.raw import read_head, speaking
from tests.server.admission.hooks import MUTATING, VALIDATING, Hooks, allow, configuration, deny

JSON = "application/json"
BODY = b'{"request":{"uid":"1"}}'


@pytest.fixture
async def client() -> AsyncIterator[WebhookClient]:
    client = WebhookClient()
    yield client
    await client.close()


async def post(client: WebhookClient, hooks: Hooks, *, timeout_s: float = 5, bundle: str | None = None) -> bytes:
    address = Address(f"https://localhost:{hooks.port}/v", None)
    bundle = hooks.identity.bundle if bundle is None else bundle
    return await sent(client, address, bundle, timeout_s=timeout_s)


async def sent(client: WebhookClient, address: Address, bundle: str, *, timeout_s: float = 5) -> bytes:
    async with client.post(address, bundle, BODY, timeout_s=timeout_s) as answer:
        return answer


async def test_a_slow_webhook_is_given_up(client: WebhookClient, hooks: Hooks) -> None:
    hooks.on("/v", allow)
    hooks.delay_s = 5
    with pytest.raises(CallError, match=r"timed out after 0.1 seconds"):
        await post(client, hooks, timeout_s=0.1)


@pytest.mark.parametrize("bundle", ["", "bm8gUEVN", "%"], ids=["system", "no-pem", "no-base64"])
async def test_a_webhook_must_prove_itself(client: WebhookClient, hooks: Hooks, bundle: str) -> None:
    hooks.on("/v", allow)
    with pytest.raises(CallError):
        await post(client, hooks, bundle=bundle)
    assert hooks.seen == []


async def test_a_certificate_must_name_the_host(client: WebhookClient, hooks: Hooks) -> None:
    address = Address(f"https://127.0.0.1:{hooks.port}/v", None)
    with pytest.raises(CallError, match=r"[Cc]ertificate"):
        await sent(client, address, hooks.identity.bundle)


@pytest.mark.parametrize("status", [302, 404, 500])
async def test_only_success_is_an_answer_and_redirects_are_not_followed(
    client: WebhookClient, hooks: Hooks, status: int
) -> None:
    hooks.on("/v", lambda _: Reply(status, b"", headers=(("Location", f"https://localhost:{hooks.port}/v"),)))
    with pytest.raises(CallError, match=f"returned HTTP {status}"):
        await post(client, hooks)
    assert len(hooks.seen) == 1


async def test_an_answer_without_end_is_given_up(
    client: WebhookClient, hooks: Hooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhook_client, "MAX_ANSWER_BYTES", 1000)
    hooks.on("/v", lambda _: Reply(200, b"x" * 1001))
    with pytest.raises(CallError, match="larger than 1000 bytes"):
        await post(client, hooks)
    hooks.on("/v", lambda _: Reply(200, b"x" * 1000))
    assert len(await post(client, hooks)) == 1000


async def test_interim_responses_without_end_are_given_up(client: WebhookClient) -> None:
    async def interim(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_head(reader)
        while True:
            writer.write(b"HTTP/1.1 103 Early Hints\r\n\r\n" * 1000)
            await writer.drain()

    async with speaking(interim) as host:
        with pytest.raises(CallError, match="too many interim responses"):
            await sent(client, Address(f"http://{host}/v", None), "")


async def test_a_cancelled_request_cancels_its_call(client: WebhookClient, hooks: Hooks) -> None:
    hooks.on("/v", allow)
    hooks.delay_s = 5
    task = asyncio.create_task(post(client, hooks))
    await hooks.arrived.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not [each for each in asyncio.all_tasks() if "_post" in str(each.get_coro())]


def test_the_http_client_is_imported_for_the_first_call_only() -> None:
    program = "import sys, homeostat.plane; sys.exit('aiohttp' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], timeout=60).returncode == 0


def test_a_plane_without_admission_configurations_imports_nothing_that_reads_them() -> None:
    program = "import sys, homeostat.plane; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    imported = set(done.stdout.split())
    assert "homeostat.server.admission.chain" in imported
    unneeded = {"admission.webhooks.webhook", "admission.policies", "admission.configuration", "discovery.openapi"}
    assert not imported & {f"homeostat.server.{name}" for name in unneeded}


async def configure(api: Api, path: str, webhook: dict[str, Any]) -> None:
    answer = await api("POST", path, configuration(webhook), type=JSON)
    assert answer.status == 201, answer.json


@pytest.mark.parametrize("path", [MUTATING, VALIDATING], ids=["mutating", "validating"])
async def test_a_webhook_that_does_not_answer_refuses_or_lets_pass_as_its_policy_says(
    api: Api, hooks: Hooks, path: str
) -> None:
    webhook = hooks.webhook("/v", lambda _: Reply(500, b""))
    await configure(api, path, webhook)
    refused = await api("POST", CONFIGMAPS, configmap(), type=JSON)
    assert refused.status == 500
    told = 'Internal error occurred: failed calling webhook "v.hooks.example.com": failed to call webhook: Post "https'
    assert refused.json["message"].startswith(told)
    changed = configuration({**webhook, "failurePolicy": "Ignore"})
    changed["metadata"]["resourceVersion"] = (await api("GET", f"{path}/hooks")).json["metadata"]["resourceVersion"]
    assert (await api("PUT", f"{path}/hooks", changed, type=JSON)).status == 200
    assert (await api("POST", CONFIGMAPS, configmap(), type=JSON)).status == 201


async def test_an_ignored_failure_does_not_undo_a_refusal(api: Api, hooks: Hooks) -> None:
    await configure(api, VALIDATING, hooks.webhook("/v", deny("no"), failurePolicy="Ignore"))
    assert (await api("POST", CONFIGMAPS, configmap(), type=JSON)).status == 400


async def test_a_service_is_reached_only_by_an_external_name(api: Api, hooks: Hooks) -> None:
    reference = {"namespace": "default", "name": "hooks", "path": "/v", "port": hooks.port}
    config = {"service": reference, "caBundle": hooks.identity.bundle}
    await configure(api, VALIDATING, hooks.webhook("/v", clientConfig=config))

    async def outcome(spec: dict[str, Any] | None) -> tuple[int, str]:
        if spec is not None:
            await api("DELETE", "/api/v1/namespaces/default/services/hooks")
            await api("POST", "/api/v1/namespaces/default/services", {"metadata": {"name": "hooks"}, "spec": spec})
        answer = await api("POST", CONFIGMAPS, configmap(), type=JSON)
        return answer.status, answer.json.get("message", "")

    code, told = await outcome(None)
    assert (code, 'service "hooks" not found in namespace "default"' in told) == (500, True)
    code, told = await outcome({"ports": [{"port": 443}]})
    assert (code, "set clientConfig.url" in told) == (500, True)
    code, _ = await outcome({"type": "ExternalName", "externalName": "localhost"})
    assert code == 201
    assert hooks.raw[0].headers["host"] == "hooks.default.svc"


async def test_a_webhook_that_supports_only_old_reviews_is_reported(api: Api, hooks: Hooks) -> None:
    await configure(api, VALIDATING, hooks.webhook("/v", admissionReviewVersions=["v1beta1"]))
    refused = await api("POST", CONFIGMAPS, configmap(), type=JSON)
    assert "does not accept AdmissionReview v1" in refused.json["message"]


async def test_a_failed_call_leaves_nothing_for_the_garbage_collector(client: WebhookClient, hooks: Hooks) -> None:
    hooks.on("/v", allow)
    hooks.delay_s = 5
    address = Address("https://127.0.0.1:1/v", None)

    async def fail() -> None:
        with pytest.raises(CallError, match=r"127\.0\.0\.1:1: \[Errno 111\]"):
            await sent(client, address, hooks.identity.bundle)

    await fail()
    gc.collect()
    gc.disable()
    try:
        for _ in range(20):
            await fail()
        assert gc.collect() < 20
    finally:
        gc.enable()


async def test_the_text_of_a_failure_shows_no_object_in_memory(client: WebhookClient, hooks: Hooks) -> None:
    with pytest.raises(CallError) as raised:
        await sent(client, Address("https://127.0.0.1:1/v", None), hooks.identity.bundle)
    assert " at 0x" not in str(raised.value)


async def test_a_large_body_is_made_when_there_is_room_for_it(hooks: Hooks, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhook_client, "MOST_BYTES", 3)
    client, made, address = WebhookClient(), 0, Address(f"https://localhost:{hooks.port}/v", None)
    hooks.on("/v", allow)
    hooks.delay_s = 0.4

    def body() -> bytes:
        nonlocal made
        made += 1
        return BODY

    async def call() -> bytes:
        async with client.post(address, hooks.identity.bundle, body, timeout_s=10, large_for="alice") as answer:
            return answer

    calls = asyncio.gather(*(call() for _ in range(6)))
    await hooks.arrived.wait()
    assert made <= 2
    assert len(await calls) == made == 6
    await client.close()


async def test_a_webhook_that_never_answers_holds_up_no_large_call_of_another(hooks: Hooks) -> None:
    hooks.on("/v", allow)
    client, asked = WebhookClient(), asyncio.Event()
    body = b'{"request":{"uid":"1","object":"%b"}}' % (b"x" * (MOST_BYTES // 8))

    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.set()
        await asyncio.Event().wait()

    async def call(address: Address, sent: bytes, user: str) -> bytes:
        async with client.post(address, hooks.identity.bundle, sent, timeout_s=30, large_for=user) as answer:
            return answer

    async with speaking(hang) as host:
        calls = [asyncio.create_task(call(Address(f"http://{host}/", None), body, "alice")) for _ in range(10)]
        await asked.wait()
        async with asyncio.timeout(10):
            assert await call(Address(f"https://localhost:{hooks.port}/v", None), BODY, "bob")
        for each in calls:
            each.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
    await client.close()


async def test_large_answers_wait_for_room_and_hold_up_no_other_webhook(
    client: WebhookClient, hooks: Hooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    size, may_end, shares = 1_000_000, asyncio.Event(), Shares(8_000_000)
    monkeypatch.setattr(webhook_client, "MAX_ANSWER_BYTES", size)
    monkeypatch.setattr(client, "_answers", shares)

    async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_head(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size + b"x" * (size - 1))
        await may_end.wait()
        writer.write(b"x")
        await writer.drain()

    hooks.on("/v", lambda _: Reply(200, b"y" * size))
    async with speaking(slow) as host:
        address = Address(f"http://{host}/v", None)
        asked = asyncio.gather(*(sent(client, address, "", timeout_s=30) for _ in range(12)))
        await eventually(lambda: shares.total == 4 * size)
        assert await post(client, hooks) == b"y" * size
        await asyncio.sleep(0.1)
        assert shares.total == 4 * size, "the others wait"
        may_end.set()
        assert {len(each) for each in await asked} == {size}
    assert shares.total == 0


async def test_ignored_failures_of_a_webhook_are_logged_once_in_a_while(
    api: Api, hooks: Hooks, caplog: pytest.LogCaptureFixture
) -> None:
    await configure(api, VALIDATING, hooks.webhook("/v", lambda _: Reply(500, b""), failurePolicy="Ignore"))
    for number in range(5):
        assert (await api("POST", CONFIGMAPS, configmap(f"c{number}"), type=JSON)).status == 201
    assert len([each for each in caplog.records if "failurePolicy Ignore" in each.message]) == 1
