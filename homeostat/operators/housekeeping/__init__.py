"""Background controllers of a control plane: garbage collection, deletion of namespaces and definitions, the default
objects of every namespace, tokens in Secrets, aggregated roles, APIServices, the addresses of Services, and the release
of deleted claims and volumes. On a real cluster kube-controller-manager and kube-apiserver do this, so it runs on the
embedded plane only.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Protocol

from homeostat.client.base import Client
from homeostat.objects.time.backoff import Backoff
from homeostat.operators.housekeeping.addresses import Addresses
from homeostat.operators.housekeeping.api_services import ApiServices
from homeostat.operators.housekeeping.definitions import Definitions
from homeostat.operators.housekeeping.flow_control import FlowControl
from homeostat.operators.housekeeping.garbage.collector import Collector
from homeostat.operators.housekeeping.metadata.feed import Feed
from homeostat.operators.housekeeping.namespaces.controller import Namespaces
from homeostat.operators.housekeeping.namespaces.defaults import NamespaceDefaults
from homeostat.operators.housekeeping.quotas import Quotas
from homeostat.operators.housekeeping.roles import Roles
from homeostat.operators.housekeeping.storage_protection import StorageProtection
from homeostat.operators.housekeeping.token_secrets import Sign, TokenSecrets

log = logging.getLogger(__name__)

__all__ = ["run"]

_BACKOFF = Backoff(first_s=1.0, cap_s=60.0)
_STEADY_S = 300.0


class Keeper(Protocol):
    async def run(self) -> None: ...


async def run(client: Client, *, authority: str, sign: Sign | None = None, service_cidr: str = "") -> None:
    """Runs until cancelled. `authority` is the PEM text of the certificate authority of the server. `sign` signs tokens
    of service accounts; without it Secrets get none. Without `service_cidr` addresses of Services get no objects.

    Failed requests and watches are retried where they happen. A defect of ours ends all controllers. They keep no state
    of their own, so they are restarted, and the plane keeps running.
    """
    loop = asyncio.get_running_loop()
    failures = 0
    while True:
        began = loop.time()
        try:
            await _run_once(client, authority, sign, service_cidr)
        except* Exception as errors:
            failures = 1 if loop.time() - began > _STEADY_S else failures + 1
            log.error("housekeeping failed; restarting", extra={"failures": failures}, exc_info=errors)
        await asyncio.sleep(_BACKOFF.delay_s(failures, chance=0.0))


async def _run_once(client: Client, authority: str, sign: Sign | None, service_cidr: str) -> None:
    feed = Feed(client)
    keepers: list[Keeper] = [
        Collector(client, feed),
        Namespaces(client, feed),
        Definitions(client, feed),
        NamespaceDefaults(client, feed, authority=authority),
        Roles(client, feed),
        ApiServices(client, feed),
        FlowControl(client, feed),
        Quotas(client, feed),
        StorageProtection(client, feed),
    ]
    if sign is not None:
        keepers.append(TokenSecrets(client, feed, authority=authority, sign=sign))
    if service_cidr:
        keepers.append(Addresses(client, service_cidr))
    async with asyncio.TaskGroup() as tasks:
        for keeper in keepers:
            tasks.create_task(keeper.run())
        tasks.create_task(feed.run())
