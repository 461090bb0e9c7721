"""The services for pages: opened with the first page that needs them, as the contracts API does."""

from __future__ import annotations

import asyncio
import os
from importlib import import_module
from typing import TYPE_CHECKING

from homeostat.client.base import Client
from homeostat.objects.errors import NotFoundError
from homeostat.operators.contracts.api import PACTO
from homeostat.operators.contracts.engine.services.catalogue import Catalogue
from homeostat.web.dashboard.visit import Scope
from homeostat.web.kit.gate import OpenGate
from homeostat.web.kit.readiness import wait_ready

if TYPE_CHECKING:
    from homeostat.web.contracts.context import ContractsFace
    from homeostat.web.contracts.index import ServiceIndex


class Services:
    def __init__(self, client: Client, within: str = "") -> None:
        self._client, self._within = client, within
        self._wanted, self._opened = asyncio.Event(), asyncio.Event()
        self._face: ContractsFace | None = None

    async def run(self) -> None:
        await self._wanted.wait()
        # Who sees the pages is checked by the section; the gate of the API is not used.
        gate, within = OpenGate(), self._within
        # In a thread: it imports the client of registries, too.
        serving = await asyncio.to_thread(import_module, "homeostat.web.contracts.serving")
        opened = serving.open_face(self._client, gate=gate, namespace="", environment=os.environ, within=within)
        async with opened as face:
            self._face = face
            self._opened.set()
            await asyncio.Event().wait()

    async def face(self) -> ContractsFace | None:
        """None if the server has no Pactos. `RefusalError` 503 if the first list takes too long."""
        if not self._wanted.is_set():
            try:
                await self._client.fetch("GET", PACTO.kind.path(self._within), {"limit": 1})
            except NotFoundError:
                return None
            self._wanted.set()
        await wait_ready(self._synced(), "the server has not listed the Pactos")
        return self._face

    async def _synced(self) -> None:
        await self._opened.wait()
        assert self._face is not None
        await self._face.visibility.index.synced()

    async def index(self) -> ServiceIndex | None:
        face = await self.face()
        return None if face is None else face.visibility.index

    async def catalogue(self, scope: Scope) -> Catalogue:
        index = await self.index()
        return Catalogue() if index is None else await index.view(scope)
