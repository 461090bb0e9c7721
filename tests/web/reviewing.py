"""An admission webhook over a plane, and reviews as an API server sends them."""

from __future__ import annotations

import ssl
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp
import msgspec

from homeostat.client.base import Client
from homeostat.objects.json import JsonObject, encode
from homeostat.operators.policy.api import DEVOPS_POLICY, KINDS
from homeostat.runtime.installation import install
from homeostat.testing.eventually import eventually
from homeostat.web.admission.metrics import AdmissionMetrics
from homeostat.web.admission.webhook import serve_admission
from homeostat.web.certificates.authority import make_certificates
from homeostat.web.certificates.files import FileCertificate
from homeostat.web.certificates.renewal import Renewal
from tests.operators.policy.worlds import container

DENYING: JsonObject = {
    "forbidLatestTag": True,
    "requireLivenessProbe": True,
    "requireReadinessProbe": True,
    "enforcementMode": "enforce",
}
GOOD = container()
BARE = container("nginx:latest", liveness=False, readiness=False)


class Answer(NamedTuple):
    status: int
    body: Any

    @property
    def response(self) -> JsonObject:
        found: JsonObject = self.body["response"]
        return found

    @property
    def is_allowed(self) -> bool:
        return bool(self.response["allowed"])


class Webhook:
    """One that is served, and asked over HTTP."""

    def __init__(self, client: Client, url: str, session: aiohttp.ClientSession) -> None:
        self.client, self.url, self._session = client, url, session

    async def declare(self, spec: JsonObject, name: str = "main", namespace: str = "default", **metadata: Any) -> None:
        kind = DEVOPS_POLICY.kind
        body = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": name, **metadata}, "spec": spec}
        await self.client.create(kind.path(namespace), body)

    async def ask(self, *containers: JsonObject, **fields: Any) -> Answer:
        return await self.post(review(pod(*containers), **fields))

    async def post(self, data: bytes) -> Answer:
        async with self._session.post(f"{self.url}/validate", data=BytesIO(data)) as found:
            text = await found.read()
            return Answer(found.status, msgspec.json.decode(text) if found.content_type.endswith("json") else text)

    async def denies(self, *containers: JsonObject, **fields: Any) -> str:
        """What it says, once it has heard of the policies."""
        found = await eventually(lambda: self.ask(*containers, **fields), lambda answer: not answer.is_allowed)
        message: str = found.response["status"]["message"]
        return message

    async def allows(self, *containers: JsonObject, **fields: Any) -> JsonObject:
        found = await eventually(lambda: self.ask(*containers, **fields), lambda answer: answer.is_allowed)
        return found.response

    async def page(self, path: str) -> tuple[int, str]:
        async with self._session.get(f"{self.url}{path}") as found:
            return found.status, await found.text()

    async def metrics(self) -> set[str]:
        _, text = await self.page("/metrics")
        return {line for line in text.splitlines() if line.startswith("webhook_")}

    async def is_ready(self) -> None:
        await eventually(lambda: self.page("/readyz"), lambda found: found == (200, "READY"))


def pod(*containers: JsonObject, name: str = "web") -> JsonObject:
    spec = {"containers": list(containers or (BARE,))}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def review(body: Any, **fields: Any) -> bytes:
    request = {"uid": "u-1", "namespace": "default", "operation": "CREATE", "object": body, **fields}
    return encode({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})


@asynccontextmanager
async def open_webhook(client: Client) -> AsyncIterator[Webhook]:
    """In plain HTTP, with the kinds of policies there; it may not know them all yet."""
    await install(client, KINDS)
    async with serve_admission(client) as server, aiohttp.ClientSession() as session:
        yield Webhook(client, f"http://127.0.0.1:{server.port}", session)


def write_certificates(directory: Path, *, age: timedelta = timedelta()) -> FileCertificate:
    """For 127.0.0.1; of a new authority each time, whose certificate is `ca.crt`."""
    made = make_certificates("hook", "ops", ["127.0.0.1"], now=datetime.now(UTC) - age, life=timedelta(days=1))
    directory.mkdir(exist_ok=True)
    names = ("ca.crt", "ca.key", "tls.crt", "tls.key")
    for name, data in zip(names, made, strict=True):
        (directory / name).write_bytes(data)
    return FileCertificate(directory / "tls.crt", directory / "tls.key", check_every_s=0.02)


def trusting(directory: Path) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=directory / "ca.crt")


def complete_metrics() -> AdmissionMetrics:
    """The metrics of a webhook that has everything, also a certificate."""
    made = make_certificates("hook", "ops", now=datetime.now(UTC), life=timedelta(days=1))
    metrics = AdmissionMetrics()
    metrics.renewal = Renewal(None, lambda: made.certificate)
    return metrics


def changed(read: Callable[[], bytes], before: bytes) -> None:
    """Waits for it."""
    until = time.monotonic() + 30
    while read() == before:
        assert time.monotonic() < until
        time.sleep(0.05)
