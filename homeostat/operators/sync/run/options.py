"""What a sync may do: `spec.sync` of a policy, and the options of commands. Pure."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from homeostat.operators.sync.engine.plan.ownership import Limit

Verb = Literal["create", "update", "delete"]
VERBS: Final[tuple[Verb, ...]] = ("create", "update", "delete")
_Text = Annotated[str, Meta(max_length=1024)]


class SyncOptions(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    prune: bool = False
    """Whether objects are deleted that are ours and no longer declared."""
    force: bool = False
    """Whether objects are updated that are equal."""
    compare: Literal["declared", "exact"] = "declared"
    """Whether fields that only the server has count as differences."""
    mode: Literal["enforce", "observe"] = "enforce"
    """`observe` reports differences and changes nothing."""
    verbs: Annotated[tuple[Verb, ...], Meta(max_length=3)] = VERBS
    """What may be done to objects; anything else is reported and held."""
    adopt: Literal["none", "declared"] = "none"
    """Which objects become ours, and so may be pruned later: those that we create, or all that are declared."""
    protect: Annotated[tuple[_Text, ...], Meta(max_length=100)] = ()
    """Paths that are never deleted, with all below them; a segment may be a glob."""
    max_deletions: Annotated[int, Meta(ge=0, le=1_000_000)] = 100
    """The most deletions of one sync. If there are more, none is carried out."""
    max_deletion_percent: Annotated[int, Meta(ge=0, le=100)] = 25
    """The largest share of our objects that one sync deletes; up to five deletions are allowed whatever their share."""
    allow_windows: _Text = ""
    """Times in which changes are allowed, such as `daily 22:00-06:00 Europe/Berlin`; empty for any time."""
    deny_windows: _Text = ""
    """Times in which nothing is changed, such as `Fri 16:00-Mon 08:00`; separated by semicolons."""
    timeout_seconds: Annotated[int, Meta(ge=1, le=86_400)] = 900
    """When the run ends. What has not begun by then is held for the next one."""
    history: Annotated[int, Meta(ge=0, le=10_000)] = 200
    """How many changes the record keeps."""

    @property
    def limit(self) -> Limit:
        return Limit(self.max_deletions, self.max_deletion_percent)
