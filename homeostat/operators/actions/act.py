"""Carries out the actions of a resource: starts its plugin, and keeps the history of its runs."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final

import msgspec

from homeostat.objects.decision import Receipt, Wait
from homeostat.objects.errors import AlreadyExistsError, NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.objects.time.timestamp import format_micro_time
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
from homeostat.operators.actions.runs.run import Outcome, Run, cancelled
from homeostat.operators.actions.types.naming import resource_kind
from homeostat.operators.actions.world import Fault, Underway

_AGAIN: Final = timedelta(seconds=30)


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
        run = _at(run, started=self._stamp())
        try:
            end = await self._run(obj, run, ready)
        except Wait:
            # `Wait` promises that nothing was done.
            fresh.add(run.ticket)
            raise
        match end:
            case None:
                return cancelled(run)
            case Underway(handle=handle):
                return _at(msgspec.structs.replace(run, handle=handle), waiting=self._stamp())
            case Outcome() as outcome:
                return _at(msgspec.structs.replace(run, outcome=outcome), ended=self._stamp())
            case Fault(is_certain=False) if isinstance(ready.plugin, Remote):
                # The run may have started nevertheless; following it finds out.
                return run
            case Fault() as fault:
                return _ended(run, fault)

    def _stamp(self) -> str:
        return format_micro_time(self._dependencies.now())

    async def _cancel(self, obj: Resource, run: Run) -> Run:
        """Lets the plugin cancel the run, which is followed until it has ended. A run that cannot be cancelled is no
        cancelled run: it goes on, the condition says why, and the plugin is asked again later.
        """
        ready = self._assignments.of_run(obj, obj.read_status(ResourceStatus), run)
        found = ready if isinstance(ready, Fault) else await _cancelled(ready)
        if isinstance(found, Fault):
            raise Wait(found.reason, _AGAIN, message=f"Cannot cancel the run: {found.message}")
        return msgspec.structs.replace(run, is_cancelled=True)

    async def _run(self, obj: Resource, run: Run, ready: Assignment) -> Underway | Outcome | Fault | None:
        """Starts the run, and publishes what the plugin prints meanwhile. None if somebody cancelled it."""
        dependencies, secrets, kind = self._dependencies, ready.job.secrets, resource_kind(self._type_of(obj))
        async with publishing(dependencies.client, kind, obj, run, scrub=secrets.scrub) as printed:
            job = dataclasses.replace(ready.job, echo=printed.add)
            call = called(secrets, ready.plugin.name, _started(ready.plugin, job), (Underway, Outcome))
            if isinstance(ready.plugin, Remote):
                # Nobody knows the outcome of half a request to start a run. The run is cancelled once it is found.
                return await call
            return await unless_cancelled(dependencies.client, kind, obj, run.ticket, call)

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


async def _cancelled(ready: Assignment) -> Underway | Fault:
    plugin, job = ready.plugin, ready.job
    if not isinstance(plugin, Cancelling):
        return Fault("NotCancellable", f"the plugin {plugin.name} cannot cancel runs; the run ends by itself")

    async def cancel() -> Underway:
        await plugin.cancel(job)
        return Underway(job.handle)

    return await called(job.secrets, plugin.name, cancel(), (Underway,))


def _ended(run: Run, fault: Fault) -> Run:
    outcome = Outcome(is_success=False, reason=fault.reason, message=fault.message, output=fault.output)
    return msgspec.structs.replace(run, outcome=outcome)


def _at(run: Run, **times: str) -> Run:
    return msgspec.structs.replace(run, steps=msgspec.structs.replace(run.steps, **times))


def _receipt(run: Run) -> Receipt:
    status: JsonObject = {"run": msgspec.to_builtins(run)}
    return Receipt(status)
