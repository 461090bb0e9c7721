"""What a control plane does behind its users' backs: garbage collection, deletion of namespaces and definitions, what
every namespace is furnished with, and what aggregated roles add up to. Kubernetes' controller manager does the same on
a real cluster, so this runs on the embedded plane only.
"""

from __future__ import annotations

import asyncio
import logging

from homeostat.client.base import Client
from homeostat.operators.housekeeping.collector import Collector
from homeostat.operators.housekeeping.definitions import Definitions
from homeostat.operators.housekeeping.feed import Feed
from homeostat.operators.housekeeping.furnishings import Furnishings
from homeostat.operators.housekeeping.namespaces import Namespaces
from homeostat.operators.housekeeping.queue import backoff_s
from homeostat.operators.housekeeping.roles import Roles

log = logging.getLogger(__name__)

__all__ = ["run"]


async def run(client: Client, *, authority: str) -> None:
    """Until cancelled. `authority` is the PEM text of the certificate that clients trust the server by.

    Everything it knows comes from the server, so after an error nobody expected it begins anew.
    """
    failures = 0
    while True:
        try:
            await _run_once(client, authority)
        except* Exception as errors:
            failures += 1
            log.error("housekeeping failed and begins anew", extra={"failures": failures}, exc_info=errors)
        await asyncio.sleep(backoff_s(failures, first_s=1.0))


async def _run_once(client: Client, authority: str) -> None:
    feed = Feed(client)
    keepers = (
        Collector(client, feed),
        Namespaces(client, feed),
        Definitions(client, feed),
        Furnishings(client, feed, authority=authority),
        Roles(client, feed),
    )
    async with asyncio.TaskGroup() as tasks:
        for keeper in keepers:
            tasks.create_task(keeper.run())
        tasks.create_task(feed.run())
