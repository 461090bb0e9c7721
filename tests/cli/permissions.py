"""Operators that act as a service account, and what they ask of the server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import replace

from homeostat.client.base import Client, Response, Transport
from homeostat.client.connect import open_client
from homeostat.objects.json import JsonObject
from tests.cluster.fixtures import Api

_VERBS = {"POST": "create", "PATCH": "patch", "DELETE": "delete", "PUT": "update", "WATCH": "watch"}
Used = set[tuple[str, str]]
"""Resources and verbs."""


class Noting:
    """A transport that notes what is asked, as a role would grant it, and what was refused."""

    def __init__(self, transport: Transport, used: Used, refused: list[str]) -> None:
        self._transport, self._used, self._refused = transport, used, refused

    async def send(self, method: str, path: str, **options: str | bytes) -> Response:
        answer = await self._transport.send(method, path, **options)  # type: ignore[arg-type]
        self._note(method, path, answer.status)
        return answer

    async def stream(self, path: str, **options: str) -> Response | AsyncIterator[bytes]:
        answer = await self._transport.stream(path, **options)
        self._note("WATCH", path, answer.status if isinstance(answer, Response) else 200)
        return answer

    def _note(self, method: str, path: str, status: int) -> None:
        parts = path.strip("/").split("/")[2 if path.startswith("/api/") else 3 :]
        if parts[:1] == ["namespaces"] and len(parts) > 2:
            parts = parts[2:]
        verb = _VERBS.get(method) or ("get" if len(parts) > 1 else "list")
        name = "/".join(parts[::2])
        # What is applied and was not there is made.
        self._used |= {(name, verb), *([(name, "create")] if status == 201 else [])}
        if status == 403:
            self._refused.append(f"{method} {path}")


@asynccontextmanager
async def acting_as(api: Api, namespace: str, account: str) -> AsyncIterator[Client]:
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token"
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 600}}
    token = (await api.client.create(path, body))["status"]["token"]
    endpoint = replace(api.endpoint, token=token, certificate=None, key=None)
    async with open_client(endpoint) as client:
        yield client


def granted_by(rules: Iterable[JsonObject]) -> Used:
    return {(name, verb) for rule in rules for name in rule["resources"] for verb in rule["verbs"]}
