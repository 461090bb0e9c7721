"""An operator that counts: each step is one write that says how far it is, and which process made it."""

from __future__ import annotations

import os
import time
from datetime import timedelta

from msgspec import Struct

from homeostat import sdk


class Spec(Struct, frozen=True):
    every_s: float = 0.05


class Tally(sdk.Declared, frozen=True):
    spec: Spec


class Note(Struct, frozen=True):
    metadata: sdk.Metadata
    data: dict[str, str] = {}


class World(Struct, frozen=True):
    count: int
    is_due: bool


class Step(Struct, frozen=True):
    count: int


TALLY = sdk.Kind("tally.example", "v1", "tallies", "Tally", is_namespaced=True)
KINDS = (sdk.CustomKind(TALLY, spec=Spec),)
RULES = sdk.control_rules(TALLY)


class Counter:
    def __init__(self, setup: sdk.Setup) -> None:
        self.notes = setup.watch(sdk.CONFIG_MAP, Note)
        self.config_maps = setup.objects(sdk.CONFIG_MAP, Note)
        self._last = 0.0

    async def observe(self, obj: Tally) -> World:
        note = self.notes.cache.get(obj.metadata.namespace, obj.metadata.name)
        is_due = time.monotonic() >= self._last + obj.spec.every_s
        return World(int(note.data["count"]) if note is not None else 0, is_due)

    def decide(self, obj: Tally, world: World) -> sdk.Decision[Step]:
        if world.is_due:
            return sdk.Decision((Step(world.count + 1),))
        return sdk.Decision(requeue_after=timedelta(seconds=obj.spec.every_s))

    async def act(self, obj: Tally, action: Step) -> None:
        self._last = time.monotonic()
        data = {"count": str(action.count), "by": str(os.getpid())}
        await self.config_maps.apply({"data": data}, obj.metadata.name, obj.metadata.namespace, manager="tally")


def register(setup: sdk.Setup) -> None:
    setup.control(TALLY, Tally, Counter(setup))
