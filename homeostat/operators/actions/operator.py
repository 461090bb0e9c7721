"""Looks after the resources of one type: observes by its plugin, decides purely, and acts by its plugin.

Which runs this process has recorded and not yet started is kept in memory only. Where it is not known, the run may
have been started by a process that is gone: then the plugin is asked, or the world is looked at anew.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import msgspec

from homeostat.objects.decision import Decision, Receipt, Wait
from homeostat.objects.errors import AlreadyExistsError, NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.operators.actions.action import Abandon, Adopt, Begin, Start
from homeostat.operators.actions.api import RECONCILIATION, Resource, ResourceStatus, ResourceTypeSpec
from homeostat.operators.actions.decide import decide, need_of
from homeostat.operators.actions.plugins.plugin import Job, Local, Plugin, Remote
from homeostat.operators.actions.runs.assignment import Assignment, Assignments, Wanted
from homeostat.operators.actions.runs.conclusion import Action
from homeostat.operators.actions.runs.history import Prune, Record, entry_object
from homeostat.operators.actions.runs.jobs import called
from homeostat.operators.actions.runs.output import publishing
from homeostat.operators.actions.runs.run import Outcome, Run
from homeostat.operators.actions.shared import Means
from homeostat.operators.actions.types.naming import resource_kind
from homeostat.operators.actions.world import Fault, Fresh, Lost, Need, Plan, Seen, Underway, World

__all__ = ["Means", "ResourceOperator"]


class ResourceOperator:
    """`type_of` gives a resource's type as it is now."""

    def __init__(self, type_of: Callable[[Resource], ResourceTypeSpec], means: Means) -> None:
        self._type_of, self._means = type_of, means
        self._assignments = Assignments(type_of, means)

    def decide(self, obj: Resource, world: World) -> Decision[Action]:
        return decide(obj, world)

    async def observe(self, obj: Resource) -> World:
        spec, means = self._type_of(obj), self._means
        now, status = means.now(), obj.read_status(ResourceStatus)
        wanted = self._assignments.wanted(obj)
        need = need_of(obj, status, wanted.digest, now)
        seen = await self._seen(obj, status, wanted, need)
        may_begin = need in ("destroy", "conclude") or (isinstance(seen, Plan) and seen.is_changed is not False)
        return World(
            now=now,
            seen_at=now if seen is None else means.now(),
            chance=means.chance(),
            digest=wanted.digest,
            kind=spec.name,
            version=spec.version,
            plugin=wanted.action.plugin,
            declaration=self._assignments.declaration(obj, wanted.action.plugin) if may_begin else "",
            pace=means.settings.pace_of(spec),
            seen=seen,
        )

    async def act(self, obj: Resource, action: Action) -> Receipt | None:
        match action:
            case Begin(ticket):
                self._means.fresh.add(ticket)
            case Abandon(ticket):
                self._means.fresh.discard(ticket)
            case Start(run):
                return _receipt(await self._start(obj, run))
            case Adopt(run):
                return _receipt(run)
            case Record():
                await self._record(action, obj.metadata.namespace)
            case Prune(name):
                await self._prune(name, obj.metadata.namespace)
        return None

    async def plan(self, obj: Resource) -> Plan | Fault:
        """What applying the resource as it is declared would change; nothing is done, whatever run is under way."""
        return await self._plan(obj, obj.read_status(ResourceStatus), self._assignments.wanted(obj), None)

    async def _seen(self, obj: Resource, status: ResourceStatus, wanted: Wanted, need: Need) -> Seen | None:
        run = status.run
        match need:
            case "plan":
                return await self._plan(obj, status, wanted, None)
            case "verify":
                return await self._plan(obj, status, wanted, run)
            case "destroy":
                ready = self._assignments.make(obj, status, wanted)
                return ready if isinstance(ready, Fault) else None
            case "follow":
                assert run is not None
                return await self._follow(obj, status, run)
            case _:
                return None

    async def _plan(self, obj: Resource, status: ResourceStatus, wanted: Wanted, applied: Run | None) -> Plan | Fault:
        ready = self._assignments.make(obj, status, wanted, run=applied)
        if isinstance(ready, Fault):
            return ready
        return await called(ready.job.secrets, ready.plugin.name, ready.plugin.plan(ready.job), (Plan,))

    async def _follow(self, obj: Resource, status: ResourceStatus, run: Run) -> Seen:
        if run.ticket in self._means.fresh and run.handle is None:
            return Fresh()
        ready = self._assignments.of_run(obj, status, run)
        if isinstance(ready, Fault):
            return ready
        if not isinstance(ready.plugin, Remote):
            return Lost(is_restartable=False)
        return await called(
            ready.job.secrets, ready.plugin.name, ready.plugin.follow(ready.job), (Underway, Outcome, Lost)
        )

    async def _start(self, obj: Resource, run: Run) -> Run:
        fresh = self._means.fresh
        fresh.discard(run.ticket)
        ready = self._assignments.of_run(obj, obj.read_status(ResourceStatus), run)
        if isinstance(ready, Fault):
            return _ended(run, ready)
        try:
            end = await self._told(obj, run, ready)
        except Wait:
            # It says that nothing was done.
            fresh.add(run.ticket)
            raise
        match end:
            case Underway(handle=handle):
                return msgspec.structs.replace(run, handle=handle)
            case Outcome() as outcome:
                return msgspec.structs.replace(run, outcome=outcome)
            case Fault(is_certain=False) if isinstance(ready.plugin, Remote):
                # It may be under way all the same: that is for following to find out.
                return run
            case Fault() as fault:
                return _ended(run, fault)

    async def _told(self, obj: Resource, run: Run, ready: Assignment) -> Underway | Outcome | Fault:
        """What the plugin says of the run; what it prints meanwhile can be read."""
        means, secrets, kind = self._means, ready.job.secrets, resource_kind(self._type_of(obj))
        async with publishing(means.client, kind, obj, run, scrub=secrets.scrub) as printed:
            job = dataclasses.replace(ready.job, echo=printed.add)
            return await called(secrets, ready.plugin.name, _started(ready.plugin, job), (Underway, Outcome))

    async def _record(self, record: Record, namespace: str) -> None:
        """What is there under the name was written by a look that came to no end; this one knows better."""
        kind, client = RECONCILIATION.kind, self._means.client
        body = entry_object(record, namespace)
        try:
            await client.fetch("POST", kind.path(namespace), body=body)
        except AlreadyExistsError:
            await self._prune(record.name, namespace)
            await client.fetch("POST", kind.path(namespace), body=body)

    async def _prune(self, name: str, namespace: str) -> None:
        try:
            await self._means.client.fetch("DELETE", RECONCILIATION.kind.path(namespace, name))
        except NotFoundError:
            return


async def _started(plugin: Plugin[Any], job: Job[Any]) -> Outcome | Underway:
    if isinstance(plugin, Remote):
        return await plugin.start(job)
    assert isinstance(plugin, Local)
    return await (plugin.destroy(job) if job.purpose == "destroy" else plugin.apply(job))


def _ended(run: Run, fault: Fault) -> Run:
    outcome = Outcome(is_success=False, reason=fault.reason, message=fault.message)
    return msgspec.structs.replace(run, outcome=outcome)


def _receipt(run: Run) -> Receipt:
    status: JsonObject = {"run": msgspec.to_builtins(run)}
    return Receipt(status)
