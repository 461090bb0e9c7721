"""The mandatory FlowSchemas and PriorityLevelConfigurations: restored after a deletion or a change.

The shares and the lendable part of the level `exempt` are for users to set, and stay as they are found.
"""

from __future__ import annotations

from homeostat.client.base import Client
from homeostat.objects.errors import AlreadyExistsError, NotFoundError
from homeostat.objects.flow_control import MANDATORY, mandatory_objects
from homeostat.objects.json import JsonObject
from homeostat.operators.housekeeping.metadata.events import Changed, FeedEvent, Gone, Listed
from homeostat.operators.housekeeping.metadata.feed import BACKOFF, Feed
from homeostat.operators.housekeeping.metadata.kinds import kind_key
from homeostat.runtime.control.queue import WorkQueue
from homeostat.runtime.control.workers import Workers

_KEYS = tuple(kind_key(obj["apiVersion"], obj["kind"]) for _, obj in mandatory_objects())
_ALL = "all"


class FlowControl:
    def __init__(self, client: Client, feed: Feed) -> None:
        self._client = client
        self._queue: WorkQueue[str] = WorkQueue(backoff=BACKOFF)
        self._workers = Workers(self._queue, self._ensure, name="flow control")
        feed.subscribe(self._observe, *dict.fromkeys(_KEYS))

    async def run(self) -> None:
        await self._workers.run()

    def _observe(self, event: FeedEvent) -> None:
        match event:
            case Changed(_, metadata) | Gone(_, metadata) if metadata.name in MANDATORY:
                self._queue.add(_ALL)
            case Listed():
                # The watch does not deliver deletions that happened while it was interrupted.
                self._queue.add(_ALL)

    async def _ensure(self, _: str) -> None:
        for collection, wanted in mandatory_objects():
            try:
                await self._client.create(collection, wanted)
            except AlreadyExistsError:
                await self._restore(f"{collection}/{wanted['metadata']['name']}", wanted)

    async def _restore(self, path: str, wanted: JsonObject) -> None:
        try:
            found = await self._client.get(path)
            spec = _with_allowed(wanted["spec"], found.get("spec") or {})
            if found.get("spec") != spec and "deletionTimestamp" not in found["metadata"]:
                await self._client.update(path, {**found, "spec": spec})
        except NotFoundError:
            return  # It was deleted meanwhile; the watch will say so.


def _with_allowed(wanted: JsonObject, found: JsonObject) -> JsonObject:
    """What is wanted, with the values that users may change: those of the level `exempt`."""
    if "exempt" not in wanted:
        return wanted
    given = found.get("exempt") or {}
    return {**wanted, "exempt": {name: given.get(name, each) for name, each in wanted["exempt"].items()}}
