"""Looks after the resources of one type: observes by its plugin, decides purely, and acts by its plugin.

Which runs this process has recorded and not yet started is kept in memory only. Where it is not known, the run may
have been started by a process that is gone: then the plugin is asked, or the world is looked at anew.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from homeostat.client.base import Client
from homeostat.objects.decision import Decision, Receipt, Wait
from homeostat.objects.errors import AlreadyExistsError, NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.objects.timestamp import parse_time
from homeostat.operators.actions.api import RECONCILIATION, ActionReference, Resource, ResourceStatus, ResourceTypeSpec
from homeostat.operators.actions.conclusion import Action
from homeostat.operators.actions.decide import decide, need_of
from homeostat.operators.actions.digest import declaration_digest
from homeostat.operators.actions.discovery import Catalog, UnknownPluginError
from homeostat.operators.actions.history import Prune, Record, entry_object
from homeostat.operators.actions.jobs import Effective, called, effective_action, read_config
from homeostat.operators.actions.plugin import ActionError, Job, Local, Plugin, Remote
from homeostat.operators.actions.run import Outcome, Run
from homeostat.operators.actions.secretobjects import NamespaceStore, SecretState
from homeostat.operators.actions.secrets import NAMESPACED, Secrets, SecretStore
from homeostat.operators.actions.settings import ActionSettings
from homeostat.operators.actions.steps import Adopt, Begin, Start
from homeostat.operators.actions.world import Fault, Fresh, Lost, Plan, Seen, Underway, World


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What the operators of all types share, for one term: whoever leads next may start what was recorded in this."""

    client: Client
    plugins: Catalog[Plugin[Any]]
    stores: Mapping[str, SecretStore]
    directory: Path
    claims: Mapping[str, str] = field(default_factory=dict)
    """Which plugin claims a type, by the type's name."""
    settings: ActionSettings = ActionSettings()  # noqa: RUF009
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    chance: Callable[[], float] = random.random
    fresh: set[str] = field(default_factory=set)
    """Tickets of runs that this process has recorded and not started."""


