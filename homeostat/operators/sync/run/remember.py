"""What the next sync has to know of this one: who owns what, what was declared, what happened."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from datetime import datetime
from typing import Final

from msgspec.structs import replace

from homeostat.edge.turn import Turn
from homeostat.objects.time.timestamp import format_time
from homeostat.operators.sync.engine.errors import SyncError
from homeostat.operators.sync.offload import swept
from homeostat.operators.sync.run.options import SyncOptions
from homeostat.operators.sync.run.plan import Step
from homeostat.operators.sync.run.prepare import Prepared
from homeostat.operators.sync.run.prune import Addresses
from homeostat.operators.sync.run.record import Event, Origin, Owned, Record
from homeostat.operators.sync.run.report import Report, Result
from homeostat.operators.sync.session.remote import Remote
from homeostat.operators.sync.session.session import Session

_LONGEST_MESSAGE: Final = 300


async def remembered(
    session: Session,
    prepared: Prepared,
    record: Record,
    report: Report,
    remotes: Mapping[str, Remote],
    waits: Mapping[str, float],
    now: datetime,
) -> Record:
    objects, events = dict[str, Owned | None](), deque[Event](maxlen=prepared.plan.options.history)
    last = {each.path: each for each in record.history}
    addresses, turn = Addresses(session), Turn()
    steps = await swept(lambda: {each.path: each for each in prepared.plan.steps}, len(prepared.plan.steps))
    options = prepared.plan.options
    for result in report.results:
        await turn.pause()
        step = steps[result.path]
        if result.became in ("deleted", "gone"):
            objects[result.path] = None
        elif result.path in prepared.facts and result.became in ("created", "updated", "unchanged"):
            objects[result.path] = await _owned(addresses, prepared, record, step, result, remotes)
            if step.renamed_from and record.objects.get(step.renamed_from) is not None and result.became != "created":
                objects.setdefault(step.renamed_from, None)
        if result.became in ("created", "updated", "deleted", "failed") and not _is_repeated(result, last):
            events.append(_event(result, prepared, now))
    # A creation that was begun stays noted until its object is known.
    creating = {path for path in _begun(record, report, steps) if objects.get(path) is None}
    passed = {path: None for path, until in record.not_before.items() if until <= now.timestamp()}
    return await swept(
        lambda: record.updated(
            objects=objects,
            creating=creating,
            not_before={**passed, **waits},
            events=events,
            keep=options.history,
        ),
        len(record.objects) + len(objects),
    )


def _is_repeated(result: Result, last: Mapping[str, Event]) -> bool:
    """Whether it failed as it did before: the history is for changes."""
    before = last.get(result.path)
    return result.became == "failed" and before is not None and before.message == result.message[:_LONGEST_MESSAGE]


def _begun(record: Record, report: Report, steps: Mapping[str, Step]) -> set[str]:
    """Creations whose outcome is not known."""
    failed = {each.path for each in report.failed if steps[each.path].action == "create"}
    return {*record.creating, *failed}


async def _owned(
    addresses: Addresses,
    prepared: Prepared,
    record: Record,
    step: Step,
    result: Result,
    remotes: Mapping[str, Remote],
) -> Owned:
    fact = prepared.facts[step.path]
    before = record.objects.get(step.path) or (record.objects.get(step.renamed_from) if step.renamed_from else None)
    identity = result.id or fact.id
    origin = _origin(record, step, result, before, identity, prepared.plan.options)
    if before is not None and before.id == identity and before.origin == origin and not step.renamed_from:
        return replace(fact, id=identity, origin=origin, at=before.at)
    at = ""
    if origin is not None:
        remote = remotes.get(step.path) or Remote()
        try:
            at = await addresses.get(step.path, Remote(remote.value, identity, remote.alias))
        except SyncError:
            # A path that needs more than the id: a deletion finds it in the list.
            at = ""
    return replace(fact, id=identity, origin=origin, at=at)


def _origin(
    record: Record, step: Step, result: Result, before: Owned | None, identity: str, options: SyncOptions
) -> Origin | None:
    if result.became == "created" or step.path in record.creating:
        return "created"
    if before is not None and before.id == identity and before.is_ours:
        return before.origin
    return "adopted" if options.adopt == "declared" else None


def _event(result: Result, prepared: Prepared, now: datetime) -> Event:
    return Event(
        time=format_time(now),
        path=result.path,
        action=result.became,
        revision=prepared.plan.revision,
        fields=result.fields[:20],
        message=result.message[:_LONGEST_MESSAGE],
        changed_by=result.changed_by,
    )
