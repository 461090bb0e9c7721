"""Honest clients: writers that note what was acknowledged, and a watcher that notes what it saw.

Each writer owns its objects, so the last acknowledged write of an object is what must be there in the end. A write
without an answer may have been stored or not.
"""

from __future__ import annotations

import asyncio
import random
from contextlib import aclosing
from dataclasses import dataclass, field

from homeostat.client.base import Client, UnreachableError
from homeostat.objects.errors import ApiError, ExpiredError, NotFoundError

SPACE = "/api/v1/namespaces/honest"
COLLECTION = f"{SPACE}/configmaps"
_OBJECTS = 20
_PAUSE_S = 0.02
_AGAIN_S = 0.2
_CATCH_UP_S = 30.0


@dataclass
class Known:
    """What must be there of one object: its text, or None for a deleted one, and what else may be there."""

    text: str | None = None
    maybe: list[str | None] = field(default_factory=list)

    def allows(self, found: str | None) -> bool:
        return found == self.text or found in self.maybe


@dataclass
class Writer:
    client: Client
    number: int
    acknowledged: int = 0
    failed: int = 0
    known: dict[str, Known] = field(default_factory=dict)
    revisions: list[int] = field(default_factory=list)

    async def run(self) -> None:
        while True:
            await self._write(f"w{self.number}-{random.randrange(_OBJECTS)}")
            await asyncio.sleep(_PAUSE_S)

    async def _write(self, name: str) -> None:
        known = self.known.setdefault(name, Known())
        is_deletion = known.text is not None and random.random() < 0.2
        wanted = None if is_deletion else f"{self.number}-{self.acknowledged + self.failed}"
        try:
            revision = await self._send(name, wanted)
        except NotFoundError:
            known.text, known.maybe = None, []
            return
        except (ApiError, UnreachableError, TimeoutError, asyncio.CancelledError) as error:
            self.failed += 1
            known.maybe.append(wanted)
            if isinstance(error, asyncio.CancelledError):
                raise
            return
        self.acknowledged += 1
        known.text, known.maybe = wanted, []
        if revision:
            self.revisions.append(revision)

    async def _send(self, name: str, text: str | None) -> int:
        if text is None:
            await self.client.delete(f"{COLLECTION}/{name}")
            return 0
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"text": text}}
        done = await self.client.apply(f"{COLLECTION}/{name}", body, manager="soak", force=True)
        return int(done["metadata"]["resourceVersion"])


@dataclass
class Watcher:
    client: Client
    seen: set[int] = field(default_factory=set)
    newest: int = 0
    faults: list[str] = field(default_factory=list)
    reopened: int = 0
    _woken: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self) -> None:
        while True:
            try:
                events = self.client.watch(COLLECTION, resourceVersion=self.newest, allowWatchBookmarks="true")
                async with aclosing(events) as opened:  # type: ignore[type-var]
                    async for event in opened:
                        self._note(event.type, int(event.obj["metadata"]["resourceVersion"]))
            except ExpiredError:
                self.faults.append(f"revision {self.newest} expired")
                return
            except (ApiError, UnreachableError, OSError):
                await asyncio.sleep(_AGAIN_S)
            self.reopened += 1

    def _note(self, kind: str, revision: int) -> None:
        if revision <= self.newest and kind != "BOOKMARK":
            self.faults.append(f"{kind} {revision} came after {self.newest}")
        self.newest = max(self.newest, revision)
        if kind != "BOOKMARK":
            self.seen.add(revision)
            self._woken.set()

    async def catch_up(self, revisions: set[int]) -> int:
        """The number of acknowledged revisions that the watch did not deliver in time."""
        try:
            async with asyncio.timeout(_CATCH_UP_S):
                while not revisions <= self.seen:
                    self._woken.clear()
                    await self._woken.wait()
        except TimeoutError:
            pass
        return len(revisions - self.seen)


async def lost_writes(client: Client, writers: list[Writer]) -> int:
    """The number of objects that are not as they were last acknowledged."""
    items, _ = await client.list(COLLECTION)
    found = {each["metadata"]["name"]: (each.get("data") or {}).get("text") for each in items}
    known = {name: each for writer in writers for name, each in writer.known.items()}
    return sum(not each.allows(found.get(name)) for name, each in known.items())
