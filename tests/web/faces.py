"""The pages of users, roles and webhooks over a plane, asked over real HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import aiohttp
import msgspec

from homeostat.client.base import Client
from homeostat.edge.request import Request
from homeostat.edge.routes import Routes
from homeostat.edge.server import Answer, serve
from homeostat.objects.errors import ApiError
from homeostat.objects.json import Json
from homeostat.runtime.faces.private import NamespaceSecrets
from homeostat.runtime.installation import install
from homeostat.web.actions.access import KINDS
from homeostat.web.actions.app import refuse
from homeostat.web.actions.permissions import kinds_of_types
from homeostat.web.actions.webhooks.admission import Admission, open_hooks
from homeostat.web.identity.credentials.password import Cost
from homeostat.web.identity.identity import Identity, open_identity
from homeostat.web.kit.refusal import RefusalError, refusal_of, refusal_reply
from homeostat.web.kit.review_gate import ReviewGate

CHEAP = Cost(4, 8, 1)
ADMIN = {"INITIAL_ADMIN_USERNAME": "admin", "INITIAL_ADMIN_PASSWORD": "correct horse"}


class Answered(NamedTuple):
    status: int
    body: Any
    headers: Mapping[str, str]


class Caller:
    """Somebody who asks, with a token or without."""

    def __init__(self, url: str, session: aiohttp.ClientSession, token: str = "") -> None:
        self.url, self._session, self.token = url, session, token

    def with_token(self, token: str) -> Caller:
        return Caller(self.url, self._session, token)

    async def ask(self, method: str, path: str, body: Json = None, **headers: str) -> Answered:
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        data = None if body is None else msgspec.json.encode(body)
        async with self._session.request(method, f"{self.url}/api/v1{path}", data=data, headers=headers) as found:
            text = await found.read()
            return Answered(found.status, msgspec.json.decode(text) if text else None, found.headers)

    async def get(self, path: str) -> Answered:
        return await self.ask("GET", path)

    async def post(self, path: str, body: Json = None) -> Answered:
        return await self.ask("POST", path, body)

    async def put(self, path: str, body: Json) -> Answered:
        return await self.ask("PUT", path, body)

    async def delete(self, path: str) -> Answered:
        return await self.ask("DELETE", path)

    async def login(self, username: str, password: str) -> Caller:
        told = await self.post("/auth/login", {"username": username, "password": password})
        assert told.status == 200, told
        return self.with_token(told.body["access_token"])


class Face(NamedTuple):
    identity: Identity
    hooks: Admission
    nobody: Caller


@asynccontextmanager
async def open_face(
    client: Client,
    environment: Mapping[str, str],
    *,
    cost: Cost = CHEAP,
    namespace: str = "default",
    own: str = "kube-system",
) -> AsyncIterator[Face]:
    """`own` is the namespace of the process, which holds keys and password hashes."""
    await install(client, KINDS)
    private = NamespaceSecrets(client, own)
    gate = ReviewGate(client, namespace=namespace, kinds=kinds_of_types())
    async with (
        open_identity(client, private, gate=gate, namespace=namespace, environment=environment, cost=cost) as identity,
        open_hooks(client, gate=identity.gate, namespace=namespace, environment=environment) as hooks,
        aiohttp.ClientSession() as session,
    ):
        routes = Routes(refuse)
        identity.add_routes(routes.add)
        hooks.add_routes(routes.add)
        server = await serve(_handler(routes))
        try:
            yield Face(identity, hooks, Caller(f"http://127.0.0.1:{server.port}", session))
        finally:
            await server.stop(grace_s=1.0)


def _handler(routes: Routes) -> Any:
    async def handle(request: Request) -> Answer:
        try:
            answer = routes(request)
            return await answer if isinstance(answer, Awaitable) else answer
        except RefusalError as error:
            return refusal_reply(error)
        except ApiError as error:
            return refusal_reply(refusal_of(error))

    return handle
