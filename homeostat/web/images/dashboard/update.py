"""One tracked workload, what the operator knows of it, and the state that follows. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from homeostat.objects.conditions import is_true
from homeostat.operators.images.api import PINNED, REQUESTED, ImageUpdateStatus, Pin
from homeostat.operators.images.engine.annotations import Tracked
from homeostat.web.images.dashboard.rollout import Rollout

NOT_APPLIED: Final = "not applied"
ROLLING_OUT: Final = "rolling out"
STATES: Final = (
    *("failed", "pinned", NOT_APPLIED, "proposed", "behind", ROLLING_OUT, "pending", "disabled", "up to date"),
)
"""The worst first, as lists are ordered."""
_CHECKED: Final = ("up_to_date", "patched")
"""Results of a pass that compared the manifests with the newest tag."""


class Update(NamedTuple):
    """One tracked workload."""

    tracked: Tracked
    status: ImageUpdateStatus
    pin: Pin | None
    exists: bool
    """Whether the operator has an ImageUpdate of it."""
    rollout: Rollout = Rollout()
    pod_labels: Mapping[str, str] = {}
    """Of its Pods; empty if they are not known by labels."""

    @property
    def state(self) -> str:
        status, result = self.status, self.status.result
        if not self.tracked.settings.enabled:
            return "disabled"
        if result is not None and result.action == "failed":
            return "failed"
        if self.pin is not None:
            return "pinned"
        if result is None or self.is_unchecked:
            return "pending"
        if status.wanted and status.tag and status.wanted != status.tag:
            return "proposed" if status.pull_request is not None else "behind"
        if result.action not in _CHECKED:
            return "pending"
        if status.tag and status.tag != self.tracked.version:
            return NOT_APPLIED
        return "up to date" if self.rollout.is_done else ROLLING_OUT

    @property
    def is_unchecked(self) -> bool:
        """Whether the last pass was before the pin was removed, or before somebody requested another one."""
        return self.is_requested or (self.pin is None and is_true(self.status.conditions, PINNED))

    @property
    def is_requested(self) -> bool:
        requested = self.tracked.annotations.get(REQUESTED, "")
        return bool(requested) and requested != (self.status.handled_request or "")

    @property
    def is_held_back(self) -> bool:
        """Whether a pin keeps it from a newer tag."""
        status = self.status
        return self.state == "pinned" and bool(status.wanted and status.tag) and status.wanted != status.tag

    @property
    def brief(self) -> str:
        """The same for a list, whose columns have the tags; of what is up to date there is nothing to say."""
        match self.state:
            case state if state == NOT_APPLIED:
                return "Waiting for the manifests to be applied."
            case state if state == ROLLING_OUT:
                return f"Rolling out: {self.rollout.text}."
            case "up to date":
                return ""
        result = self.status.result
        return self.explanation or (result.message if result is not None else "")

    @property
    def explanation(self) -> str:
        """What the state waits for; empty where the result of the last pass says it."""
        tracked, tag = self.tracked, self.status.tag or ""
        match self.state:
            case "pinned" if self.pin is not None:
                return f"Pinned: {self.pin.reason}" if self.pin.reason else "Pinned."
            case "pending" if self.is_unchecked:
                done = "Requested" if self.is_requested else "Unpinned"
                return f"{done}. Waiting for the next pass, which compares the manifests with the newest tag."
            case state if state == NOT_APPLIED:
                return (
                    f"The manifests declare {short_tag(tag)}, {tracked.title} has {short_tag(tracked.version)}: "
                    "waiting for the manifests to be applied."
                )
            case state if state == ROLLING_OUT:
                return f"{tracked.title} has {short_tag(tag)}, and is rolling out: {self.rollout.text}."
        return ""


def short_tag(tag: str) -> str:
    """The first digits of a commit; another tag as it is."""
    is_commit = len(tag) == 40 and all(each in "0123456789abcdef" for each in tag)
    return tag[:12] if is_commit else tag
