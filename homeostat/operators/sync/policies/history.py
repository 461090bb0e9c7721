"""The last syncs of a policy, for its status. Pure."""

from __future__ import annotations

import msgspec

from homeostat.objects.json import Json
from homeostat.operators.sync.api.policy import LONGEST_VALUE, MOST_SYNCS, PolicyStatus, SyncRecord
from homeostat.operators.sync.policies.world import Sync
from homeostat.operators.sync.run.report import Report


def with_sync(
    before: PolicyStatus, action: Sync, time: str, report: Report | None, error: str = "", *, took_s: float = 0.0
) -> Json:
    """The history with this sync, unless it found everything as the one before. `report` is None for a sync that ended
    before anything was compared.
    """
    new = SyncRecord(
        time=time,
        trigger=action.trigger,
        mode=report.mode if report is not None else action.mode,
        revision=action.revision,
        created=report.count("created") if report is not None else 0,
        updated=report.count("updated") if report is not None else 0,
        deleted=report.count("deleted") if report is not None else 0,
        held=len(report.held) if report is not None else 0,
        failed=len(report.failed) if report is not None else 0,
        error=error[:LONGEST_VALUE],
        duration_seconds=round(took_s, 3),
    )
    last = before.history[0] if before.history else None
    has_changed = bool(new.created or new.updated or new.deleted)
    is_same = last is not None and _facts(last) == _facts(new)
    kept = before.history if is_same and not has_changed else (new, *before.history)[:MOST_SYNCS]
    found: Json = msgspec.to_builtins(kept)
    return found


def _facts(sync: SyncRecord) -> tuple[str, str, int, int]:
    return sync.revision, sync.error, sync.failed, sync.held
