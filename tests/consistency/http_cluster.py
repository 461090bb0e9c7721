"""Planes that can be killed, spoken to over the Kubernetes API in the words of the checker.

A text is a ConfigMap's. A write that expects nothing is a create, one that expects a revision an update under that
`resourceVersion`, and a deletion has it as its precondition. A refusal does not tell what is there; it is asked for at
once, within the same step.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable
from contextlib import AsyncExitStack
from pathlib import Path

from homeostat.client.base import Client, Event, UnreachableError
from homeostat.objects.errors import AlreadyExistsError, ApiError, ConflictError, NotFoundError, UnavailableError
from homeostat.objects.json import JsonObject
from tests.consistency.clients import NAMES
from tests.consistency.cluster import Cluster, Connection, Member
from tests.consistency.messages import Answer, Delivered, Failed, Found, Read, Refused, Request, Stored, Watch, Write
from tests.replicas.replica import Replica, open_clients

NAMESPACE = "check"
PATH = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
_STARTS = 5
_UNCERTAIN = "the outcome of the commit is unknown"


class PlaneMember(Member):
    """`homeostat up`, and a client of it that outlives its restarts."""

    client: Client

    def __init__(self, replica: Replica) -> None:
        self._replica = replica
        self.port = 0

    async def start(self) -> None:
        """Again if it ends, as an orchestrator does: a start may meet a cut too."""
        for _ in range(_STARTS):
            self._replica.begin()
            if await asyncio.to_thread(self._replica.becomes_ready):
                self.port = self._replica.port
                return
        raise AssertionError(self._replica.said())

    async def kill(self) -> None:
        self.port = 0
        await asyncio.to_thread(self._replica.kill)

    async def pause(self, seconds: float) -> None:
        """Clients go on with what they have asked it, and begin nothing new with it."""
        self.port = 0
        self._replica.pause()
        await asyncio.sleep(seconds)
        self._replica.resume()
        self.port = self._replica.port

    async def call(self, stack: AsyncExitStack) -> None:
        (self.client,) = await stack.enter_async_context(open_clients([self._replica.endpoint]))


class PlaneCluster(Cluster):
    def __init__(self, url: str, data: Path) -> None:
        self.planes = [PlaneMember(Replica(data, url, "--operators", "housekeeping")) for _ in range(3)]
        self.members: list[Member] = [*self.planes]
        self._clients = AsyncExitStack()
        self.began_at = 0
        """The revision before the first write."""

    async def start(self) -> None:
        await super().start()
        for plane in self.planes:
            await plane.call(self._clients)
        made = await self.planes[0].client.create("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        self.began_at = int(made["metadata"]["resourceVersion"])

    async def stop(self) -> None:
        await self._clients.aclose()
        await super().stop()

    async def connect(self, chance: random.Random) -> Connection:
        up = [plane.client for plane in self.planes if plane.port]
        if not up:
            raise ConnectionRefusedError("no plane is up")
        return Conversation(chance.choice(up), self.began_at)


class Conversation(Connection):
    def __init__(self, client: Client, began_at: int) -> None:
        self._client, self._began_at = client, began_at
        self._asked: Request | None = None
        self._events: AsyncIterator[Event] | None = None

    def send(self, request: Request) -> None:
        self._asked = request

    async def receive(self) -> Answer:
        match self._asked:
            case Read() as asked:
                return await self._answered(read(self._client, asked))
            case Write() as asked:
                return await self._answered(write(self._client, asked))
            case Watch(since=since):
                return await self._next(since)
        raise AssertionError("nothing was asked")

    def close(self) -> None:
        """The connections are the client's."""

    async def _answered(self, doing: Awaitable[Answer]) -> Answer:
        try:
            return await doing
        except UnavailableError as error:
            return Failed(str(error), is_uncertain=_UNCERTAIN in str(error))
        except UnreachableError as error:
            raise ConnectionResetError(str(error)) from error

    async def _next(self, since: int) -> Answer:
        if self._events is None:
            self._events = self._client.watch(PATH, resourceVersion=str(since or self._began_at))
        try:
            async for event in self._events:
                if event.obj["metadata"]["name"] in NAMES:
                    return delivered(event)
        except (UnreachableError, UnavailableError) as error:
            raise ConnectionResetError(str(error)) from error
        raise ConnectionResetError("the watch has ended")


async def read(client: Client, asked: Read) -> Answer:
    try:
        obj = await client.get(f"{PATH}/{asked.name}")
    except NotFoundError:
        return Found(0)
    return Found(revision_of(obj), text_of(obj))


async def write(client: Client, asked: Write) -> Answer:
    path = f"{PATH}/{asked.name}"
    obj: JsonObject = {"metadata": {"name": asked.name}, "data": {"text": asked.text}}
    try:
        if asked.is_deletion:
            await client.delete(path, {"preconditions": {"resourceVersion": str(asked.expect)}})
            return Stored(0)
        if not asked.expect:
            return Stored(revision_of(await client.create(PATH, obj)))
        obj["metadata"]["resourceVersion"] = str(asked.expect)
        return Stored(revision_of(await client.update(path, obj)))
    except NotFoundError:
        return Refused(0)
    except (AlreadyExistsError, ConflictError) as refusal:
        return await _refused(client, asked, refusal)


async def _refused(client: Client, asked: Write, refusal: ApiError) -> Answer:
    try:
        found = await read(client, Read(asked.name))
    except (UnavailableError, UnreachableError):
        return Failed(str(refusal))
    assert isinstance(found, Found)
    # Something that was in the way of a create may be gone by now; no revision ever comes back.
    return Failed(str(refusal)) if found.revision == asked.expect == 0 else Refused(found.revision)


def delivered(event: Event) -> Delivered:
    return Delivered(revision_of(event.obj), event.type, event.obj["metadata"]["name"], text_of(event.obj))


def revision_of(obj: JsonObject) -> int:
    return int(obj["metadata"]["resourceVersion"])


def text_of(obj: JsonObject) -> str:
    return str(obj["data"]["text"])
