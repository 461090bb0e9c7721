"""What a decision about a resource depends on besides the resource: frozen values that observing made. Pure."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

import msgspec

from homeostat.operators.actions.api import Keep
from homeostat.operators.actions.runs.run import Changes, Outcome
from homeostat.operators.actions.schedule import Delays

Need = Literal["rest", "plan", "follow", "verify", "conclude", "destroy", "nothing"]


class Plan(msgspec.Struct, frozen=True):
    """What applying would change. `is_changed` is None where only a run of the plan can tell.

    `outputs` are those of what is there: where nothing is to be changed they replace the resource's, unless empty.
    """

    is_changed: bool | None
    changes: Changes = Changes()
    output: str = ""
    again_after_seconds: float | None = None
    """When to look for drift next; unless given, the type's interval."""
    outputs: dict[str, Any] = {}
    is_assumed: bool = False
    """Nobody has looked, since only applying again could tell; what was applied is taken to be there still."""


class Fresh(msgspec.Struct, frozen=True):
    """The run was recorded by this process and not started since."""


class Underway(msgspec.Struct, frozen=True):
    """The run goes on. Without a handle it is not found yet, and may be still to come."""

    handle: dict[str, Any] | None
    again_after_s: float = 10.0


class Lost(msgspec.Struct, frozen=True):
    """Nothing runs under the ticket: it was never started, or it died with the process that ran it.

    `is_restartable`: nothing can have happened, so the same run may be started.
    """

    is_restartable: bool


class Fault(msgspec.Struct, frozen=True):
    """The plugin could not do what it was asked: told by its own reason, and without secrets.

    `is_certain`: the plugin itself says so. Otherwise it was not asked, or broke off: nobody knows what it has done.
    """

    reason: str
    message: str
    is_certain: bool = False


Seen = Plan | Fresh | Underway | Lost | Outcome | Fault


class Pace(msgspec.Struct, frozen=True):
    """What the resource's type says of time and history, completed by the defaults of the process."""

    interval_s: float = 300.0
    delays: Delays = Delays()
    keep: Keep = Keep()


class World(msgspec.Struct, frozen=True, kw_only=True):
    """`chance` is uniform in [0, 1). `seen` is what the need of the moment asked for; None where nothing was needed.

    The need is that of `now`, when the look began; seeing may have taken until `seen_at`. `declaration` is what a run
    keeps where it may outlast what is declared.
    """

    now: datetime
    seen_at: datetime | None = None
    chance: float
    digest: str
    kind: str
    version: str
    plugin: str
    declaration: str = ""
    pace: Pace = Pace()
    seen: Seen | None = None

    @property
    def ended(self) -> datetime:
        return self.seen_at or self.now
