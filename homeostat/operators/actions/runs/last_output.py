"""Reads the output of the current run of a resource or, if there is none, of its last run; and which run that is.

The last run is the newest entry of the history, even if it only planned or printed nothing. The output of a run in
progress is in a `RunOutput` (`output.py`) if it takes longer than a moment; the history has the output of runs that
have ended.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from homeostat.client.base import Client
from homeostat.objects.errors import NotFoundError
from homeostat.operators.actions.api import (
    RECONCILIATION,
    RUN_OUTPUT,
    Reconciliation,
    ReconciliationSpec,
    Resource,
    ResourceStatus,
    RunOutput,
    RunOutputSpec,
)
from homeostat.operators.actions.runs.history import entry_name, record_name
from homeostat.operators.actions.runs.run import Purpose, Run, Trigger

_output = msgspec.json.Decoder(RunOutput)
_entry = msgspec.json.Decoder(Reconciliation)

RunState = Literal["none", "running", "succeeded", "failed", "lost"]
"""`lost`: the run ended with the process that ran it, without a history entry. `none`: there was no run yet."""


class LastOutput(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """`text` is the end of the output, which has `length` characters in all. It is the error if a failed run printed
    nothing.
    """

    run: str = ""
    """The ticket of the run; the name of the history entry if it only planned."""
    state: RunState = "none"
    purpose: Purpose | None = None
    trigger: Trigger | None = None
    generation: int | None = None
    started: str | None = None
    ended: str | None = None
    error: str = ""
    text: str = ""
    length: int = 0

    @property
    def is_running(self) -> bool:
        return self.state == "running"


async def last_output(client: Client, resource: Resource, status: ResourceStatus) -> LastOutput:
    output = await _output_of(client, resource)
    if status.run is not None:
        return _under_way(status.run, output)
    number = status.reconciliations
    entry = await _entry_of(client, resource, number)
    if output is not None and _is_later(output, entry):
        return _lost(output)
    return _recorded(entry_name(resource, number), entry, output)


async def recorded_output(client: Client, resource: Resource, number: int) -> LastOutput:
    """Reads the output from the history only, for resources that may be gone."""
    entry = await _entry_of(client, resource, number)
    return _recorded(entry_name(resource, number), entry, None)


def _under_way(run: Run, output: RunOutputSpec | None) -> LastOutput:
    own = output if output is not None and output.ticket == run.ticket else None
    return LastOutput(
        run=run.ticket,
        state="running",
        purpose=run.purpose,
        trigger=run.trigger,
        generation=run.generation,
        started=run.began,
        text=own.text if own is not None else "",
        length=own.length if own is not None else 0,
    )


def _is_later(output: RunOutputSpec, entry: ReconciliationSpec | None) -> bool:
    """Returns whether the output is of a run that never ended, so that the history has no entry of it."""
    return entry is None or (output.ticket != entry.ticket and output.began > entry.started)


def _lost(output: RunOutputSpec) -> LastOutput:
    return LastOutput(
        run=output.ticket,
        state="lost",
        purpose=output.purpose,
        generation=output.generation or None,
        started=output.began,
        text=output.text,
        length=output.length,
    )


def _recorded(name: str, entry: ReconciliationSpec | None, output: RunOutputSpec | None) -> LastOutput:
    if entry is None:
        return LastOutput()
    text = _printed(entry) or entry.error
    text = text if text.endswith("\n") or not text else f"{text}\n"
    length = len(text)
    if output is not None and output.ticket == entry.ticket:
        text, length = output.text, output.length
    return LastOutput(
        run=entry.ticket or name,
        state="succeeded" if entry.is_success else "failed",
        purpose=entry.purpose,
        trigger=entry.trigger,
        generation=entry.generation,
        started=entry.started,
        ended=entry.finished,
        error=entry.error,
        text=text,
        length=length,
    )


def _printed(entry: ReconciliationSpec) -> str:
    """The output of the run itself, without the output of the plan before it."""
    match entry.purpose:
        case "plan":
            return entry.plan_output
        case None:
            return entry.apply_output or entry.error or entry.plan_output
        case _:
            return entry.apply_output


async def _output_of(client: Client, resource: Resource) -> RunOutputSpec | None:
    path = RUN_OUTPUT.kind.path(resource.metadata.namespace, record_name(resource))
    try:
        return _output.decode(await client.fetch("GET", path)).spec
    except NotFoundError:
        return None


async def _entry_of(client: Client, resource: Resource, number: int) -> ReconciliationSpec | None:
    path = RECONCILIATION.kind.path(resource.metadata.namespace, entry_name(resource, number))
    try:
        return _entry.decode(await client.fetch("GET", path)).spec
    except NotFoundError:
        return None
