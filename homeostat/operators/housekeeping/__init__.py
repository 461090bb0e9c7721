"""What a control plane does behind its users' backs: garbage collection, deletion of namespaces and definitions, what
every namespace is furnished with, and what aggregated roles add up to. Kubernetes' controller manager does the same on
a real cluster, so this runs on the embedded plane only.
"""

from __future__ import annotations

import asyncio
import logging

from homeostat.client.base import Client
from homeostat.objects.time.backoff import Backoff
from homeostat.operators.housekeeping.definitions import Definitions
from homeostat.operators.housekeeping.garbage.collector import Collector
from homeostat.operators.housekeeping.metadata.feed import Feed
from homeostat.operators.housekeeping.namespaces.controller import Namespaces
from homeostat.operators.housekeeping.namespaces.defaults import NamespaceDefaults
from homeostat.operators.housekeeping.roles import Roles

log = logging.getLogger(__name__)

__all__ = ["run"]

_BACKOFF = Backoff(first_s=1.0, cap_s=60.0)
_STEADY_S = 300.0


async def run(client: Client, *, authority: str) -> None:
    """Until cancelled. `authority` is the PEM text of the certificate that clients trust the server by.

    What the world does to a request or a watch is retried where it happens. A mistake of ours ends everything, and
    since all that is known comes from the server, housekeeping restarts, and the plane keeps running.
    """
    loop = asyncio.get_running_loop()
    failures = 0
    while True:
        began = loop.time()
        try:
            await _run_once(client, authority)
        except* Exception as errors:
            failures = 1 if loop.time() - began > _STEADY_S else failures + 1
            log.error("housekeeping failed; restarting", extra={"failures": failures}, exc_info=errors)
        await asyncio.sleep(_BACKOFF.delay_s(failures, chance=0.0))


async def _run_once(client: Client, authority: str) -> None:
    feed = Feed(client)
    keepers = (
        Collector(client, feed),
        Namespaces(client, feed),
        Definitions(client, feed),
        NamespaceDefaults(client, feed, authority=authority),
        Roles(client, feed),
    )
    async with asyncio.TaskGroup() as tasks:
        for keeper in keepers:
            tasks.create_task(keeper.run())
        tasks.create_task(feed.run())
