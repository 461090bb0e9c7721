"""Keeps a Lease for this process, so that `/cluster/nodes` also lists processes that wait for leadership.

A leader is visible by the Lease of its operator; a standby holds none. Each server of this API therefore renews a Lease
of its own and deletes it at its end. The Lease of a process that crashed stays, is shown as NotReady, and is deleted by
another process after a day.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Final, Never

from homeostat.client.base import Client, UnreachableError
from homeostat.objects.errors import ApiError
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import LEASE
from homeostat.objects.time.timestamp import format_micro_time
from homeostat.web.actions.pages.nodes import HOSTNAME, NODE_PREFIX, PID, node_of, read_leases

log = logging.getLogger(__name__)

LEASE_S: Final = 60
_EVERY_S: Final = 20.0
_END_WITHIN_S: Final = 2.0
_STALE_AFTER: Final = timedelta(days=1)
_MANAGER: Final = "homeostat-rest"


class Heartbeat:
    """`identity` returns the identity of this process in leader election; empty before it takes part."""

    def __init__(
        self,
        client: Client,
        *,
        namespace: str,
        identity: Callable[[], str],
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._client, self._namespace, self._identity, self._now = client, namespace, identity, now
        self._started = now()
        self._name = ""

    async def run(self, every_s: float = _EVERY_S) -> Never:
        while True:
            try:
                if await self.beat():
                    await self.sweep()
            except (ApiError, UnreachableError) as error:
                log.debug("failed to renew the lease of this node", extra={"error": str(error)})
            await asyncio.sleep(every_s)

    async def beat(self) -> bool:
        """Renews the Lease; returns whether it is new."""
        node = node_of(self._identity())
        if not node:
            return False
        is_new, self._name = not self._name, f"{NODE_PREFIX}{hashlib.sha256(node.encode()).hexdigest()[:16]}"
        path = LEASE.path(self._namespace, self._name)
        await self._client.apply(path, self._lease(node), manager=_MANAGER, force=True)
        return is_new

    async def sweep(self) -> None:
        """Deletes the Leases of processes that crashed long ago."""
        leases = read_leases(await self._client.fetch("GET", LEASE.path(self._namespace)))
        for each in leases:
            is_stale = each.is_held and self._now() - each.renewed > _STALE_AFTER
            if each.metadata.name.startswith(NODE_PREFIX) and is_stale:
                await self._client.delete(LEASE.path(self._namespace, each.metadata.name))

    async def end(self) -> None:
        if self._name:
            with suppress(ApiError, UnreachableError, TimeoutError):
                async with asyncio.timeout(_END_WITHIN_S):
                    await self._client.delete(LEASE.path(self._namespace, self._name))

    def _lease(self, node: str) -> JsonObject:
        return {
            "apiVersion": LEASE.api_version,
            "kind": LEASE.kind,
            "metadata": {
                "name": self._name,
                "namespace": self._namespace,
                "annotations": {HOSTNAME: socket.gethostname(), PID: str(os.getpid())},
            },
            "spec": {
                "holderIdentity": node,
                "leaseDurationSeconds": LEASE_S,
                "acquireTime": format_micro_time(self._started),
                "renewTime": format_micro_time(self._now()),
            },
        }


@asynccontextmanager
async def beating(client: Client, *, namespace: str, identity: Callable[[], str]) -> AsyncIterator[None]:
    """Renews the Lease inside the block."""
    heartbeat = Heartbeat(client, namespace=namespace, identity=identity)
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(heartbeat.run())
        try:
            yield
        finally:
            task.cancel()
            await heartbeat.end()
