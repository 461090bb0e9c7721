"""What a decision about a resource depends on besides the resource itself: frozen values from observing. Pure."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

import msgspec

from homeostat.operators.actions.api import Keep
from homeostat.operators.actions.runs.run import Changes, Outcome
from homeostat.operators.actions.schedule import Delays

Need = Literal["rest", "plan", "follow", "verify", "conclude", "destroy", "nothing"]


class Plan(msgspec.Struct, frozen=True):
    """What applying would change. `is_changed` is None if only a run of the plan can find out.

    `outputs` are the outputs of what exists now. If nothing has to be changed, they replace the outputs of the
    resource, unless they are empty.
    """

    is_changed: bool | None
    changes: Changes = Changes()
    output: str = ""
    again_after_seconds: float | None = None
    """Seconds until the next check for drift; default: the interval of the type."""
    outputs: dict[str, Any] = {}
    is_assumed: bool = False
    """Nothing was checked, because only applying again could find out: the last apply is assumed to be in effect."""


class Fresh(msgspec.Struct, frozen=True):
    """This process recorded the run and has not started it yet."""


class Underway(msgspec.Struct, frozen=True):
    """The run is in progress. Without a handle it was not found yet; it may show up later."""

    handle: dict[str, Any] | None
    again_after_s: float = 10.0


class Lost(msgspec.Struct, frozen=True):
    """No run has the ticket: it was never started, or it ended with the process that ran it.

    `is_restartable`: it had no effect, so the same run may be started again.
    """

    is_restartable: bool


class Fault(msgspec.Struct, frozen=True):
    """The plugin failed, with its own reason and without secrets in the message.

    `is_certain`: the plugin itself reported the failure. Otherwise it was not called, or it was interrupted, and its
    effects are unknown.
    """

    reason: str
    message: str
    is_certain: bool = False
    output: str = ""
    """What was printed until then, without secrets."""


Seen = Plan | Fresh | Underway | Lost | Outcome | Fault


class ResourcePace(msgspec.Struct, frozen=True):
    """The intervals, delays and history settings of the resource's type, with the defaults of the process filled in."""

    interval_s: float = 300.0
    delays: Delays = Delays()
    keep: Keep = Keep()


class World(msgspec.Struct, frozen=True, kw_only=True):
    """`chance` is uniform in [0, 1). `seen` is the observation that `need_of` asked for; None if it asked for nothing.

    The reconciliation began at `now` and finished observing at `seen_at`. `declaration` is what a remote run stores:
    the declared resource may change before the run ends.
    """

    now: datetime
    seen_at: datetime | None = None
    chance: float
    digest: str
    kind: str
    version: str
    plugin: str
    declaration: str = ""
    pace: ResourcePace = ResourcePace()
    seen: Seen | None = None

    @property
    def ended(self) -> datetime:
        return self.seen_at or self.now
