"""The resourceVersions of objects that Pactos name, such as Secrets: when to read one again.

Only metadata is watched, and only from the first Pacto on that names an object of the kind.
"""

from __future__ import annotations

import asyncio
from typing import Final

import msgspec

from homeostat.objects.kind import Kind
from homeostat.operators.contracts.live.projections import SeenMetadata
from homeostat.operators.contracts.live.targets import OnChange
from homeostat.runtime.cache.informer import Informer
from homeostat.runtime.setup import Setup

_SYNC_WITHIN_S: Final = 2.0


class SeenObject(msgspec.Struct, frozen=True):
    metadata: SeenMetadata


class Versions:
    def __init__(self, setup: Setup, kind: Kind, on_change: OnChange) -> None:
        self._setup, self._kind, self._on_change = setup, kind, on_change
        self._informer: Informer[SeenObject] | None = None

    async def find(self, namespace: str, name: str) -> str:
        """Empty if it is not known yet; then the object has to be read each time."""
        if self._informer is None:
            self._informer = self._setup.watch(self._kind, SeenObject, is_metadata_only=True)
            self._informer.add_handler(lambda change: self._on_change(change.namespace, change.name))
        if not self._informer.cache.is_synced:
            try:
                async with asyncio.timeout(_SYNC_WITHIN_S):
                    await self._informer.synced()
            except TimeoutError:
                return ""
        found = self._informer.cache.readable(namespace, name)
        return "" if found is None else found.metadata.resource_version
