"""What to show of a Pod: computed from its stage and its outcome, and turned into its status. Pure."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

Stage = Literal["running", "ready", "waiting", "succeeded", "failed"]
KILLED: Final = 137
"""The exit code of a container that is killed."""


class Cause(msgspec.Struct, frozen=True):
    """Why a kubelet ended the Pod."""

    reason: str
    message: str
    is_disruption: bool = False
    """The Node lacked something, and the Pod was in its way."""


class PodState(msgspec.Struct, frozen=True):
    """`reason` is that of waiting or ended containers."""

    stage: Stage
    reason: str = ""
    message: str = ""
    exit_code: int = 0
    restarts: int = 0
    ended: str = ""
    """The reason of the last end of the containers, where they were restarted."""
    init: int | None = None
    """The number of the init container that all of this is about; the containers wait for it."""
    cause: Cause | None = None

    @property
    def is_over(self) -> bool:
        return self.stage in ("succeeded", "failed")


OVERDUE: Final = Cause("DeadlineExceeded", "Pod was active on the node longer than the specified deadline")
