"""A resource and what its type says, as a job for the plugin that is to do it.

A run is followed by the plugin, the spec and the configuration that the resource had when the run began: what is
declared meanwhile is about the next one. What the type says is taken as it is now, since it is not the resource's to
tell.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from homeostat.external.secrets.kubernetes import NamespaceStore
from homeostat.external.secrets.secrets import NAMESPACED, Secrets
from homeostat.objects.json import JsonObject, encode
from homeostat.objects.time.timestamp import parse_time
from homeostat.operators.actions.api import ActionReference, Resource, ResourceStatus, ResourceTypeSpec
from homeostat.operators.actions.dependencies import Dependencies
from homeostat.operators.actions.digest import declaration_digest
from homeostat.operators.actions.plugins.catalog import UnknownPluginError
from homeostat.operators.actions.plugins.plugin import ActionError, Job, Plugin, Remote
from homeostat.operators.actions.plugins.secret_state import SecretState
from homeostat.operators.actions.runs.jobs import Effective, effective_action, read_config
from homeostat.operators.actions.runs.run import Run
from homeostat.operators.actions.world import Fault


class Wanted(NamedTuple):
    """What a resource declares, with what its type adds."""

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
    """`type_of` gives a resource's type as it is now."""

    def __init__(self, type_of: Callable[[Resource], ResourceTypeSpec], dependencies: Dependencies) -> None:
        self._type_of, self._dependencies = type_of, dependencies

    def wanted(self, obj: Resource) -> Wanted:
        spec = self._type_of(obj)
        action = effective_action(obj, spec.action, claimed=self._dependencies.claims.get(spec.name, ""))
        return Wanted(action, declaration_digest(obj.spec, action.plugin, action.config))

    def declaration(self, obj: Resource, plugin: str) -> str:
        """What a run of this plugin has to keep: runs that end within a call have nothing to be followed by."""
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
        try:
            plugin = self._dependencies.plugins.get(action.plugin)
            # Not part of what is declared: a process that was started otherwise applies nothing anew.
            config = {**self._dependencies.settings.configs.get(action.plugin, {}), **action.config}
            read = read_config(plugin, config, (obj.action or ActionReference()).config)
        except (UnknownPluginError, ActionError) as error:
            return Fault(error.reason, str(error))
        return Assignment(plugin, self._job(obj, status, wanted.digest, read, run))

    def _without_plugin(self, type_name: str) -> str:
        told = "neither the resource nor its type sets an action plugin"
        if claimants := self._dependencies.disputes.get(type_name):
            return (
                f"{told}, and several reconcilers claim the type: {', '.join(claimants)}; set action.plugin of the type"
            )
        broken = "; ".join(f"{name}: {why}" for name, why in sorted(self._dependencies.plugins.troubles.items()))
        told = f"{told}, and no reconciler has claimed the type"
        return f"{told}; these reconcilers failed to load: {broken}" if broken else told

    def of_run(self, obj: Resource, status: ResourceStatus, run: Run) -> Assignment | Fault:
        """With what was declared when the run began."""
        was = _as_begun(obj, run)
        wanted = self.wanted(was)
        if run.plugin and run.plugin != wanted.action.plugin:
            # The type names another plugin by now, and its configuration is for that one.
            wanted = Wanted(Effective(run.plugin, (was.action or ActionReference()).config), run.digest)
        return self.make(was, status, wanted, run=run)

    def _job(
        self, obj: Resource, status: ResourceStatus, digest: str, config: msgspec.Struct, run: Run | None
    ) -> Job[Any]:
        dependencies, metadata = self._dependencies, obj.metadata
        return Job(
            kind=self._type_of(obj).name,
            namespace=metadata.namespace,
            name=metadata.name,
            uid=metadata.uid,
            generation=metadata.generation,
            spec=obj.spec,
            digest=digest,
            config=config,
            secrets=Secrets(
                {**dependencies.stores, NAMESPACED: NamespaceStore(dependencies.client, metadata.namespace)}
            ),
            state=SecretState(dependencies.client, metadata.namespace, metadata.uid),
            directory=dependencies.directory / metadata.uid,
            now=dependencies.now(),
            is_applied=digest == status.applied_digest or _was_applied(run, digest),
            outputs=status.outputs,
            purpose=run.purpose if run is not None else "plan",
            ticket=run.ticket if run is not None else "",
            began=parse_time(run.began) if run is not None else None,
            handle=run.handle if run is not None else None,
        )


def _as_begun(obj: Resource, run: Run) -> Resource:
    if not run.declaration:
        return obj
    was = _declaration.decode(run.declaration)
    return msgspec.structs.replace(obj, spec=was.spec, action=was.action)


def _was_applied(run: Run | None, digest: str) -> bool:
    """A run whose success is being concluded counts, though the status does not say so yet."""
    return run is not None and run.outcome is not None and run.purpose == "apply" and run.digest == digest
