"""Observes a resource: plans with its plugin, or follows the run that is under way.

Runs that this process has recorded and not started are kept in memory only. Any other run may have been started by
another process: the plugin looks it up, or the resource is planned again.
"""

from __future__ import annotations

from collections.abc import Callable

from homeostat.operators.actions.api import Resource, ResourceStatus, ResourceTypeSpec
from homeostat.operators.actions.decide import need_of
from homeostat.operators.actions.dependencies import Dependencies
from homeostat.operators.actions.plugins.plugin import Remote
from homeostat.operators.actions.runs.assignment import Assignments, Wanted
from homeostat.operators.actions.runs.jobs import called
from homeostat.operators.actions.runs.run import Outcome, Run
from homeostat.operators.actions.world import Fault, Fresh, Lost, Need, Plan, Seen, Underway, World


class Observer:
    def __init__(
        self, type_of: Callable[[Resource], ResourceTypeSpec], dependencies: Dependencies, assignments: Assignments
    ) -> None:
        self._type_of, self._dependencies, self._assignments = type_of, dependencies, assignments

    async def observe(self, obj: Resource) -> World:
        spec, dependencies = self._type_of(obj), self._dependencies
        now, status = dependencies.now(), obj.read_status(ResourceStatus)
        wanted = self._assignments.wanted(obj)
        need = need_of(obj, status, wanted.digest, now)
        seen = await self._seen(obj, status, wanted, need)
        may_begin = need in ("destroy", "conclude") or (isinstance(seen, Plan) and seen.is_changed is not False)
        return World(
            now=now,
            seen_at=now if seen is None else dependencies.now(),
            chance=dependencies.chance(),
            digest=wanted.digest,
            kind=spec.name,
            version=spec.version,
            plugin=wanted.action.plugin,
            declaration=self._assignments.declaration(obj, wanted.action.plugin) if may_begin else "",
            pace=dependencies.settings.pace_of(spec),
            seen=seen,
        )

    async def plan(self, obj: Resource) -> Plan | Fault:
        """Returns what applying the declared resource would change, whatever its current run is. Changes nothing."""
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
                return await self._state_of_run(obj, status, run)
            case _:
                return None

    async def _plan(self, obj: Resource, status: ResourceStatus, wanted: Wanted, applied: Run | None) -> Plan | Fault:
        ready = self._assignments.make(obj, status, wanted, run=applied)
        if isinstance(ready, Fault):
            return ready
        return await called(ready.job.secrets, ready.plugin.name, ready.plugin.plan(ready.job), (Plan,))

    async def _state_of_run(self, obj: Resource, status: ResourceStatus, run: Run) -> Seen:
        if run.ticket in self._dependencies.fresh and run.handle is None:
            return Fresh()
        ready = self._assignments.of_run(obj, status, run)
        if isinstance(ready, Fault):
            return ready
        if not isinstance(ready.plugin, Remote):
            # It ran in a process that has ended, and may have had effects.
            return Lost(is_restartable=False)
        return await called(
            ready.job.secrets, ready.plugin.name, ready.plugin.follow(ready.job), (Underway, Outcome, Lost)
        )
