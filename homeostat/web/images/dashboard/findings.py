"""The page of image updates that is about an object: of a tracked workload, or of its ImageUpdate."""

from __future__ import annotations

from homeostat.operators.images.api import IMAGE_UPDATE
from homeostat.operators.images.engine.workloads import ALL
from homeostat.web.dashboard.finding import Finding, Subject
from homeostat.web.dashboard.visit import Visit
from homeostat.web.images.dashboard.images import LOOKS, image_path
from homeostat.web.images.dashboard.update import Update
from homeostat.web.images.dashboard.updates import TrackedUpdates


class ImageFindings:
    def __init__(self, updates: TrackedUpdates) -> None:
        self._updates = updates

    async def find(self, visit: Visit, subject: Subject) -> list[Finding]:
        if not subject.is_of(IMAGE_UPDATE.kind, *ALL):
            return []
        return [_finding(each) for each in await self._updates.all(visit) if is_about(each, subject)]


def is_about(each: Update, subject: Subject) -> bool:
    tracked = each.tracked
    if tracked.namespace != subject.namespace:
        return False
    if subject.is_of(IMAGE_UPDATE.kind):
        return tracked.record == subject.name
    return subject.is_of(tracked.kind) and tracked.name == subject.name


def _finding(each: Update) -> Finding:
    result = each.status.result
    text = (
        each.pin.reason if each.pin is not None else each.explanation or (result.message if result is not None else "")
    )
    return Finding(each.tracked.label, image_path(each), each.state, LOOKS[each.state], text)
