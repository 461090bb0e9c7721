"""The API of contracts over a plane, called over real HTTP; and Pactos as an operator leaves them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import aiohttp
import msgspec

from homeostat.client.base import Client
from homeostat.edge.server import serve
from homeostat.objects.json import Json, JsonObject
from homeostat.operators.contracts.api import GROUP, KINDS, PACTO, PACTO_REVISION
from homeostat.runtime.installation import install
from homeostat.web.contracts.app import contracts_app, refuse
from homeostat.web.contracts.context import ContractsFace
from homeostat.web.contracts.serving import open_face
from homeostat.web.kit.gate import KubernetesGate, OpenGate
from homeostat.web.kit.review_gate import Kinds, ReviewGate

OCI = "oci://registry.example.org/contracts"


class Answered(NamedTuple):
    status: int
    body: Any
    headers: Mapping[str, str]


class Api:
    def __init__(self, url: str, session: aiohttp.ClientSession, face: ContractsFace, client: Client) -> None:
        self.url, self.face, self.client = url, face, client
        self._session = session

    async def ask(self, method: str, path: str, body: Json = None, *, token: str = "", **headers: str) -> Answered:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if token:
            sent["Authorization"] = f"Bearer {token}"
        data = None if body is None else msgspec.json.encode(body)
        async with self._session.request(method, f"{self.url}{path}", data=data, headers=sent) as found:
            text = await found.read()
            is_json = found.content_type.endswith("json")
            return Answered(found.status, msgspec.json.decode(text) if text and is_json else text, found.headers)

    async def get(self, path: str, **more: str) -> Answered:
        return await self.ask("GET", path, **more)

    async def post(self, path: str, body: Json = None, **more: str) -> Answered:
        return await self.ask("POST", path, body, **more)

    async def declare(self, name: str, status: JsonObject, *, namespace: str = "default", **ref: Json) -> None:
        """A Pacto with a status, as the operator writes it; without one if it is empty."""
        spec: JsonObject = {"contractRef": ref or {"inline": "x"}}
        kind = PACTO.kind
        body = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": name}, "spec": spec}
        await self.client.create(kind.path(namespace), body)
        if status:
            await self.client.merge(f"{kind.path(namespace, name)}/status", {"status": status})

    async def record(self, pacto: str, version: str, *, namespace: str = "default", **source: Any) -> str:
        """A PactoRevision."""
        kind, name = PACTO_REVISION.kind, f"{pacto}-{version.replace('.', '-')}"
        spec = {"version": version, "pactoRef": pacto, "source": source or {"inline": True}}
        body = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": name}, "spec": spec}
        await self.client.create(kind.path(namespace), body)
        status = {"resolved": True, "contractHash": f"hash-{version}", "createdAt": "2026-01-01T00:00:00Z"}
        await self.client.merge(f"{kind.path(namespace, name)}/status", {"status": status})
        return name


def status_of(service: str, *requires: str, version: str = "1.0.0", **more: Any) -> JsonObject:
    dependencies = [
        {"name": each, "ref": f"{OCI}/{each}", "required": True, "compatibility": "^1.0.0"} for each in requires
    ]
    contract = {"serviceName": service, "version": version, **more.pop("contract", {})}
    return {"contractStatus": "Compliant", "contract": contract, "dependencies": dependencies, **more}


@asynccontextmanager
async def open_api(client: Client, *, gate: KubernetesGate | None = None, **environment: str) -> AsyncIterator[Api]:
    await install(client, KINDS)
    async with (
        open_face(client, gate=gate or OpenGate(), namespace="default", environment=environment) as face,
        aiohttp.ClientSession() as session,
    ):
        server = await serve(contracts_app(face), refuse=refuse)
        try:
            yield Api(f"http://127.0.0.1:{server.port}", session, face, client)
        finally:
            await server.stop(grace_s=1.0)


def review_gate(client: Client) -> KubernetesGate:
    kinds = Kinds(of_type=lambda _name, _version: (GROUP, "pactos"), permissions={})
    return ReviewGate(client, namespace="default", kinds=kinds)
