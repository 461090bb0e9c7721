"""Publishes the output of a run while it is in progress.

The output of a run that takes longer than a moment is written to the server at intervals, as a `RunOutput` that the
resource owns: whole lines, without secrets, and only the end of a long output. Nothing depends on it: if a write fails,
the run continues.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

import msgspec

from homeostat.client.base import Client, UnreachableError
from homeostat.objects.errors import ApiError
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import Kind
from homeostat.operators.actions.api import RUN_OUTPUT, Resource, RunOutputSpec
from homeostat.operators.actions.runs.history import record_name
from homeostat.operators.actions.runs.run import LONGEST_TEXT, Run
from homeostat.runtime.control.writes import RefusedWriteError

log = logging.getLogger(__name__)

EVERY_S: Final = 2.0
_MANAGER: Final = "homeostat-actions"
_LONGEST_LINE: Final = 4 * LONGEST_TEXT


class Printed:
    """`text` is the end of the output; `length` counts all its characters."""

    def __init__(self, scrub: Callable[[str], str]) -> None:
        self._scrub = scrub
        self._rest, self._is_too_long = "", False
        self.text, self.length = "", 0

    def add(self, text: str) -> None:
        """Shows complete lines only, and none that is too long: half a secret would not be recognised."""
        if self._is_too_long:
            _, newline, text = text.partition("\n")
            self._is_too_long = not newline
        lines, newline, self._rest = (self._rest + text).rpartition("\n")
        self._show(self._scrub(lines + newline))
        if len(self._rest) > _LONGEST_LINE:
            self._rest, self._is_too_long = "", True
            self._show(f"(a line of more than {_LONGEST_LINE} characters)\n")

    def end(self) -> None:
        if self._rest:
            self.add("\n")

    def _show(self, text: str) -> None:
        self.length += len(text)
        self.text = end_of(self.text + text)


def end_of(text: str) -> str:
    """Returns the last part that is kept, from the beginning of a line."""
    kept = text[-LONGEST_TEXT:]
    return kept if kept == text else kept.partition("\n")[2] or kept


@asynccontextmanager
async def publishing(
    client: Client,
    kind: Kind,
    resource: Resource,
    run: Run,
    *,
    scrub: Callable[[str], str],
    every_s: float = EVERY_S,
) -> AsyncIterator[Printed]:
    printed = Printed(scrub)
    writer = _OutputWriter(client, kind, resource, run, printed)
    # No task group: it would wrap the errors of the run, which the caller distinguishes.
    writing = asyncio.create_task(writer.write_regularly(every_s))
    try:
        yield printed
        printed.end()
        writing.cancel()
        await asyncio.wait([writing])
        if writer.has_written:
            await writer.write(is_ended=True)
    finally:
        writing.cancel()
        await asyncio.wait([writing])


class _OutputWriter:
    def __init__(self, client: Client, kind: Kind, resource: Resource, run: Run, printed: Printed) -> None:
        self._client, self._kind, self._resource, self._run = client, kind, resource, run
        self._printed = printed
        self._written = 0

    @property
    def has_written(self) -> bool:
        return self._written > 0

    async def write_regularly(self, every_s: float) -> None:
        """Until cancelled."""
        while True:
            await asyncio.sleep(every_s)
            if self._printed.length > self._written:
                await self.write()

    async def write(self, *, is_ended: bool = False) -> None:
        length = self._printed.length
        body = self._object(is_ended=is_ended)
        path = RUN_OUTPUT.kind.path(self._resource.metadata.namespace, body["metadata"]["name"])
        try:
            await self._client.apply(path, body, manager=_MANAGER, force=True)
        except (ApiError, UnreachableError, RefusedWriteError) as error:
            log.debug("failed to write run output", extra={"error": str(error)})
        else:
            self._written = length

    def _object(self, *, is_ended: bool) -> JsonObject:
        metadata, kind = self._resource.metadata, self._kind
        owner = {"apiVersion": kind.api_version, "kind": kind.kind, "name": metadata.name, "uid": metadata.uid}
        spec = RunOutputSpec(
            ticket=self._run.ticket,
            purpose=self._run.purpose,
            generation=self._run.generation,
            began=self._run.began,
            text=self._printed.text,
            length=self._printed.length,
            is_ended=is_ended,
        )
        return {
            "apiVersion": RUN_OUTPUT.kind.api_version,
            "kind": RUN_OUTPUT.kind.kind,
            "metadata": {
                "name": record_name(self._resource),
                "namespace": metadata.namespace,
                "ownerReferences": [owner],
            },
            "spec": msgspec.to_builtins(spec),
        }
