"""Admission webhooks of the REST API, put together over a client.

async with open_hooks(client, gate=gate, namespace="default", environment=os.environ) as hooks:
    hooks.add_routes(routes.add)
    spec = await hooks.admit("CREATE", resource, None)
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from homeostat.client.base import Client
from homeostat.objects.json import JsonObject
from homeostat.runtime.cache.informer import Informers
from homeostat.web.actions.webhooks.api import REST_WEBHOOK
from homeostat.web.actions.webhooks.chain import Chain
from homeostat.web.actions.webhooks.records import Webhook
from homeostat.web.actions.webhooks.targets import allows_private
from homeostat.web.actions.webhooks.webhooks import Webhooks
from homeostat.web.kit.gate import Gate
from homeostat.web.kit.records.register import Register
from homeostat.web.kit.routing import Add, Row, add_table


class Admission:
    """Implements `Hooks`. Nothing is admitted before the list of webhooks is known."""

    def __init__(self, register: Register[Webhook], webhooks: Webhooks, chain: Chain) -> None:
        self._register, self._webhooks, self._chain = register, webhooks, chain

    async def admit(self, operation: str, resource: JsonObject, old: JsonObject | None) -> JsonObject:
        await self._register.ready()
        return await self._chain.admit(operation, resource, old)

    def add_routes(self, add: Add) -> None:
        webhooks = self._webhooks
        rows: tuple[Row, ...] = (
            ("POST", "", webhooks.create),
            ("GET", "", webhooks.list),
            ("GET", "/{id}", webhooks.show),
            ("PUT", "/{id}", webhooks.change),
            ("DELETE", "/{id}", webhooks.delete),
        )
        add_table(add, "/api/v1/admission-webhooks", rows, ready=self._register.ready)


@asynccontextmanager
async def open_hooks(
    client: Client, *, gate: Gate, namespace: str, environment: Mapping[str, str]
) -> AsyncIterator[Admission]:
    informers, is_private_allowed = Informers(client), allows_private(environment)
    register = Register(client, informers, REST_WEBHOOK, Webhook, namespace=namespace)
    webhooks = Webhooks(register, gate, is_private_allowed=is_private_allowed)
    chain = Chain(lambda: [each.spec for each in register.all()], is_private_allowed=is_private_allowed)
    async with asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(informers.run()), tasks.create_task(register.numbering())]
        try:
            yield Admission(register, webhooks, chain)
        finally:
            for task in running:
                task.cancel()
            await chain.close()
