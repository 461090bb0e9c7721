"""What an input plugin is: it says what is declared elsewhere, and writes nothing itself.

    class Inventory:
        name, version, config = "inventory", "1.0.0", InventoryConfig

        def __init__(self, tools: Tools) -> None: ...
        async def read(self, job: InputJob[InventoryConfig]) -> Reading | None: ...

A `Source` is read as a whole, again and again. What cannot be read is an `InputError` and never an empty `Reading`:
resources that are declared no more are deleted. A `Feed` brings one thing after the other to a `Desk`; when the desk
returns, it is on disk. What all plugins have besides is in `plugins/configuration.py`.
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
    """`known` is the revision that was read before; empty where it must be read anew."""

    known: str = ""


@runtime_checkable
class Source(Input[C_co], Protocol[C_co]):
    async def read(self, job: InputJob[Any]) -> Reading | None:
        """None where the source is still at the revision that the job knows."""


class Desk(Protocol):
    """Where a feed brings what comes in. `RefusedError` is for good; after any other error it may be brought again."""

    def connected(self) -> None:
        """From now on what is declared comes in."""

    async def declare(self, declaration: Declaration) -> None: ...

    async def withdraw(self, kind: str, name: str) -> None:
        """What is not there is gone already."""

    def took(self) -> None:
        """One more was dealt with."""

    def rejected(self, source: str, message: str) -> None:
        """One more was given back for good, and why."""


@runtime_checkable
class Feed(Input[C_co], Protocol[C_co]):
    async def feed(self, job: InputJob[Any], desk: Desk) -> None:
        """Until it is cancelled. Whatever it ends with, it is begun again after a while."""
