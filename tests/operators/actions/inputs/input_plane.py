"""The actions operator on a real plane with a type of resources, for tests of what comes in."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from homeostat.client.base import Client, Response, Transport, UnreachableError
from homeostat.objects.errors import NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.operators import actions
from homeostat.operators.actions.api import KINDS, REQUESTED, RESOURCE_TYPE, RESOURCES
from homeostat.operators.actions.inputs.api import RESOURCE_INPUT
from homeostat.plane import Settings, open_plane
from homeostat.runtime.installation import install
from homeostat.runtime.manager import Manager
from homeostat.testing.eventually import eventually
from homeostat.testing.status import condition_of

SCHEMA: JsonObject = {
    "type": "object",
    "required": ["text"],
    "properties": {"text": {"type": "string"}, "size": {"type": "integer", "default": 1}},
}


class Faulty:
    """What the operator's requests go through: those about a plural that is named among the faults get nowhere."""

    def __init__(self, transport: Transport, faults: set[str]) -> None:
        self._transport, self._faults = transport, faults

    async def send(
        self, method: str, path: str, *, query: str = "", body: bytes = b"", content_type: str = "", accept: str = ""
    ) -> Response:
        if self._faults & {*path.split("/")}:
            raise UnreachableError(f"{method} {path}: the wire is cut")
        return await self._transport.send(
            method, path, query=query, body=body, content_type=content_type, accept=accept
        )

    async def stream(self, path: str, *, query: str = "", accept: str = "") -> Response | AsyncIterator[bytes]:
        return await self._transport.stream(path, query=query, accept=accept)


class InputPlane:
    """`things` are resources of the type Thing in the namespace `default`."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.faults: set[str] = set()
        self._asked = 0

    async def declare_type(self, name: str = "Thing") -> None:
        spec = {"name": name, "version": "v1", "schema": SCHEMA}
        obj = {"apiVersion": "homeostat.dev/v1alpha1", "kind": "ResourceType", "metadata": {"name": name.lower()}}
        await self.client.create(RESOURCE_TYPE.kind.path(""), {**obj, "spec": spec})

    async def declare_input(self, name: str, plugin: str, config: JsonObject, **spec: Any) -> None:
        obj = {"apiVersion": "homeostat.dev/v1alpha1", "kind": "ResourceInput", "metadata": {"name": name}}
        whole = {**obj, "spec": {"plugin": plugin, "config": config, "intervalSeconds": 1, **spec}}
        await self.client.create(RESOURCE_INPUT.kind.path("default"), whole)

    async def hasten(self, name: str) -> None:
        """The source is read now, and not only when its interval is over."""
        self._asked += 1
        asked = {"metadata": {"annotations": {REQUESTED: str(self._asked)}}}
        await self.client.merge(RESOURCE_INPUT.kind.path("default", name), asked)

    async def input(self, name: str) -> JsonObject:
        return await self.client.get(RESOURCE_INPUT.kind.path("default", name))

    async def reported(self, name: str, *, reason: str, **status: Any) -> JsonObject:
        """The input, once its Ready condition has this reason and its status these fields."""

        def fits(obj: JsonObject) -> bool:
            held = obj.get("status") or {}
            is_there = condition_of(obj, "Ready").get("reason") == reason
            return is_there and all(held.get(word) == value for word, value in status.items())

        obj: JsonObject = await eventually(lambda: self.input(name), fits)
        return obj

    async def things(self) -> dict[str, str]:
        items, _ = await self.client.list(self.path())
        return {each["metadata"]["name"]: each["spec"]["text"] for each in items}

    async def become(self, wanted: dict[str, str]) -> None:
        await eventually(self.things, lambda found: found == wanted)

    def path(self, name: str = "", plural: str = "things") -> str:
        base = f"/apis/{RESOURCES}/v1/namespaces/default/{plural}"
        return f"{base}/{name}" if name else base

    async def is_gone(self, path: str) -> bool:
        try:
            await self.client.get(path)
        except NotFoundError:
            return True
        return False


def thing(name: str, text: str = "hello", **more: Any) -> JsonObject:
    return {
        "apiVersion": f"{RESOURCES}/v1",
        "kind": "Thing",
        "metadata": {"name": name},
        "spec": {"text": text},
        **more,
    }


@asynccontextmanager
async def opened(data: Path, directory: Path) -> AsyncIterator[tuple[InputPlane, Callable[..., Manager]]]:
    """A plane without an operator, and a way to start one as a new process would, in an environment."""
    async with open_plane(Settings(data=data, port=0, operators=frozenset())) as server:
        await install(server.client, KINDS)

        plane = InputPlane(server.client)
        client = server.client.over(lambda transport: Faulty(transport, plane.faults))

        def operator(**environment: str) -> Manager:
            manager = Manager(client, directory=directory, environment=environment)
            manager.add("actions", actions.register)
            return manager

        yield plane, operator
