"""Carries out the actions of a resource: starts its plugin, and keeps the history of its runs."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import msgspec

from homeostat.objects.decision import Receipt, Wait
from homeostat.objects.errors import AlreadyExistsError, NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.operators.actions.action import Abandon, Adopt, Begin, Cancel, Start
from homeostat.operators.actions.api import RECONCILIATION, Resource, ResourceStatus, ResourceTypeSpec
from homeostat.operators.actions.dependencies import Dependencies
from homeostat.operators.actions.plugins.plugin import Cancelling, Job, Local, Plugin, Remote
from homeostat.operators.actions.runs.assignment import Assignment, Assignments
from homeostat.operators.actions.runs.cancellation import unless_cancelled
from homeostat.operators.actions.runs.conclusion import Action
from homeostat.operators.actions.runs.history import Prune, Record, entry_object
from homeostat.operators.actions.runs.jobs import called
from homeostat.operators.actions.runs.output import publishing
from homeostat.operators.actions.runs.run import Outcome, Run, cancelled_outcome
from homeostat.operators.actions.types.naming import resource_kind
from homeostat.operators.actions.world import Fault, Underway


class Actor:
    def __init__(
        self, type_of: Callable[[Resource], ResourceTypeSpec], dependencies: Dependencies, assignments: Assignments
    ) -> None:
        self._type_of, self._dependencies, self._assignments = type_of, dependencies, assignments

    async def act(self, obj: Resource, action: Action) -> Receipt | None:
        match action:
            case Begin(ticket):
                self._dependencies.fresh.add(ticket)
            case Abandon(ticket):
                self._dependencies.fresh.discard(ticket)
            case Start(run):
                return _receipt(await self._start(obj, run))
            case Cancel(run):
                return _receipt(await self._cancel(obj, run))
            case Adopt(run):
                return _receipt(run)
            case Record():
                await self._record(action, obj.metadata.namespace)
            case Prune(name):
                await self._prune(name, obj.metadata.namespace)
        return None

    async def _start(self, obj: Resource, run: Run) -> Run:
        fresh = self._dependencies.fresh
        fresh.discard(run.ticket)
        ready = self._assignments.of_run(obj, obj.read_status(ResourceStatus), run)
        if isinstance(ready, Fault):
            return _ended(run, ready)
        try:
            end = await self._run(obj, run, ready)
        except Wait:
            # `Wait` promises that nothing was done.
            fresh.add(run.ticket)
            raise
        match end:
            case Underway(handle=handle):
                return msgspec.structs.replace(run, handle=handle)
            case Outcome() as outcome:
                return msgspec.structs.replace(run, outcome=outcome)
            case Fault(is_certain=False) if isinstance(ready.plugin, Remote):
                # The run may have started nevertheless; following it finds out.
                return run
            case Fault() as fault:
                return _ended(run, fault)

    async def _cancel(self, obj: Resource, run: Run) -> Run:
        """Asks the plugin once; the run is followed until it has ended. A plugin that cannot cancel, or fails to, is
        not asked again: the run goes on, and ends by itself.
        """
        ready = self._assignments.of_run(obj, obj.read_status(ResourceStatus), run)
        if not isinstance(ready, Fault) and isinstance(ready.plugin, Cancelling):
            await called(ready.job.secrets, ready.plugin.name, _cancelled(ready.plugin, ready.job), (Underway,))
        return msgspec.structs.replace(run, is_cancelled=True)

    async def _run(self, obj: Resource, run: Run, ready: Assignment) -> Underway | Outcome | Fault:
        """Starts the run, and publishes what the plugin prints meanwhile."""
        dependencies, secrets, kind = self._dependencies, ready.job.secrets, resource_kind(self._type_of(obj))
        async with publishing(dependencies.client, kind, obj, run, scrub=secrets.scrub) as printed:
            job = dataclasses.replace(ready.job, echo=printed.add)
            call = called(secrets, ready.plugin.name, _started(ready.plugin, job), (Underway, Outcome))
            found = await unless_cancelled(dependencies.client, kind, obj, run.ticket, call)
            return cancelled_outcome() if found is None else found

    async def _record(self, record: Record, namespace: str) -> None:
        """An entry of that name comes from a reconciliation that was interrupted; this one replaces it."""
        kind, client = RECONCILIATION.kind, self._dependencies.client
        body = entry_object(record, namespace)
        try:
            await client.fetch("POST", kind.path(namespace), body=body)
        except AlreadyExistsError:
            await self._prune(record.name, namespace)
            await client.fetch("POST", kind.path(namespace), body=body)

    async def _prune(self, name: str, namespace: str) -> None:
        try:
            await self._dependencies.client.fetch("DELETE", RECONCILIATION.kind.path(namespace, name))
        except NotFoundError:
            return


async def _started(plugin: Plugin[Any], job: Job[Any]) -> Outcome | Underway:
    if isinstance(plugin, Remote):
        return await plugin.start(job)
    assert isinstance(plugin, Local)
    return await (plugin.destroy(job) if job.purpose == "destroy" else plugin.apply(job))


async def _cancelled(plugin: Cancelling[Any], job: Job[Any]) -> Underway:
    await plugin.cancel(job)
    return Underway(job.handle)


def _ended(run: Run, fault: Fault) -> Run:
    outcome = Outcome(is_success=False, reason=fault.reason, message=fault.message)
    return msgspec.structs.replace(run, outcome=outcome)


def _receipt(run: Run) -> Receipt:
    status: JsonObject = {"run": msgspec.to_builtins(run)}
    return Receipt(status)
