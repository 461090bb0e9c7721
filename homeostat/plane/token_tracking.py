"""Shows when a token in a Secret was last used, as kube-apiserver does: by a label of the Secret, with a date.

A token that is used every second costs one write a day. The ConfigMap that says since when uses are tracked, which
kube-controller-manager reads before it deletes unused tokens, is created with the first use.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from homeostat.client.base import Client, UnreachableError
from homeostat.objects.errors import AlreadyExistsError, ApiError
from homeostat.objects.json import JsonObject

log = logging.getLogger(__name__)

LAST_USED = "kubernetes.io/legacy-token-last-used"
_CONFIG_MAPS = "/api/v1/namespaces/kube-system/configmaps"
_TRACKING = "kube-apiserver-legacy-service-account-token-tracking"


class _Use(NamedTuple):
    namespace: str
    name: str
    uid: str
    day: str


class TokenTracking:
    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._uses: set[_Use] = set()
        self._is_noted = asyncio.Event()
        self._is_tracked = False

    @property
    def is_due(self) -> bool:
        """Whether to write the use."""
        return bool(self._uses)

    def note(self, secret: JsonObject) -> None:
        """The token of the Secret was used now. A date of tomorrow is of a replica whose clock is ahead."""
        now, metadata = datetime.fromtimestamp(self._clock(), UTC), secret["metadata"]
        day = f"{now:%Y-%m-%d}"
        if (metadata.get("labels") or {}).get(LAST_USED) in (day, f"{now + timedelta(days=1):%Y-%m-%d}"):
            return
        self._uses.add(_Use(metadata["namespace"], metadata["name"], metadata["uid"], day))
        self._is_noted.set()

    async def run(self, client: Client) -> None:
        """Write what was noted, until cancelled. A write that fails is tried again at the next use."""
        while True:
            await self._is_noted.wait()
            self._is_noted.clear()
            while self._uses:
                use = self._uses.pop()
                try:
                    await self._write(client, use)
                except (ApiError, UnreachableError) as error:
                    extra = {"namespace": use.namespace, "secret": use.name, "reason": str(error)}
                    log.warning("failed to label secret with the last use of its token", extra=extra)

    async def _write(self, client: Client, use: _Use) -> None:
        if not self._is_tracked:
            metadata = {"name": _TRACKING, "namespace": "kube-system"}
            tracking = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"since": use.day}}
            with suppress(AlreadyExistsError):
                await client.create(_CONFIG_MAPS, tracking)
            self._is_tracked = True
        labelled = {"metadata": {"uid": use.uid, "labels": {LAST_USED: use.day}}}
        await client.merge(f"/api/v1/namespaces/{use.namespace}/secrets/{use.name}", labelled)
