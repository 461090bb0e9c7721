"""The status of an ImageUpdate: made of what a pass found out about a Deployment, and read by the next pass. Pure."""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import Final

import msgspec

from homeostat.objects.conditions import READY, Condition, set_condition
from homeostat.objects.conditions import Status as ConditionStatus
from homeostat.objects.time.timestamp import format_time
from homeostat.operators.images.api import (
    MOST_HISTORY,
    MOST_NOTICES,
    PINNED,
    ImageUpdateStatus,
    Notice,
    Pin,
    PullRequest,
    Result,
    Written,
)
from homeostat.operators.images.engine.annotations import Tracked
from homeostat.operators.images.engine.entry import Action, Entry
from homeostat.operators.images.world import Record

LONGEST: Final = 1000
PINNED_BY_US: Final = "another tag was set in the manifests repository, and not by this operator"
_NO_PIN: Final = "Updates are not stopped"
_READY: Final[dict[Action, ConditionStatus]] = {
    "patched": "True",
    "up_to_date": "True",
    "skipped": "Unknown",
    "failed": "False",
}


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a pass found out about a Deployment."""

    entry: Entry
    reason: str
    tag: str = ""
    """What the file has now; empty if that is unknown."""
    wanted: str = ""
    since: str = ""
    old: str = ""
    commit: str = ""
    """The commit that was pushed; empty if none was."""
    pin: str | None = None
    pull: PullRequest | None = None
    """The request that proposes the tag; `proposed` is filled from the status before."""
    retry_s: float | None = None
    note: str = ""
    """A notification, unless it is the one before; empty for none."""
    request: str = ""


def record_of(status: ImageUpdateStatus, pin: Pin | None) -> Record:
    """What passes need to know of the last status."""
    pull = status.pull_request or PullRequest()
    return Record(
        tag=status.tag or "",
        attempt=status.attempt or "",
        candidate=status.wanted or "",
        since=status.since or "",
        pin=None if pin is None else pin.tag,
        pin_reason=None if pin is None or pin.reason == PINNED_BY_US else pin.reason,
        proposed=pull.proposed,
        refused=pull.proposed[0] if pull.state == "refused" and pull.proposed else "",
    )


def new_status(
    before: ImageUpdateStatus, tracked: Tracked, outcome: Outcome, now: datetime, *, is_pinned: bool
) -> ImageUpdateStatus:
    entry, when = outcome.entry, format_time(now)
    is_known = bool(outcome.tag)
    history = before.history
    is_merged = was_proposed(before, outcome.tag)
    if outcome.commit or is_merged:
        old = outcome.old if outcome.commit else before.tag or ""
        new = Written(time=when, old=old[:LONGEST], new=outcome.tag[:LONGEST], commit=outcome.commit)
        history = (new, *history)[:MOST_HISTORY]
    message = entry.message[:4000]
    result = before.result
    if result is None or (result.action, result.message) != (entry.action, message):
        result = Result(action=entry.action, message=message, time=when)
    notified, outbox = _notified(before, tracked, outcome, when)
    conditions = before.conditions
    for each in _conditions(entry, outcome.reason, is_pinned=is_pinned):
        conditions = set_condition(conditions, each, now=now)
    return ImageUpdateStatus(
        conditions=conditions,
        observed_generation=before.observed_generation,
        image=tracked.settings.image[:LONGEST],
        tag=outcome.tag[:LONGEST] if is_known else before.tag,
        wanted=outcome.wanted[:LONGEST] or (before.wanted if not is_known else None),
        since=outcome.since or None,
        attempt=None if is_known else before.attempt,
        commit=outcome.commit or before.commit,
        pull_request=_pull_request(before, outcome, is_merged=is_merged),
        proposals=before.proposals,
        result=result,
        history=history,
        reported=before.reported,
        notified=notified,
        outbox=outbox,
        handled_request=outcome.request[:LONGEST] or before.handled_request,
    )


def was_proposed(before: ImageUpdateStatus, tag: str) -> bool:
    """Whether the file has got a tag that we proposed: somebody merged the request."""
    return before.pull_request is not None and tag in before.pull_request.proposed and tag != before.tag


def _pull_request(before: ImageUpdateStatus, outcome: Outcome, *, is_merged: bool) -> PullRequest | None:
    """Kept while nothing new is known of it."""
    last, found = before.pull_request, outcome.pull
    if found is None:
        return None if outcome.reason in ("UpToDate", "Pinned", "Patched") else last
    past = () if last is None or is_merged else last.proposed
    wanted = outcome.wanted[:LONGEST]
    proposed = past if found.state == "changed" else tuple(dict.fromkeys((wanted, *past)))[:MOST_HISTORY]
    return msgspec.structs.replace(found, proposed=proposed)


def _notified(
    before: ImageUpdateStatus, tracked: Tracked, outcome: Outcome, when: str
) -> tuple[str | None, tuple[Notice, ...]]:
    """What identifies the last notification, and those to send. The same one again is not sent again, unless all was
    well in between.
    """
    if not outcome.note or not tracked.settings.notifications_secret_name:
        return (None if outcome.entry.action == "up_to_date" else before.notified), before.outbox
    identity = hashlib.sha256(outcome.note.encode()).hexdigest()[:16]
    if identity == before.notified:
        return before.notified, before.outbox
    notice = Notice(
        id=hashlib.sha256(f"{tracked.uid}\0{when}\0{outcome.note}".encode()).hexdigest()[:32],
        time=when,
        text=outcome.note[:4000],
        action=outcome.entry.action,
        old=outcome.old[:LONGEST],
        new=(outcome.tag if outcome.commit else outcome.wanted)[:LONGEST],
        commit=outcome.commit,
    )
    return identity, (*before.outbox, notice)[-MOST_NOTICES:]


def _conditions(entry: Entry, reason: str, *, is_pinned: bool) -> tuple[Condition, ...]:
    message = entry.message[:LONGEST]
    return (
        Condition(READY, _READY[entry.action], reason, message),
        Condition(PINNED, "True", "Pinned", message) if is_pinned else Condition(PINNED, "False", "NotPinned", _NO_PIN),
    )
