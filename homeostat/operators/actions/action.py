"""What may be done for a resource: the actions of its decisions. Pure data.

Only `Start` has an effect on the world. `Begin` and `Abandon` stand for what the same decision writes to the status,
and have the object looked at again once it is written; `Adopt` is written whatever else was written meanwhile.
"""

from __future__ import annotations

import msgspec

from homeostat.operators.actions.runs.run import Run


class Begin(msgspec.Struct, frozen=True):
    """A run is recorded."""

    ticket: str


class Start(msgspec.Struct, frozen=True):
    """The plugin is to start the run."""

    run: Run


class Adopt(msgspec.Struct, frozen=True):
    """What is known of the run now: its handle, or its outcome."""

    run: Run


class Abandon(msgspec.Struct, frozen=True):
    """The run is of no use any more."""

    ticket: str
