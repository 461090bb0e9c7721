"""Servers of the REST API with its events, one or several on a plane, and what readers make of what they are told."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

from homeostat.client.base import Client
from homeostat.edge.limits import Limits
from homeostat.edge.request import Request
from homeostat.edge.server import serve
from homeostat.runtime.faces.hosting import LIMITS
from homeostat.web.actions.app import refuse, rest_app
from homeostat.web.actions.events.pages import Events, open_events
from homeostat.web.kit.gate import Caller, Gate, OpenGate, Operation, Question, SystemPermission
from homeostat.web.kit.refusal import forbidden, unauthorized
from tests.web.actions.calling import NOTE_TYPE, Api
from tests.web.actions.listening import Delivered, Listener
from tests.web.rest import open_face

PAGE_TYPE = {**NOTE_TYPE, "name": "Page"}


class Reader:
    """May read some types."""

    id, is_admin, is_cluster_user, username, groups = 7, False, False, "reader", ()

    def __init__(self, types: set[str]) -> None:
        self._types = types

    def client(self, own: Client) -> Client:
        raise forbidden("has no permissions in the Kubernetes API")

    async def may(self, type_name: str, type_version: str, operation: Operation) -> bool:
        return type_name in self._types and operation == "READ"

    async def has(self, permission: SystemPermission) -> bool:
        return False

    async def may_read_secret(self, name: str) -> bool:
        return False

    async def allows(self, question: Question) -> bool:
        return False


class ReaderGate:
    """Lets in everybody as an administrator, but a reader as such, as long as it is let in at all."""

    def __init__(self) -> None:
        self.types = {"Note"}
        self.is_shut = False
        self._open = OpenGate()

    async def identify(self, request: Request) -> Caller:
        if "reader" not in request.headers:
            return await self._open.identify(request)
        if self.is_shut:
            raise unauthorized()
        return Reader(set(self.types))


@asynccontextmanager
async def replica(
    client: Client, *, gate: Gate | None = None, limits: Limits = LIMITS, keep_alive_s: float = 15.0
) -> AsyncIterator[tuple[Api, Events]]:
    async with (
        open_face(client, gate=gate or OpenGate()) as face,
        open_events(face, keep_alive_s=keep_alive_s) as events,
        aiohttp.ClientSession() as session,
    ):
        server = await serve(rest_app(face, more=[events.add_routes]), limits=limits, refuse=refuse)
        yield Api(session, f"http://127.0.0.1:{server.port}"), events
        await server.stop()


def is_quiet(resource: Any) -> bool:
    """Nothing more is written about it by itself."""
    conditions = {each["type"]: each["status"] for each in resource["conditions"]}
    return resource["status"] in ("ready", "failed") and conditions.get("Ready") in ("True", "False")


def is_settled(told: Delivered) -> bool:
    return is_quiet(told.data["resource_data"])


async def settled(listener: Listener, name: str) -> list[Delivered]:
    return await listener.until(lambda told: told.name == name and is_settled(told))


def bodies(told: list[Delivered], name: str) -> list[Any]:
    return [each.data for each in told if each.name == name]
