"""What the status of a SyncPolicy says of each resource: its result, and what differed, within limits. Pure.

The engine has masked the secrets that metadata declare. A status is read by more people than a plan, so more is hidden:
everything below a name that looks like that of a secret or a header with credentials, the value beside such a name
(`{name: Authorization, value: ...}`), and parts of texts that look like a credential
(`external/secrets/credential_patterns.py`). A secret that has neither such a name nor such a form is shown, unless
metadata declare it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from homeostat.external.secrets.credential_patterns import scrub_shapes
from homeostat.objects.json import Json, JsonObject
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
from homeostat.operators.sync.engine.secrets.detect import is_hidden_name
from homeostat.operators.sync.run.plan import Change, Step
from homeostat.operators.sync.run.report import Result

MOST_DETAILED: Final = 1_000
"""Resources of each result whose differences are kept for the status and the history."""
_DEEPEST: Final = 64
_MOST_READ: Final = 16 << 10
"""Characters of a text. A longer one is hidden as a whole if there is a credential in them."""
_NAMES: Final = ("name", "key", "header")
_VALUES: Final = ("value", "values")
_SCHEME: Final = re.compile(r"\s*(?:Bearer|Basic)\s+\S+\s*\Z", re.IGNORECASE)
"""The value of a header as a whole; short ones are credentials, too."""


def resource_reports(results: Iterable[Result]) -> list[ResourceReport]:
    """The first resources have what differed, until all of it together becomes too large."""
    left, reports = LARGEST_CHANGES, list[ResourceReport]()
    for each in results:
        changes = field_changes(each.changes)
        left -= sum(len(change.pointer) + len(change.declared) + len(change.live) for change in changes)
        reports.append(_report(each, changes if left >= 0 else ()))
    return reports


def plan_reports(steps: Iterable[Step]) -> list[ResourceReport]:
    """The same of a plan: `result` is what would be done."""
    left, reports = LARGEST_CHANGES, list[ResourceReport]()
    for each in steps:
        changes = field_changes(each.differences)
        left -= sum(len(change.pointer) + len(change.declared) + len(change.live) for change in changes)
        report = ResourceReport(
            path=each.path,
            result=each.action,
            message=(each.error or each.held)[:LONGEST_MESSAGE],
            kind=each.kind,
            fields=tuple(_pointer(one.pointer) for one in each.differences[:MOST_FIELDS]),
            changed_by=each.changed_by[:LONGEST_MESSAGE],
            changes=changes if left >= 0 else (),
        )
        reports.append(report)
    return reports


def field_changes(changes: Sequence[Change]) -> tuple[FieldChange, ...]:
    return tuple(
        FieldChange(
            pointer=_pointer(each.pointer)[:LONGEST_MESSAGE],
            declared=_text(each.pointer, each.local, is_absent=each.operation in ("add", "drop")),
            live=_text(each.pointer, each.remote, is_absent=_is_new(each)),
        )
        for each in changes[:MOST_FIELDS]
    )


def _is_new(change: Change) -> bool:
    """Whether the server has no such field. Of an object that it lacks, the whole is one difference."""
    return change.operation == "remove" or (not change.pointer and change.remote is None)


def _pointer(at: str) -> str:
    """Without names that look like a credential, and without those below the name of a secret."""
    tokens = pointer.parse(at)
    shown = next((place + 1 for place, each in enumerate(tokens) if is_hidden_name(each)), len(tokens))
    return pointer.join(*map(scrub_shapes, tokens[:shown]), *[HIDDEN] * (len(tokens) - shown))


def _text(at: str, value: Json, *, is_absent: bool) -> str:
    if is_absent:
        return ""
    shown = HIDDEN if any(map(is_hidden_name, pointer.parse(at))) else _shown(value, 0)
    text = HIDDEN if shown == HIDDEN else msgspec.json.encode(shown).decode()
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}…"


def _shown(value: Json, depth: int) -> Json:
    match value:
        case dict() | list() if depth >= _DEEPEST and value:
            return HIDDEN
        case dict():
            return {scrub_shapes(name): _member(value, name, depth) for name in value}
        case list():
            return [_shown(each, depth + 1) for each in value]
        case str():
            return _scrubbed(value)
    return value


def _scrubbed(text: str) -> str:
    if _SCHEME.match(text):
        return HIDDEN
    scrubbed = scrub_shapes(text[:_MOST_READ])
    if len(text) <= _MOST_READ:
        return scrubbed
    return text[:LONGEST_VALUE] if text.startswith(scrubbed) else HIDDEN


def _member(value: JsonObject, name: str, depth: int) -> Json:
    beside = [value.get(each) for each in _NAMES if name in _VALUES]
    is_hidden = is_hidden_name(name) or any(isinstance(each, str) and is_hidden_name(each) for each in beside)
    return HIDDEN if is_hidden and value[name] is not None else _shown(value[name], depth + 1)


def _report(result: Result, changes: tuple[FieldChange, ...]) -> ResourceReport:
    return ResourceReport(
        path=result.path,
        result=result.became,
        message=result.message[:LONGEST_MESSAGE],
        kind=result.kind,
        fields=tuple(map(_pointer, result.fields[:MOST_FIELDS])),
        changed_by=result.changed_by[:LONGEST_MESSAGE],
        changes=changes,
    )