class ResourceOperator:
    """`type_of` gives the type as it is now."""

    def __init__(self, type_of: Callable[[], ResourceTypeSpec], means: Means) -> None:
        self._type_of, self._means = type_of, means

    def decide(self, obj: Resource, world: World) -> Decision[Action]:
        return decide(obj, world)

    async def observe(self, obj: Resource) -> World:
        spec, means = self._type_of(), self._means
        now, status = means.now(), obj.read_status(ResourceStatus)
        action = self._action(obj)
        digest = declaration_digest(obj.spec, action.plugin, action.config)
        return World(
            now=now,
            chance=means.chance(),
            digest=digest,
            kind=spec.name,
            version=spec.version,
            plugin=action.plugin,
            pace=means.settings.pace_of(spec),
            seen=await self._seen(obj, status, digest, now),
        )

    async def act(self, obj: Resource, action: Action) -> Receipt | None:
        match action:
            case Begin(ticket):
                self._means.fresh.add(ticket)
            case Start(run):
                return _receipt(await self._start(obj, run))
            case Adopt(run):
                return _receipt(run)
            case Record():
                await self._record(action, obj.metadata.namespace)
            case Prune(name):
                await self._prune(name, obj.metadata.namespace)
        return None

    async def _seen(self, obj: Resource, status: ResourceStatus, digest: str, now: datetime) -> Seen | None:
        run = status.run
        match need_of(obj, status, digest, now):
            case "plan":
                return await self._plan(obj, status, None)
            case "conclude" if run is not None and run.purpose == "apply":
                return await self._plan(obj, status, run)
            case "destroy":
                ready = self._prepare(obj, status, None)
                return ready if isinstance(ready, Fault) else None
            case "follow":
                assert run is not None
                return await self._follow(obj, status, run)
            case _:
                return None

    async def plan(self, obj: Resource) -> Plan | Fault:
        """What applying the resource as it is declared would change; nothing is done, whatever run is under way."""
        return await self._plan(obj, obj.read_status(ResourceStatus), None)

    async def _plan(self, obj: Resource, status: ResourceStatus, applied: Run | None) -> Plan | Fault:
        ready = self._prepare(obj, status, applied)
        if isinstance(ready, Fault):
            return ready
        plugin, job = ready
        return await called(job.secrets, plugin.name, plugin.plan(job))

    async def _follow(self, obj: Resource, status: ResourceStatus, run: Run) -> Seen:
        if run.ticket in self._means.fresh and run.handle is None:
            return Fresh()
        ready = self._prepare(obj, status, run)
        if isinstance(ready, Fault):
            return ready
        plugin, job = ready
        if not isinstance(plugin, Remote):
            return Lost(is_restartable=False)
        return await called(job.secrets, plugin.name, plugin.follow(job))

    async def _start(self, obj: Resource, run: Run) -> Run:
        fresh = self._means.fresh
        fresh.discard(run.ticket)
        ready = self._prepare(obj, obj.read_status(ResourceStatus), run)
        if isinstance(ready, Fault):
            return _ended(run, ready)
        plugin, job = ready
        try:
            end = await called(job.secrets, plugin.name, _started(plugin, job))
        except Wait:
            # It says that nothing was done.
            fresh.add(run.ticket)
            raise
        match end:
            case Underway(handle=handle):
                return msgspec.structs.replace(run, handle=handle)
            case Outcome() as outcome:
                return msgspec.structs.replace(run, outcome=outcome)
            case Fault() as fault:
                return _ended(run, fault)

    def _action(self, obj: Resource) -> Effective:
        spec = self._type_of()
        return effective_action(obj, spec.action, claimed=self._means.claims.get(spec.name, ""))

    def _prepare(self, obj: Resource, status: ResourceStatus, run: Run | None) -> tuple[Plugin[Any], Job[Any]] | Fault:
        action = self._action(obj)
        if not action.plugin:
            told = "neither the resource nor its type names an action plugin, and no reconciler has claimed the type"
            return Fault("NoPlugin", told)
        try:
            plugin = self._means.plugins.get(action.plugin)
            # Not part of what is declared: a process that was started otherwise applies nothing anew.
            config = {**self._means.settings.configs.get(action.plugin, {}), **action.config}
            read = read_config(plugin, config, (obj.action or ActionReference()).config)
        except (UnknownPluginError, ActionError) as error:
            return Fault(error.reason, str(error))
        return plugin, self._job(obj, status, action, read, run)

    def _job(
        self, obj: Resource, status: ResourceStatus, action: Effective, config: msgspec.Struct, run: Run | None
    ) -> Job[Any]:
        means, metadata = self._means, obj.metadata
        digest = declaration_digest(obj.spec, action.plugin, action.config)
        return Job(
            kind=self._type_of().name,
            namespace=metadata.namespace,
            name=metadata.name,
            uid=metadata.uid,
            generation=metadata.generation,
            spec=obj.spec,
            digest=digest,
            config=config,
            secrets=Secrets({**means.stores, NAMESPACED: NamespaceStore(means.client, metadata.namespace)}),
            state=SecretState(means.client, metadata.namespace, metadata.uid),
            directory=means.directory / metadata.uid,
            now=means.now(),
            is_applied=digest == status.applied_digest or _was_applied(run, digest),
            outputs=status.outputs,
            purpose=run.purpose if run is not None else "plan",
            ticket=run.ticket if run is not None else "",
            began=parse_time(run.began) if run is not None else None,
            handle=run.handle if run is not None else None,
        )

    async def _record(self, record: Record, namespace: str) -> None:
        try:
            await self._means.client.create(RECONCILIATION.kind.path(namespace), entry_object(record, namespace))
        except AlreadyExistsError:
            return

    async def _prune(self, name: str, namespace: str) -> None:
        try:
            await self._means.client.delete(RECONCILIATION.kind.path(namespace, name))
        except NotFoundError:
            return


async def _started(plugin: Plugin[Any], job: Job[Any]) -> Outcome | Underway:
    if isinstance(plugin, Remote):
        return await plugin.start(job)
    assert isinstance(plugin, Local)
    return await (plugin.destroy(job) if job.purpose == "destroy" else plugin.apply(job))


def _was_applied(run: Run | None, digest: str) -> bool:
    """A run whose success is being concluded counts, though the status does not say so yet."""
    return run is not None and run.outcome is not None and run.purpose == "apply" and run.digest == digest


def _ended(run: Run, fault: Fault) -> Run:
    outcome = Outcome(is_success=False, reason=fault.reason, message=fault.message)
    return msgspec.structs.replace(run, outcome=outcome)


def _receipt(run: Run) -> Receipt:
    status: JsonObject = {"run": msgspec.to_builtins(run)}
    return Receipt(status)
