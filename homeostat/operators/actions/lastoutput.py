"""What the run of a resource has printed so far or, where none is under way, what the last one has printed.

A run that takes more than a moment has a `RunOutput` (`printed.py`); of a quick one the record tells when it has ended.
"""

from __future__ import annotations

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
from homeostat.operators.actions.history import entry_name, record_name

_output = msgspec.json.Decoder(RunOutput)
_entry = msgspec.json.Decoder(Reconciliation)


class LastOutput(msgspec.Struct, frozen=True, kw_only=True):
    """`text` is the end of what was printed, which was so many characters long."""

    ticket: str = ""
    text: str = ""
    length: int = 0
    is_running: bool = False


async def last_output(client: Client, resource: Resource, status: ResourceStatus) -> LastOutput:
    is_running = status.run is not None
    ticket = f"{resource.metadata.uid}-{status.sequence}"
    output = await _output_of(client, resource)
    # That of a run before this one, where this one was quick.
    if output is not None and output.ticket == ticket:
        return LastOutput(ticket=ticket, text=output.text, length=output.length, is_running=is_running)
    if is_running:
        return LastOutput(ticket=ticket, is_running=True)
    return await recorded_output(client, resource, status.reconciliations, ticket)


async def recorded_output(client: Client, resource: Resource, number: int, ticket: str) -> LastOutput:
    entry = await _entry_of(client, resource, number)
    text = (entry.apply_output or entry.error or entry.plan_output) if entry is not None else ""
    text = text if text.endswith("\n") or not text else f"{text}\n"
    return LastOutput(ticket=ticket, text=text, length=len(text))


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
