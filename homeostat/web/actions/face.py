"""What all pages of this API share: the client, the index, the gate and the plugins."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

import msgspec

from homeostat.client.base import Client
from homeostat.edge.request import Request
from homeostat.objects.json import Json, encode
from homeostat.objects.time.timestamp import format_micro_time
from homeostat.web.actions.index.entry import TypeEntry
from homeostat.web.actions.index.index import ResourceIndex
from homeostat.web.actions.plugins import Plugins
from homeostat.web.kit.acting import acting_client
from homeostat.web.kit.gate import Caller, Gate, Hooks, NoHooks, Operation
from homeostat.web.kit.readiness import wait_ready
from homeostat.web.kit.records.ids import Ids
from homeostat.web.kit.refusal import forbidden, unprocessable
from homeostat.web.kit.walks import Walks

LARGEST_PART: Final = 1 << 20
"""The limit for a spec or a configuration, in bytes of JSON."""


class Face(msgspec.Struct):
    client: Client
    namespace: str
    index: ResourceIndex
    ids: Ids
    gate: Gate
    plugins: Plugins
    hooks: Hooks = msgspec.field(default_factory=NoHooks)
    identity: Callable[[], str] = lambda: ""
    """Returns the identity of this process in leader election."""
    leases: str = ""
    """The namespace of the leases; empty if this process leads without leader election."""
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    walks: Walks = msgspec.field(default_factory=Walks)
    """For searches among all resources."""

    async def ready(self) -> None:
        if not self.index.is_synced:
            await wait_ready(self.index.synced())

    async def identify(self, request: Request) -> Caller:
        await self.ready()
        return await self.gate.identify(request)

    def acting(self, caller: Caller) -> Client:
        """The client for writes that the caller requested."""
        return acting_client(caller, self.client)

    async def claim_on(self, resource_type: TypeEntry) -> str:
        """Returns the plugin that claims the type; empty if none does."""
        return (await self.plugins.known()).claims.get(resource_type.spec.name, "")

    def stamp(self) -> str:
        """Returns a new value for the annotation that triggers a reconciliation."""
        return format_micro_time(self.now())


async def check_right(caller: Caller, name: str, version: str, operation: Operation) -> None:
    if not await caller.may(name, version, operation):
        raise forbidden(f"Insufficient permissions: {caller.username} is not allowed to {operation} {name}/{version}")


def check_size(part: str, value: Json) -> None:
    if len(encode(value)) > LARGEST_PART:
        raise unprocessable(("body", part), f"{part} is larger than {LARGEST_PART} bytes of JSON", "too_long")
