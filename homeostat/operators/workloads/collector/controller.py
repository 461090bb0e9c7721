"""Deletes ended Pods of all namespaces beyond a number, so that those that nobody deletes do not fill the store."""

from __future__ import annotations

import asyncio
from typing import Final

from homeostat.client.base import Client, UnreachableError
from homeostat.objects.errors import ApiError
from homeostat.objects.kind import POD
from homeostat.operators.workloads.api import Pod
from homeostat.operators.workloads.collector.decide import surplus
from homeostat.runtime.cache.informer import Informer
from homeostat.runtime.setup import Setup

_EVERY_S: Final = 20.0
_AT_ONCE: Final = 64


class Collector:
    def __init__(self, setup: Setup, pods: Informer[Pod], most: int) -> None:
        self._client, self._pods, self._most = setup.client, pods.cache, most
        if most > 0:
            setup.run(self._run)

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(_EVERY_S)
            pods = surplus(self._pods, self._most)
            for start in range(0, len(pods), _AT_ONCE):
                await asyncio.gather(*(_try_delete(self._client, each) for each in pods[start : start + _AT_ONCE]))


async def _try_delete(client: Client, pod: Pod) -> None:
    try:
        await client.delete(POD.path(*pod.key), {"gracePeriodSeconds": 0, "preconditions": {"uid": pod.metadata.uid}})
    except (ApiError, UnreachableError):
        return  # The next round deletes it.
