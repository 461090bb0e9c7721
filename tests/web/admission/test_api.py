"""A plane and a real API server ask the webhook over TLS, and do as it says."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import aiohttp
import pytest

from homeostat.objects.errors import ApiError
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import POD
from homeostat.operators.policy.admission.webhook_configuration import webhook_configuration
from homeostat.operators.policy.api import KINDS
from homeostat.runtime.installation import install
from homeostat.testing.eventually import eventually
from homeostat.web.admission.webhook import serve_admission
from homeostat.web.certificates.files import FileCertificate
from tests.cluster.fixtures import Api
from tests.operators.policy.worlds import container
from tests.web.reviewing import BARE, DENYING, GOOD, Webhook, pod, trusting, write_certificates

HOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"


class Asking:
    """A server that asks the webhook about the Pods of one namespace."""

    def __init__(self, api: Api, webhook: Webhook, running: AsyncExitStack) -> None:
        self._api, self.webhook, self._running = api, webhook, running
        self._pods = POD.path(api.namespace)

    async def install(self, authority: bytes) -> None:
        body = webhook_configuration(authority)
        (hook,) = body["webhooks"]
        hook["clientConfig"] = {"url": f"{self.webhook.url}/validate", "caBundle": hook["clientConfig"]["caBundle"]}
        own = {"key": "kubernetes.io/metadata.name", "operator": "In", "values": [self._api.namespace]}
        hook["namespaceSelector"] = {"matchExpressions": [own]}
        await self._api.client.create(HOOKS, {**body, "metadata": {"name": self._api.namespace}})

    async def refusal(self, body: JsonObject) -> str:
        try:
            await self._api.client.request("POST", self._pods, {"dryRun": "All"}, body=body)
        except ApiError as error:
            return error.message
        return ""

    async def create(self, body: JsonObject) -> None:
        await self._api.client.create(self._pods, body)

    async def label(self, name: str) -> None:
        await self._api.client.merge(f"{self._pods}/{name}", {"metadata": {"labels": {"seen": "true"}}})

    async def stop_webhook(self) -> None:
        await self._running.aclose()


@pytest.fixture
def certificate(tmp_path: Path) -> FileCertificate:
    return write_certificates(tmp_path / "tls")


@pytest.fixture
def authority(certificate: FileCertificate, tmp_path: Path) -> bytes:
    return (tmp_path / "tls" / "ca.crt").read_bytes()


@pytest.fixture
async def asking(api: Api, certificate: FileCertificate, authority: bytes, tmp_path: Path) -> AsyncIterator[Asking]:
    await install(api.client, KINDS)
    async with AsyncExitStack() as running:
        server = await running.enter_async_context(serve_admission(api.client, certificate=certificate))
        connector = aiohttp.TCPConnector(ssl=trusting(tmp_path / "tls"))
        session = await running.enter_async_context(aiohttp.ClientSession(connector=connector))
        webhook = Webhook(api.client, f"https://127.0.0.1:{server.port}", session)
        await webhook.is_ready()
        asking = Asking(api, webhook, running)
        await asking.install(authority)
        yield asking
        await api.client.delete(f"{HOOKS}/{api.namespace}")


BAD = container("nginx:latest", name="bad", liveness=False)
REFUSED = [
    pytest.param((container("nginx:latest"),), 1, id="a tag"),
    pytest.param((container(liveness=False, readiness=False),), 2, id="no probes"),
    pytest.param((BARE,), 3, id="all wrong"),
    pytest.param((GOOD, BAD), 2, id="one of two"),
    pytest.param((BARE, {**BARE, "name": "other"}), 6, id="two all wrong"),
]


@pytest.mark.parametrize(("containers", "findings"), REFUSED)
async def test_a_server_reports_every_finding(
    api: Api, asking: Asking, containers: tuple[JsonObject, ...], findings: int
) -> None:
    await asking.webhook.declare(DENYING, namespace=api.namespace)
    told = await eventually(lambda: asking.refusal(pod(*containers)))
    assert "Denied by DevOpsPolicy: " in told
    assert told.count("container '") == findings
    assert told.count("'bad'") == (2 if BAD in containers else 0)


async def test_a_server_lets_in_what_the_webhook_allows(api: Api, asking: Asking) -> None:
    await asking.create(pod(BARE, name="older"))
    await asking.webhook.declare(DENYING, namespace=api.namespace)
    told = await eventually(lambda: asking.refusal(pod(BARE)))
    assert "Denied by DevOpsPolicy: container 'main' uses :latest tag, " in told
    await asking.create(pod(GOOD, name="good"))
    await asking.label("older")
    await asking.stop_webhook()
    await asking.create(pod(BARE, name="unasked"))
