"""A plugin that keeps its things in memory, for all who are on one plane of a test."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from homeostat.operators.actions.plugins.plugin import ActionError, Job
from homeostat.operators.actions.runs.run import Changes, Outcome
from homeostat.operators.actions.world import Plan


class ShelfConfig(msgspec.Struct, frozen=True):
    prefix: str = ""
    token: str = ""


class World:
    """What is on the shelf, and what is wrong with it."""

    def __init__(self) -> None:
        self.things: dict[str, Any] = {}
        self.prefixes: dict[str, str] = {}
        self.trouble = ""
        self.plans = self.applies = self.running = self.most_running = 0
        self.takes_s = 0.0
        self.lines = 1


class ShelfPlugin:
    name, version, config = "shelf", "1.2.3", ShelfConfig
    world = World()

    def __init__(self, tools: object) -> None:
        pass

    async def plan(self, job: Job[ShelfConfig]) -> Plan:
        self.world.plans += 1
        if self.world.trouble:
            raise ActionError("Broken", self.world.trouble)
        return Plan(self.world.things.get(job.name) != job.spec, Changes(updated=1), "a plan")

    async def apply(self, job: Job[ShelfConfig]) -> Outcome:
        world = self.world
        world.applies += 1
        world.running += 1
        world.most_running = max(world.most_running, world.running)
        job.echo(f"shelving {job.name}\n" * world.lines)
        try:
            await asyncio.sleep(world.takes_s)
        finally:
            world.running -= 1
        world.things[job.name] = job.spec
        world.prefixes[job.name] = job.config.prefix
        return Outcome(
            is_success=True, outputs={"place": job.name}, changes=Changes(created=1), output=f"shelved {job.name}"
        )

    async def destroy(self, job: Job[ShelfConfig]) -> Outcome:
        if self.world.trouble:
            raise ActionError("Broken", self.world.trouble)
        self.world.things.pop(job.name, None)
        return Outcome(is_success=True)
