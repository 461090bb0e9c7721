"""Lets a reconciler plugin use other action plugins: `job.plugins.get("terraform")`.

Each plugin that is used for a resource has a record of its own beside the resource: what it applied last, its outputs,
and the run that it is waiting for. So a run of another system is found again after a crash and not started twice, and
each plugin has its own state and directory.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from homeostat.objects.json import JsonObject
from homeostat.objects.time.timestamp import format_micro_time, parse_time
from homeostat.operators.actions.digest import digest_of
from homeostat.operators.actions.plugins.catalog import Catalog
from homeostat.operators.actions.plugins.plugin import ActionError, Job, Local, Plugin, Remote, State
from homeostat.operators.actions.runs.jobs import Effective, read_config
from homeostat.operators.actions.runs.run import Outcome, Purpose
from homeostat.operators.actions.world import Lost, Plan, Underway

_MOST_STARTS: Final = 3


class Record(msgspec.Struct, frozen=True):
    """What is known of a plugin's work for a resource. Without a ticket no run is in progress."""

    applied: str = ""
    outputs: dict[str, Any] = {}
    sequence: int = 0
    ticket: str = ""
    digest: str = ""
    purpose: Purpose = "plan"
    began: str = ""
    handle: dict[str, Any] | None = None


_record = msgspec.json.Decoder(Record)


class Delegates:
    """`state_of` returns a place for bytes by a name; `configs` are the operator's settings of plugins."""

    def __init__(
        self,
        catalog: Catalog[Plugin[Any]],
        configs: Mapping[str, JsonObject],
        job: Job[Any],
        state_of: Callable[[str], State],
    ) -> None:
        self._catalog, self._configs, self._job, self._state_of = catalog, configs, job, state_of

    def get(self, name: str) -> Delegate:
        """Raises `UnknownPluginError` if there is no such plugin, or if it is disabled."""
        plugin = self._catalog.get(name)
        job = dataclasses.replace(self._job, state=self._state_of(name), directory=self._job.directory / name)
        return Delegate(name, plugin, self._configs.get(name, {}), job, self._state_of(f"{name}-record"))


class Delegate:
    """Another action plugin, for the resource of a job. Failures are `ActionError`."""

    def __init__(self, name: str, plugin: Plugin[Any], operator: JsonObject, job: Job[Any], records: State) -> None:
        self._name, self._plugin, self._operator, self._job, self._records = name, plugin, operator, job, records

    async def plan(self, config: JsonObject, spec: JsonObject) -> Plan:
        """What applying would change. A plugin that plans by a run of another system runs it."""
        record = await self._load()
        job = self._made(config, spec, "plan", record)
        found = await self._plugin.plan(job)
        if found.is_changed is not None:
            return found
        outcome = await self._run(job, record)
        return Plan(outcome.is_changed, outcome.changes, outcome.output)

    async def apply(self, config: JsonObject, spec: JsonObject) -> Outcome:
        record = await self._load()
        job = self._made(config, spec, "apply", record)
        outcome = await self._run(job, record)
        outputs = outcome.outputs or record.outputs
        await self._save(Record(applied=job.digest, outputs=outputs, sequence=record.sequence + 1))
        return outcome

    async def destroy(self, config: JsonObject, spec: JsonObject) -> Outcome:
        """Also forgets all that is recorded of the plugin's work."""
        record = await self._load()
        outcome = await self._run(self._made(config, spec, "destroy", record), record)
        await self._records.save(b"")
        return outcome

    async def outputs(self) -> JsonObject:
        return (await self._load()).outputs

    def _made(self, config: JsonObject, spec: JsonObject, purpose: Purpose, record: Record) -> Job[Any]:
        digest = digest_of([self._name, config, spec])
        read = read_config(self._plugin, Effective(self._name, config, {}), operator=self._operator)
        return dataclasses.replace(
            self._job,
            config=read.read,
            operator_fields=read.operator_fields,
            spec=spec,
            digest=digest,
            is_applied=digest == record.applied,
            outputs=record.outputs,
            purpose=purpose,
            ticket=f"{self._job.uid}-{self._name.replace('_', '-')}-{record.sequence + 1}",
            began=self._job.now,
            handle=None,
        )

    async def _run(self, job: Job[Any], record: Record) -> Outcome:
        if isinstance(self._plugin, Remote):
            outcome = await self._run_remote(self._plugin, job, record)
        else:
            assert isinstance(self._plugin, Local)
            outcome = await (self._plugin.destroy(job) if job.purpose == "destroy" else self._plugin.apply(job))
        if not outcome.is_success:
            raise ActionError(outcome.reason or "Failed", f"{self._name}: {outcome.message}")
        return outcome

    async def _run_remote(self, plugin: Remote[Any], job: Job[Any], record: Record) -> Outcome:
        is_known = record.ticket and (record.digest, record.purpose) == (job.digest, job.purpose)
        if is_known:
            job = dataclasses.replace(job, ticket=record.ticket, began=parse_time(record.began), handle=record.handle)
        for attempt in range(_MOST_STARTS):
            if not is_known or attempt:
                await self._note(job, record)
                found: Underway | Outcome | Lost = await plugin.start(job)
            else:
                found = await plugin.follow(job)
            while isinstance(found, Underway):
                if found.handle is not None and found.handle != job.handle:
                    job = dataclasses.replace(job, handle=found.handle)
                    await self._note(job, record)
                await asyncio.sleep(found.again_after_s)
                job = dataclasses.replace(job, now=self._job.clock())
                found = await plugin.follow(job)
            if isinstance(found, Outcome):
                await self._save(msgspec.structs.replace(record, ticket="", handle=None, sequence=record.sequence + 1))
                return found
            job = dataclasses.replace(job, handle=None)
        raise ActionError("RunLost", f"{self._name}: the run was started {_MOST_STARTS} times and cannot be found")

    async def _note(self, job: Job[Any], record: Record) -> None:
        """On disk before the run starts, so that it is found again after a crash."""
        assert job.began is not None
        noted = msgspec.structs.replace(
            record,
            ticket=job.ticket,
            digest=job.digest,
            purpose=job.purpose,
            began=format_micro_time(job.began),
            handle=job.handle,
        )
        await self._save(noted)

    async def _load(self) -> Record:
        data = await self._records.load()
        return _record.decode(data) if data else Record()

    async def _save(self, record: Record) -> None:
        await self._records.save(msgspec.json.encode(record))
