"""A real HTTPS server of webhooks, and the objects that configure them."""

from __future__ import annotations

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import msgspec

from homeostat.edge.reply import Reply
from homeostat.edge.request import Request
from homeostat.edge.server import serve

Answer = Callable[[dict[str, Any]], dict[str, Any] | Reply]
GROUP = "/apis/admissionregistration.k8s.io/v1"
MUTATING, VALIDATING = f"{GROUP}/mutatingwebhookconfigurations", f"{GROUP}/validatingwebhookconfigurations"
POLICIES, BINDINGS = f"{GROUP}/validatingadmissionpolicies", f"{GROUP}/validatingadmissionpolicybindings"
CONFIGMAP_RULE = {
    "operations": ["CREATE", "UPDATE"],
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "resources": ["configmaps"],
}


class Identity(NamedTuple):
    """What the server proves itself with, and the authority that vouches for it."""

    server: ssl.SSLContext
    authority: bytes

    @property
    def bundle(self) -> str:
        return base64.b64encode(self.authority).decode()


class Hooks:
    """Answers by path; `seen` has every request of a review in the order they came."""

    def __init__(self, identity: Identity) -> None:
        self.identity = identity
        self.port = 0
        self.seen: list[tuple[str, dict[str, Any]]] = []
        self.raw: list[Request] = []
        self.arrived = asyncio.Event()
        self.delay_s = 0.0
        self.at_once: asyncio.Barrier | None = None
        """If set, no request is answered before so many are there."""
        self._answers: dict[str, Answer] = {}

    def on(self, path: str, answer: Answer) -> None:
        self._answers[path] = answer

    @property
    def paths(self) -> list[str]:
        return [path for path, _ in self.seen]

    def client_config(self, path: str) -> dict[str, Any]:
        return {"url": f"https://localhost:{self.port}{path}", "caBundle": self.identity.bundle}

    def webhook(self, path: str = "/", answer: Answer | None = None, **more: Any) -> dict[str, Any]:
        """A webhook at a path, named after it."""
        self.on(path, answer or allow)
        return {
            "name": f"{path.strip('/') or 'root'}.hooks.example.com",
            "clientConfig": self.client_config(path),
            "rules": [CONFIGMAP_RULE],
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            **more,
        }

    async def handle(self, request: Request) -> Reply:
        review = msgspec.json.decode(request.body)
        self.raw.append(request)
        self.seen.append((request.path, review["request"]))
        self.arrived.set()
        if self.at_once is not None:
            await self.at_once.wait()
        if self.delay_s:
            await asyncio.sleep(self.delay_s)
        answered = self._answers[request.path](review["request"])
        if isinstance(answered, Reply):
            return answered
        response = {"uid": review["request"]["uid"], **answered}
        body = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "response": response}
        return Reply(200, msgspec.json.encode(body))


@asynccontextmanager
async def serving(identity: Identity) -> AsyncIterator[Hooks]:
    hooks = Hooks(identity)

    def handle(request: Request) -> Awaitable[Reply]:
        return hooks.handle(request)

    server = await serve(handle, port=0, ssl=identity.server)
    hooks.port = server.port
    try:
        yield hooks
    finally:
        await server.stop(grace_s=0.2)


def allow(_: dict[str, Any]) -> dict[str, Any]:
    return {"allowed": True}


def deny(message: str = "", **status: Any) -> Answer:
    told = {**({"message": message} if message else {}), **status}
    return lambda _: {"allowed": False, **({"status": told} if told else {})}


def patch(*operations: dict[str, Any]) -> Answer:
    encoded = base64.b64encode(msgspec.json.encode(operations)).decode()
    return lambda _: {"allowed": True, "patchType": "JSONPatch", "patch": encoded}


def set_data(name: str, value: str) -> Answer:
    return patch({"op": "add", "path": f"/data/{name}", "value": value})


def configuration(*webhooks: dict[str, Any], name: str = "hooks") -> dict[str, Any]:
    """Of mutating or validating webhooks: which, the path it is posted to says."""
    return {"metadata": {"name": name}, "webhooks": list(webhooks)}


def policy(*validations: dict[str, Any], name: str = "policy", **spec: Any) -> dict[str, Any]:
    constraints = {"resourceRules": [CONFIGMAP_RULE]}
    return {
        "metadata": {"name": name},
        "spec": {"matchConstraints": constraints, "validations": list(validations), **spec},
    }


def binding(name: str = "binding", policy: str = "policy", **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"policyName": policy, "validationActions": ["Deny"], **spec}}
