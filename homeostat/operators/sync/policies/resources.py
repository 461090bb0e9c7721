"""What the status of a SyncPolicy says of each resource: its result, and what differed, within limits. Pure.

The engine has masked the secrets that metadata declare. A status is read by more people than a plan, so fields whose
name or value looks like a secret are hidden as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from homeostat.objects.json import Json
from homeostat.operators.sync.api.policy import (
    LARGEST_CHANGES,
    LONGEST_MESSAGE,
    LONGEST_VALUE,
    MOST_FIELDS,
    FieldChange,
    ResourceReport,
)
from homeostat.operators.sync.engine.compare.difference import HIDDEN
from homeostat.operators.sync.engine.payload import pointer
from homeostat.operators.sync.engine.secrets.detect import is_secret_name
from homeostat.operators.sync.run.plan import Change
from homeostat.operators.sync.run.report import Result


def resource_reports(results: Iterable[Result]) -> list[ResourceReport]:
    """The first resources have what differed, until all of it together becomes too large."""
    left, reports = LARGEST_CHANGES, list[ResourceReport]()
    for each in results:
        changes = field_changes(each.changes)
        left -= sum(len(change.pointer) + len(change.declared) + len(change.live) for change in changes)
        reports.append(_report(each, changes if left >= 0 else ()))
    return reports


def field_changes(changes: Sequence[Change]) -> tuple[FieldChange, ...]:
    return tuple(
        FieldChange(
            pointer=each.pointer[:LONGEST_MESSAGE],
            declared=_text(each.pointer, each.local, is_absent=each.operation in ("add", "drop")),
            live=_text(each.pointer, each.remote, is_absent=_is_new(each)),
        )
        for each in changes[:MOST_FIELDS]
    )


def _is_new(change: Change) -> bool:
    """Whether the server has no such field. Of an object that it lacks, the whole is one difference."""
    return change.operation == "remove" or (not change.pointer and change.remote is None)


def _text(at: str, value: Json, *, is_absent: bool) -> str:
    if is_absent:
        return ""
    if any(map(is_secret_name, pointer.parse(at))):
        return HIDDEN
    for tokens, found in list(pointer.leaves(value)):
        if found is not None and any(map(is_secret_name, tokens)):
            value = pointer.put(value, pointer.join(*tokens), HIDDEN)
    text = HIDDEN if value == HIDDEN else msgspec.json.encode(value).decode()
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}…"


def _report(result: Result, changes: tuple[FieldChange, ...]) -> ResourceReport:
    return ResourceReport(
        path=result.path,
        result=result.became,
        message=result.message[:LONGEST_MESSAGE],
        kind=result.kind,
        fields=result.fields[:MOST_FIELDS],
        changed_by=result.changed_by[:LONGEST_MESSAGE],
        changes=changes,
    )
