"""A plugin that uses all that the server keeps for plugins: a secret of the namespace, and a state."""

from __future__ import annotations

import asyncio

import msgspec

from homeostat.external.secrets.secrets import SecretText
from homeostat.operators.actions.plugins.plugin import Job, Tools
from homeostat.operators.actions.runs.output import EVERY_S
from homeostat.operators.actions.runs.run import Outcome
from homeostat.operators.actions.world import Plan


class StatefulConfig(msgspec.Struct, frozen=True):
    token: SecretText


class StatefulPlugin:
    name, version, config = "stateful", "1.0.0", StatefulConfig

    def __init__(self, _: Tools) -> None:
        pass

    async def plan(self, job: Job[StatefulConfig]) -> Plan:
        return Plan(await job.state.load() != _wanted(job))

    async def apply(self, job: Job[StatefulConfig]) -> Outcome:
        token = await job.secrets.reveal(job.config.token)
        if job.spec["text"] == "slow":
            job.echo(f"it takes a while with {token}\n")
            await asyncio.sleep(2 * EVERY_S)
        await job.state.save(_wanted(job))
        return Outcome(is_success=True, outputs={"text": job.spec["text"]})

    async def destroy(self, job: Job[StatefulConfig]) -> Outcome:
        await job.state.save(b"")
        return Outcome(is_success=True)


def _wanted(job: Job[StatefulConfig]) -> bytes:
    return str(job.spec["text"]).encode()
