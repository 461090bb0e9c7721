"""Carries out the actions of an input: applies and deletes resources, and remembers the server's answers."""

from __future__ import annotations

from homeostat.edge.turn import map_concurrently
from homeostat.operators.actions.inputs.api import ResourceInput
from homeostat.operators.actions.inputs.decide import InputAction, Remove, Write
from homeostat.operators.actions.inputs.jobs import InputDependencies
from homeostat.operators.actions.inputs.memory import Memories, Memory, version_of
from homeostat.operators.actions.inputs.plugins.reading import Declaration, RefusedError
from homeostat.operators.actions.inputs.wanted import declared_digest
from homeostat.operators.actions.inputs.writer import AT_ONCE, Writer


class InputActor:
    def __init__(self, dependencies: InputDependencies, memories: Memories) -> None:
        self._dependencies, self._memories = dependencies, memories

    async def act(self, obj: ResourceInput, action: InputAction) -> None:
        writer = self._dependencies.writer(obj)
        match action:
            case Write(declarations, owned):
                memory = self._memories.of(obj)
                pairs = zip(declarations, owned, strict=True)
                await map_concurrently(lambda pair: self._put(writer, memory, *pair), pairs, at_once=AT_ONCE)
            case Remove(resources):
                await map_concurrently(lambda each: writer.remove(*each), resources, at_once=AT_ONCE)

    async def _put(self, writer: Writer, memory: Memory, declaration: Declaration, is_owned: bool) -> None:
        digest = declared_digest(declaration)
        try:
            found = await writer.put(declaration, is_owned=is_owned)
        except RefusedError as error:
            memory.refused[declaration.key] = (digest, str(error), self._dependencies.seconds())
        else:
            memory.settled[declaration.key] = version_of(found, digest)
