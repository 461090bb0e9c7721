"""What runs beside the controller: probes of endpoints, and the loading of contracts and OpenAPI documents."""

from __future__ import annotations

import asyncio

from homeostat.operators.contracts.live.routes import PactoRoutes
from homeostat.operators.contracts.loading.loader import Loader
from homeostat.operators.contracts.loading.registries import Registries
from homeostat.operators.contracts.probes.document import send_document
from homeostat.operators.contracts.probes.prober import WORKERS, Prober
from homeostat.operators.contracts.probes.request import probe_client, send_probe
from homeostat.operators.contracts.settings import Settings
from homeostat.runtime.setup import Setup


class Background:
    def __init__(self, setup: Setup, routes: PactoRoutes, settings: Settings) -> None:
        client = self._client = probe_client(setup.environment, connections=WORKERS)
        self._registries = Registries(setup.directory, setup.environment)
        self.prober = Prober(lambda url: send_probe(client, url, _seconds), routes.enqueue, _seconds)
        self.documents = Prober(lambda url: send_document(client, url, _seconds), routes.enqueue, _seconds)
        self.loader = Loader(
            self._registries.source,
            routes.repository_changed,
            most_versions=settings.revision_limit,
            seconds=_seconds,
            try_again=self._registries.try_again,
        )

    @property
    def sent(self) -> int:
        """How many requests were sent to endpoints."""
        return self.prober.sent + self.documents.sent

    async def probe(self) -> None:
        async with self._client, asyncio.TaskGroup() as tasks:
            tasks.create_task(self.prober.run())
            tasks.create_task(self.documents.run())

    async def load(self) -> None:
        async with self._registries:
            await self.loader.run()


def _seconds() -> float:
    return asyncio.get_running_loop().time()
