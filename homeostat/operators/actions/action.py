"""The actions that a decision about a resource may contain. Pure data.

Only `Start` and `Cancel` have an effect on the world. `Begin` and `Abandon` accompany a status that the same decision
writes; because of them the object is reconciled again after the write. `Adopt` is written even if the status has
changed meanwhile.
"""

from __future__ import annotations

import msgspec

from homeostat.operators.actions.runs.run import Run


class Begin(msgspec.Struct, frozen=True):
    """Record a run."""

    ticket: str


class Start(msgspec.Struct, frozen=True):
    """Let the plugin start the run."""

    run: Run


class Adopt(msgspec.Struct, frozen=True):
    """Store what is now known of the run: its handle, or its outcome."""

    run: Run


class Cancel(msgspec.Struct, frozen=True):
    """Let the plugin cancel the run, which goes on elsewhere."""

    run: Run


class Abandon(msgspec.Struct, frozen=True):
    """Drop a run that is no longer needed."""

    ticket: str
