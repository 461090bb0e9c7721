"""Who else declares a workload: a tool that applies its manifests again, and so reverts what somebody changes here.

Origin("Helm", "The Helm release web ...", "Roll back the release instead:", ("helm rollback web -n shop",))
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec

from homeostat.web.dashboard.finding import Subject
from homeostat.web.dashboard.visit import Visit


class Origin(msgspec.Struct, frozen=True):
    """`reverted` says by what and when a change here is reverted, `instead` what to do with the commands."""

    by: str
    reverted: str
    instead: str = ""
    commands: tuple[str, ...] = ()


FindOrigin = Callable[[Visit, Subject], Awaitable[Origin | None]]
