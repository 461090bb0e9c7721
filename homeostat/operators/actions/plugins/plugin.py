"""The protocol of action plugins: three methods, and the job that each of them gets.

    class Notes:
        name, version, config = "notes", "1.0.0", NotesConfig

        def __init__(self, tools: Tools) -> None: ...
        async def plan(self, job: Job[NotesConfig]) -> Plan: ...
        async def apply(self, job: Job[NotesConfig]) -> Outcome: ...
        async def destroy(self, job: Job[NotesConfig]) -> Outcome: ...

A `Local` plugin does its work in the call. An interrupted run is planned again, and applied again only if the plan
finds differences; destroying what does not exist succeeds. A `Remote` plugin starts runs of another system and follows
them: each run carries the job's ticket, by which it is found again after a crash.

`plan` and `follow` change nothing. `ActionError` is a failure; `Wait` is not: it asks to be called again later. What
all plugins have in common is in `configuration.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol, runtime_checkable

from homeostat.objects.json import JsonObject
from homeostat.operators.actions.plugins.configuration import AnyJob, AnyPlugin, C, C_co, PluginError, Tools
from homeostat.operators.actions.runs.run import Outcome, Purpose
from homeostat.operators.actions.world import Lost, Plan, Underway

__all__ = [
    "ActionError",
    "ActionPlugin",
    "ActionPlugins",
    "Cancelling",
    "Job",
    "Local",
    "Plugin",
    "Reconciler",
    "Remote",
    "State",
    "Tools",
]


class ActionError(PluginError):
    """The plugin reports a failure. `output` is what was printed until then, for the history."""

    def __init__(self, reason: str, message: str, *, output: str = "") -> None:
        super().__init__(reason, message)
        self.output = output


class State(Protocol):
    """Bytes that a plugin stores for a resource between runs, such as Terraform's state. They may be secret."""

    async def load(self) -> bytes:
        """Returns what was saved last; empty if nothing was."""

    async def save(self, data: bytes) -> None:
        """Returns when the data is on disk; empty data deletes the state."""


class ActionPlugin(Protocol):
    """Another action plugin, used for the resource of a job. Its failures are `ActionError`.

    `config` and `spec` are those of the other plugin. Runs of another system are waited for; after a crash the same
    call finds them again.
    """

    async def plan(self, config: JsonObject, spec: JsonObject) -> Plan: ...

    async def apply(self, config: JsonObject, spec: JsonObject) -> Outcome: ...

    async def destroy(self, config: JsonObject, spec: JsonObject) -> Outcome: ...

    async def outputs(self) -> JsonObject:
        """The outputs of the last apply; empty before it."""


class ActionPlugins(Protocol):
    def get(self, name: str) -> ActionPlugin:
        """The plugin of this name, with its own state and directory for the resource; fails if it is unknown."""


class _NoPlugins:
    def get(self, name: str) -> ActionPlugin:
        raise ActionError("UnknownPlugin", f'the plugin "{name}" is not available here')


def _ignore(_: str) -> None:
    pass


def _utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job(AnyJob[C]):
    """One call of a plugin for one resource. `ticket` and `handle` are those of the run; without a run they are empty.

    `is_applied`: the current declaration was applied before. `echo` publishes output while the run is in progress, with
    secrets removed. `operator_fields` are the fields of the configuration that come from the operator's settings.
    `plugins` are other action plugins, for a plugin that delegates steps of its work. `clock` returns the time.
    """

    kind: str
    uid: str
    generation: int
    spec: JsonObject
    digest: str
    state: State
    now: datetime
    is_applied: bool = False
    outputs: JsonObject
    purpose: Purpose = "plan"
    ticket: str = ""
    began: datetime | None = None
    handle: JsonObject | None = None
    echo: Callable[[str], None] = _ignore
    operator_fields: frozenset[str] = frozenset()
    plugins: ActionPlugins = _NoPlugins()  # noqa: RUF009
    clock: Callable[[], datetime] = _utc_now


class Plugin(AnyPlugin[C_co], Protocol[C_co]):
    """Optional attributes: `type_only`, a frozenset of wire names of configuration fields that only a type may set;
    `addresses`, `credentials` and `restricted`, frozensets of fields that resources may set only if the type lists them
    in `resourceFields`, as all fields with references to secrets; `targets`, a frozenset of fields, such as a
    repository, that resources may set unless the type sets them; `aliases`, other names of fields that are accepted;
    and `runs_programs = True` if the plugin runs programs on the operator's machine: such a plugin is off unless the
    operator was started with `--allow-programs`. A resource never sends credentials of its type to an address of its
    own, and may set a literal credential.
    """

    async def plan(self, job: Job[Any]) -> Plan: ...


@runtime_checkable
class Local(Plugin[C_co], Protocol[C_co]):
    async def apply(self, job: Job[Any]) -> Outcome: ...

    async def destroy(self, job: Job[Any]) -> Outcome: ...


@runtime_checkable
class Remote(Plugin[C_co], Protocol[C_co]):
    async def start(self, job: Job[Any]) -> Underway | Outcome:
        """Starts a run for the job's purpose. If the answer was lost, returns no handle; `follow` then searches."""

    async def follow(self, job: Job[Any]) -> Underway | Outcome | Lost:
        """Returns the state of the run, found by its handle or, without one, by its ticket."""


@runtime_checkable
class Cancelling(Remote[C_co], Protocol[C_co]):
    """A remote plugin that can cancel a run; `follow` then says how it ended."""

    async def cancel(self, job: Job[Any]) -> None: ...


class Reconciler(Plugin[C_co], Protocol[C_co]):
    """A `Local` or `Remote` plugin that claims resource types by name."""

    @property
    def resource_types(self) -> tuple[str, ...]: ...
