"""Observes an input: what its source declares, and the resources that exist."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from homeostat.edge.turn import map_concurrently
from homeostat.operators.actions.digest import digest_of
from homeostat.operators.actions.inputs.api import ResourceInput
from homeostat.operators.actions.inputs.decide import (
    DeletionWorld,
    FeedWorld,
    InputWorld,
    Key,
    ReadFailure,
    SourceWorld,
)
from homeostat.operators.actions.inputs.jobs import InputDependencies, failure_of, prepare
from homeostat.operators.actions.inputs.memory import Memories, Memory, version_of
from homeostat.operators.actions.inputs.plugins.plugin import Feed, Source
from homeostat.operators.actions.inputs.plugins.reading import Declaration, Reading
from homeostat.operators.actions.inputs.wanted import Found, Live, declared_digest, live_of
from homeostat.operators.actions.inputs.writer import AT_ONCE, Writer

_LIVE_A_TURN = 200
_MOST_DECLARATIONS = 20_000


class InputObserver:
    def __init__(
        self, dependencies: InputDependencies, feed_of: Callable[[ResourceInput], FeedWorld], memories: Memories
    ) -> None:
        self._dependencies, self._feed_of, self._memories = dependencies, feed_of, memories

    async def observe(self, obj: ResourceInput) -> InputWorld:
        if obj.is_terminating:
            owned = await self._dependencies.writer(obj).owned() if obj.spec.deletion_policy == "Delete" else {}
            return DeletionWorld({key: live_of(each) for key, each in owned.items()})
        memory = self._memories.of(obj)
        reading = await self._read(obj, memory)
        if isinstance(reading, FeedWorld):
            return reading
        writer = self._dependencies.writer(obj)
        live = {} if isinstance(reading, ReadFailure) else await self._live(writer, reading, memory)
        return SourceWorld(
            now=self._dependencies.now(),
            reading=reading,
            kinds=frozenset(writer.kinds),
            live=live,
            refused=self._refused(obj, reading, memory),
        )

    async def _read(self, obj: ResourceInput, memory: Memory) -> Reading | ReadFailure | FeedWorld:
        asked = digest_of([obj.spec.plugin, obj.spec.config])
        if memory.asked != asked:
            memory.asked, memory.reading = asked, None
        known = memory.reading.revision if memory.reading else ""
        plugin, job = prepare(self._dependencies, obj, known=known)
        if isinstance(plugin, Feed):
            return self._feed_of(obj)
        assert isinstance(plugin, Source)
        try:
            found = await plugin.read(job)
        except Exception as error:  # A plugin of a package may raise anything.
            return failure_of(error, plugin.name, job.secrets)
        if found is not None and len(found.declarations) > _MOST_DECLARATIONS:
            message = f"the source declares {len(found.declarations)} resources; the limit is {_MOST_DECLARATIONS}"
            return ReadFailure("SourceTooLarge", message)
        if found is not None:
            memory.reading = found
            memory.digests = {each.key: declared_digest(each) for each in found.declarations}
        if memory.reading is None:
            return ReadFailure("PluginBroke", f'plugin "{plugin.name}" reports no change before its first read')
        return memory.reading

    async def _live(self, writer: Writer, reading: Reading, memory: Memory) -> dict[Key, Live]:
        """Returns the resources of the input, and other resources that have a declared name."""
        owned = await writer.owned()
        declared = {each.key: each for each in reading.declarations}
        lacking = [key for key in declared if key not in owned and key[0] in writer.kinds]
        others = await map_concurrently(lambda key: writer.find(*key), lacking, at_once=AT_ONCE)
        found = {**owned, **{key: each for key, each in zip(lacking, others, strict=True) if each is not None}}
        live: dict[Key, Live] = {}
        for at, (key, each) in enumerate(found.items()):
            live[key] = _seen(key, each, declared.get(key), memory)
            if at % _LIVE_A_TURN == 0:
                await asyncio.sleep(0)
        memory.settled = {key: version for key, version in memory.settled.items() if key in found}
        return live

    def _refused(self, obj: ResourceInput, reading: Reading | ReadFailure, memory: Memory) -> dict[Key, str]:
        """Returns refusals of unchanged declarations that are too recent for a retry."""
        if isinstance(reading, ReadFailure) or not memory.refused:
            return {}
        since = self._dependencies.seconds() - obj.spec.interval_seconds
        refusals = memory.refused.items()
        memory.refused = {key: why for key, why in refusals if memory.digests.get(key) == why[0] and why[2] > since}
        return {key: message for key, (_, message, _) in memory.refused.items()}


def _seen(key: Key, found: Found, declaration: Declaration | None, memory: Memory) -> Live:
    if declaration is None:
        return live_of(found)
    digest = memory.digests[key]
    version = version_of(found, digest)
    live = live_of(found, declaration, digest=digest, is_settled=memory.settled.get(key) == version)
    if live.is_same:
        memory.settled[key] = version
    return live
