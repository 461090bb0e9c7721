"""Assigns a resource to its plugin: makes the job from the resource and its type.

A run is followed with the plugin, the spec and the configuration that the resource had when the run began; a later
declaration is for the next run. The fields of the type are always the current ones.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from homeostat.external.secrets.kubernetes import NamespaceStore
from homeostat.external.secrets.secrets import NAMESPACED, Secrets
from homeostat.objects.json import JsonObject, decode_stored, encode
from homeostat.objects.schema.passwords import HIDDEN, PasswordFields
from homeostat.objects.time.timestamp import parse_time
from homeostat.operators.actions.api import ActionReference, Resource, ResourceStatus, ResourceTypeSpec
from homeostat.operators.actions.dependencies import Dependencies
from homeostat.operators.actions.digest import declaration_digest
from homeostat.operators.actions.plugins.catalog import UnknownPluginError
from homeostat.operators.actions.plugins.plugin import ActionError, Job, Plugin, Remote
from homeostat.operators.actions.plugins.secret_state import SecretState
from homeostat.operators.actions.runs.delegation import Delegates
from homeostat.operators.actions.runs.jobs import (
    Configuration,
    Effective,
    check_own_plugin,
    effective_action,
    read_config,
)
from homeostat.operators.actions.runs.run import Run
from homeostat.operators.actions.types.passwords import password_fields
from homeostat.operators.actions.world import Fault


class Wanted(NamedTuple):
    """The declaration of a resource, completed by its type."""

    action: Effective
    digest: str


class Assignment(NamedTuple):
    plugin: Plugin[Any]
    job: Job[Any]


class _Declaration(msgspec.Struct, frozen=True):
    spec: JsonObject
    action: ActionReference | None = None


_declaration = msgspec.json.Decoder(_Declaration)


class Assignments:
    """`type_of` returns the current type of a resource."""

    def __init__(self, type_of: Callable[[Resource], ResourceTypeSpec], dependencies: Dependencies) -> None:
        self._type_of, self._dependencies = type_of, dependencies

    def wanted(self, obj: Resource) -> Wanted:
        spec = self._type_of(obj)
        action = effective_action(obj, spec.action, claimed=self._dependencies.claims.get(spec.name, ""))
        return Wanted(action, declaration_digest(obj.spec, action.plugin, action.config))

    def declaration(self, obj: Resource, plugin: str) -> str:
        """Returns what a run of this plugin stores: only runs of remote plugins are followed later."""
        try:
            is_remote = isinstance(self._dependencies.plugins.get(plugin), Remote)
        except UnknownPluginError:
            return ""
        return encode(_Declaration(obj.spec, obj.action)).decode() if is_remote else ""

    def make(
        self, obj: Resource, status: ResourceStatus, wanted: Wanted, *, run: Run | None = None
    ) -> Assignment | Fault:
        action = wanted.action
        if not action.plugin:
            return Fault("NoPlugin", self._without_plugin(self._type_of(obj).name))
        if placeholder := next((path for path, value in self._passwords(obj) if value == HIDDEN), ""):
            message = f'"{HIDDEN}" stands for a value that is not shown; set the value itself'
            return Fault("InvalidSpec", f"{placeholder}: {message}")
        spec = self._type_of(obj)
        try:
            if run is None:
                check_own_plugin(obj.action.plugin if obj.action else "", spec.action.plugin, spec.resource_fields)
            plugin = self._dependencies.plugins.get(action.plugin)
            # PLUGIN_CONFIGS is not part of the digest: other settings of the process do not cause a new apply.
            operator = self._dependencies.settings.configs.get(action.plugin, {})
            config = read_config(plugin, action, operator=operator, allowed=spec.resource_fields)
        except (UnknownPluginError, ActionError) as error:
            return Fault(error.reason, str(error))
        return Assignment(plugin, self._job(obj, status, wanted.digest, config, run))

    def _without_plugin(self, type_name: str) -> str:
        message = "neither the resource nor its type sets an action plugin"
        if claimants := self._dependencies.disputes.get(type_name):
            claims = ", ".join(claimants)
            return f"{message}, and several reconcilers claim the type: {claims}; set action.plugin of the type"
        broken = "; ".join(f"{name}: {why}" for name, why in sorted(self._dependencies.plugins.troubles.items()))
        message = f"{message}, and no reconciler has claimed the type"
        return f"{message}; these reconcilers failed to load: {broken}" if broken else message

    def _passwords(self, obj: Resource) -> Iterator[tuple[str, str]]:
        return _fields_of(encode(self._type_of(obj).schema)).values(obj.spec)

    def of_run(self, obj: Resource, status: ResourceStatus, run: Run) -> Assignment | Fault:
        """Makes the job from the declaration at the time when the run began."""
        was = _as_begun(obj, run)
        wanted = self.wanted(was)
        if run.plugin and run.plugin != wanted.action.plugin:
            # The type names another plugin now, and its configuration is for that one.
            wanted = Wanted(Effective(run.plugin, {}, (was.action or ActionReference()).config), run.digest)
        return self.make(was, status, wanted, run=run)

    def _job(
        self, obj: Resource, status: ResourceStatus, digest: str, config: Configuration, run: Run | None
    ) -> Job[Any]:
        dependencies, metadata = self._dependencies, obj.metadata
        secrets = Secrets({**dependencies.stores, NAMESPACED: NamespaceStore(dependencies.client, metadata.namespace)})
        for _, value in self._passwords(obj):
            secrets.hide(value)
        job: Job[Any] = Job(
            kind=self._type_of(obj).name,
            namespace=metadata.namespace,
            name=metadata.name,
            uid=metadata.uid,
            generation=metadata.generation,
            spec=obj.spec,
            digest=digest,
            config=config.read,
            operator_fields=config.operator_fields,
            secrets=secrets,
            state=SecretState(dependencies.client, metadata.namespace, metadata.uid),
            directory=dependencies.directory / metadata.uid,
            now=dependencies.now(),
            is_applied=digest == status.applied_digest or _was_applied(run, digest),
            outputs=status.outputs,
            purpose=run.purpose if run is not None else "plan",
            ticket=run.ticket if run is not None else "",
            began=parse_time(run.began) if run is not None else None,
            handle=run.handle if run is not None else None,
            clock=dependencies.now,
        )
        return dataclasses.replace(job, plugins=self._delegates(job))

    def _delegates(self, job: Job[Any]) -> Delegates:
        dependencies = self._dependencies

        def state_of(name: str) -> SecretState:
            return SecretState(dependencies.client, job.namespace, f"{job.uid}-{name.replace('_', '-')}")

        return Delegates(dependencies.plugins, dependencies.settings.configs, job, state_of)


@lru_cache(256)
def _fields_of(schema: bytes) -> PasswordFields:
    return password_fields(decode_stored(schema))


def _as_begun(obj: Resource, run: Run) -> Resource:
    if not run.declaration:
        return obj
    was = _declaration.decode(run.declaration)
    return msgspec.structs.replace(obj, spec=was.spec, action=was.action)


def _was_applied(run: Run | None, digest: str) -> bool:
    """A successful run counts although the status does not show it yet."""
    return run is not None and run.outcome is not None and run.purpose == "apply" and run.digest == digest
