"""What a plugin is: three methods, and the job that each of them gets.

    class Notes:
        name, version, config = "notes", "1.0.0", NotesConfig

        def __init__(self, tools: Tools) -> None: ...
        async def plan(self, job: Job[NotesConfig]) -> Plan: ...
        async def apply(self, job: Job[NotesConfig]) -> Outcome: ...
        async def destroy(self, job: Job[NotesConfig]) -> Outcome: ...

A `Local` plugin does its work in the call. What was cut off is planned anew, and applied again only if the plan finds
something left; destroying what is not there succeeds. A `Remote` one starts runs of another system and follows them:
each carries the job's ticket, by which it is found again after a crash.

`plan` and `follow` change nothing. `ActionError` is a failure, `Wait` is none: what is asked for cannot be told or done
just now. What all plugins have besides is in `anyplugin.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol, runtime_checkable

from homeostat.objects.json import JsonObject
from homeostat.operators.actions.plugins.configuration import AnyJob, AnyPlugin, C, C_co, PluginError, Tools
from homeostat.operators.actions.runs.run import Outcome, Purpose
from homeostat.operators.actions.world import Lost, Plan, Underway

__all__ = ["ActionError", "Job", "Local", "Plugin", "Reconciler", "Remote", "State", "Tools"]


class ActionError(PluginError):
    """It did not work."""


class State(Protocol):
    """Bytes that a plugin keeps for a resource between its runs, such as Terraform's state. They may be secret."""

    async def load(self) -> bytes:
        """Empty where nothing was saved."""

    async def save(self, data: bytes) -> None:
        """On disk when it returns; nothing at all removes what was saved."""


def _ignore(_: str) -> None:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Job(AnyJob[C]):
    """One thing to do for one resource. `ticket` and `handle` are those of the run; without a run they are empty.

    `is_applied`: the resource's declaration, as it is now, was applied before. `echo` takes what is printed on the way,
    for people to read before the run has ended; secrets are taken out of it.
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


class Plugin(AnyPlugin[C_co], Protocol[C_co]):
    """It may also have `type_only`, a frozenset of wire names: fields of the configuration that are for types to set,
    and not for resources by themselves; `addresses` and `credentials`, alike: where it calls, and what it proves itself
    with there, so that a resource sends nobody else's credentials elsewhere; and `runs_programs = True`, where it runs
    some on the operator's machine: then it is off unless whoever started the operator has allowed that.
    """

    async def plan(self, job: Job[Any]) -> Plan: ...


@runtime_checkable
class Local(Plugin[C_co], Protocol[C_co]):
    async def apply(self, job: Job[Any]) -> Outcome: ...

    async def destroy(self, job: Job[Any]) -> Outcome: ...


@runtime_checkable
class Remote(Plugin[C_co], Protocol[C_co]):
    async def start(self, job: Job[Any]) -> Underway | Outcome:
        """Starts what the job's purpose says. Without a handle where the answer was lost: `follow` finds out."""

    async def follow(self, job: Job[Any]) -> Underway | Outcome | Lost:
        """How the run stands, by its handle or, without one, by its ticket."""


class Reconciler(Plugin[C_co], Protocol[C_co]):
    """A plugin that claims types of resources by name. It is a `Local` or a `Remote` one besides."""

    @property
    def resource_types(self) -> tuple[str, ...]: ...
