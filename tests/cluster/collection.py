"""The objects of one kind in one namespace: written through a client, and followed by an informer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress

from homeostat.client.base import Client, UnreachableError
from homeostat.objects.errors import ApiError
from homeostat.objects.kind import CONFIG_MAP, Kind
from homeostat.runtime.cache.informer import Informer, Informers
from homeostat.runtime.watch.source import Source
from homeostat.runtime.watch.watcher import Pace
from tests.runtime.faulty import QUICK, Mirror, eventually, versions
from tests.runtime.projections import Pod

PATIENT = Pace(backoff=QUICK.backoff, silence_s=10.0, steady_s=QUICK.steady_s, page=5)
"""As quick to come back as `QUICK`, but a real server's bookmarks are a minute apart."""


class Collection:
    def __init__(self, client: Client, namespace: str, kind: Kind = CONFIG_MAP) -> None:
        self.path = kind.path(namespace)
        self._client, self._namespace, self._kind = client, namespace, kind

    async def write(self, name: str, text: str = "") -> int:
        """Creates or changes it; answers with the version that it has then."""
        metadata = {"name": name, "annotations": {"example.com/text": text}}
        body = {"apiVersion": self._kind.api_version, "kind": self._kind.kind, "metadata": metadata}
        path = self._kind.path(self._namespace, name)
        written = await self._client.apply(path, body, manager="test", force=True)
        return int(written["metadata"]["resourceVersion"])

    async def write_all(self, names: Iterable[str], text: str = "") -> None:
        for name in names:
            await self.write(name, text)

    async def remove(self, name: str) -> None:
        await self._client.delete(self._kind.path(self._namespace, name))

    async def churn(self, rounds: int) -> None:
        """Ten objects that come, change and go."""
        for turn in range(rounds):
            await self.write(f"c{turn % 10}", f"turn {turn}")
            if turn % 7 == 3:
                await self.remove(f"c{turn % 10}")

    async def churn_anyway(self, rounds: int) -> None:
        """Changes, each tried until the server has taken it."""
        for turn in range(rounds):
            while True:
                with suppress(UnreachableError, ApiError):
                    await self.write(f"c{turn % 10}", f"turn {turn}")
                    break
                await asyncio.sleep(0.01)

    async def agree(self, mirror: Mirror, *, within_s: float = 30.0) -> None:
        """The mirror comes to show what the server has."""

        async def is_equal() -> bool:
            return mirror.versions == await versions(self._client, self.path)

        await eventually(is_equal, within_s=within_s)


@asynccontextmanager
async def running(informers: Informers) -> AsyncIterator[None]:
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(informers.run())
        yield
        task.cancel()


@asynccontextmanager
async def following(client: Client, path: str, pace: Pace = PATIENT) -> AsyncIterator[tuple[Informer[Pod], Mirror]]:
    """An informer that has its first list, and a mirror that notices what it loses."""
    informers = Informers(client, pace=pace)
    informer = informers.get(Source(path), Pod)
    mirror = Mirror(informer)
    async with running(informers):
        async with asyncio.timeout(30):
            await informer.synced()
        yield informer, mirror
