"""What tracked workloads report to Home: how many have the tag that is due, which updates failed or are pinned."""

from __future__ import annotations

from heapq import nsmallest

from homeostat.objects.conditions import find
from homeostat.operators.images.api import PINNED
from homeostat.web.dashboard.home.report import MOST_REPORTED, Change, Problem, Report, Upcoming
from homeostat.web.dashboard.visit import Visit
from homeostat.web.images.dashboard.images import image_path
from homeostat.web.images.dashboard.update import NOT_APPLIED, ROLLING_OUT, Update, short_tag
from homeostat.web.images.dashboard.updates import TrackedUpdates


class ImageReport:
    def __init__(self, updates: TrackedUpdates) -> None:
        self._updates = updates

    async def make(self, visit: Visit) -> Report | None:
        updates = [each for each in await self._updates.all(visit) if each.state != "disabled"]
        updates = [each for each in updates if visit.namespace in ("", each.tracked.namespace)]
        if not updates:
            return None
        states = [each.state for each in updates]
        pinned = [each for each in updates if each.state == "pinned"]
        moving = [each for each in updates if each.state in (NOT_APPLIED, ROLLING_OUT)]
        changes = [each for each in updates if each.status.history]
        wrong = [each for each in updates if each.state == "failed" or each.is_held_back]
        return Report(
            noun="workload",
            total=len(updates),
            as_declared=states.count("up to date"),
            paused=len(pinned),
            paused_word="pinned",
            wrong=states.count("failed"),
            problems=tuple(map(_problem, nsmallest(MOST_REPORTED, wrong, key=_how_bad))),
            changes=tuple(map(_change, changes[:MOST_REPORTED])),
            upcoming=(*map(_frozen, pinned[:MOST_REPORTED]), *map(_under_way, moving[:MOST_REPORTED])),
        )


def _problem(each: Update) -> Problem:
    status, result, tracked = each.status, each.status.result, each.tracked
    own = (tracked.kind, tracked.namespace, tracked.name)
    if each.is_held_back:
        text = f"pinned at {short_tag(status.tag or '')}, and {short_tag(status.wanted or '')} is newer{_reason(each)}"
        return Problem(_name(each), image_path(each), text, "warn", _since(each), own, "pinned")
    text = result.message if result is not None else ""
    return Problem(_name(each), image_path(each), text, since=_since(each), object=own)


def _since(each: Update) -> str:
    """Of a pinned one, since when its newest tag is known, or else since when it is pinned."""
    status = each.status
    if not each.is_held_back:
        return status.result.time if status.result is not None else ""
    pinned = find(status.conditions, PINNED)
    return status.since or (pinned.last_transition_time if pinned is not None else "") or ""


def _how_bad(each: Update) -> tuple[bool, str]:
    return each.is_held_back, _since(each) or "~"


def _frozen(each: Update) -> Upcoming:
    text = f"updates are pinned{_reason(each)}"
    return Upcoming(_name(each), image_path(each), text, otherwise="until somebody unpins it")


def _reason(each: Update) -> str:
    return f": {each.pin.reason}" if each.pin is not None and each.pin.reason else ""


def _under_way(each: Update) -> Upcoming:
    """It has no time: another program applies the manifests, and Pods take as long as they take."""
    text = "is rolling out" if each.state == ROLLING_OUT else "waits for its manifests to be applied"
    return Upcoming(_name(each), image_path(each), text, otherwise="")


def _change(each: Update) -> Change:
    newest = max(each.status.history, key=lambda one: one.time)
    return Change(_name(each), image_path(each), f"wrote tag {newest.new}", newest.time, "good")


def _name(each: Update) -> str:
    return f"{each.tracked.namespace}/{each.tracked.record}"
