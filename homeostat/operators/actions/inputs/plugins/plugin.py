"""The protocol of input plugins: they read what is declared elsewhere, and write nothing themselves.

    class Inventory:
        name, version, config = "inventory", "1.0.0", InventoryConfig

        def __init__(self, tools: Tools) -> None: ...
        async def read(self, job: InputJob[InventoryConfig]) -> Reading | None: ...

A `Source` is read as a whole at intervals. If it cannot be read, it raises `InputError` and never returns an empty
`Reading`: resources that are no longer declared are deleted. A `Feed` delivers declarations to a `Desk` one after the
other; when a call of the desk returns, the declaration is on disk. What all plugins have in common is in
`homeostat/operators/actions/plugins/configuration.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from homeostat.operators.actions.inputs.plugins.reading import Broken, Declaration, Reading, RefusedError
from homeostat.operators.actions.plugins.configuration import AnyJob, AnyPlugin, C, C_co, PluginError, Tools

__all__ = [
    "Broken",
    "Declaration",
    "Desk",
    "Feed",
    "Input",
    "InputError",
    "InputJob",
    "Reading",
    "RefusedError",
    "Source",
    "Tools",
]

Input = AnyPlugin


class InputError(PluginError):
    """The source cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InputJob(AnyJob[C]):
    """`known` is the revision that was read before; empty if the source has to be read again."""

    known: str = ""


@runtime_checkable
class Source(Input[C_co], Protocol[C_co]):
    async def read(self, job: InputJob[Any]) -> Reading | None:
        """Returns None if the source is still at the job's known revision."""


class Desk(Protocol):
    """Applies what a feed delivers. `RefusedError` is permanent; after other errors the feed may deliver again."""

    def connected(self) -> None:
        """Reports that the feed is connected and receives declarations."""

    async def declare(self, declaration: Declaration) -> None: ...

    async def withdraw(self, kind: str, name: str) -> None:
        """Deletes the resource; it is no error if it does not exist."""

    def took(self) -> None:
        """Counts one applied message."""

    def rejected(self, source: str, message: str) -> None:
        """Counts and reports one rejected message."""


@runtime_checkable
class Feed(Input[C_co], Protocol[C_co]):
    async def feed(self, job: InputJob[Any], desk: Desk) -> None:
        """Runs until it is cancelled. If it ends earlier, it is restarted with backoff."""
