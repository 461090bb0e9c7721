"""The step of a resource that differs: its masked differences, and a digest of what they were computed from."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from homeostat.objects.json import Json
from homeostat.operators.sync.engine.compare.difference import HIDDEN, hide_at, masked
from homeostat.operators.sync.engine.payload import pointer
from homeostat.operators.sync.engine.payload.pointer import MISSING
from homeostat.operators.sync.engine.payload.value import text_of
from homeostat.operators.sync.run.plan import Change, Step, shown_changes
from homeostat.operators.sync.run.shape import digest
from homeostat.operators.sync.session.apply import Compared
from homeostat.operators.sync.session.session import Session


def changed_step(session: Session, compared: Compared, action: str, lost: Iterable[str] = ()) -> Step:
    wanted, remote = compared.wanted, compared.remote
    left = [
        Change(each, "drop", None, HIDDEN if _is_hidden(each, wanted.secrets) else pointer.get(remote.value, each))
        for each in lost
    ]
    changes, more = shown_changes(masked(compared.found, wanted.secrets), left)
    step = Step(
        wanted.path,
        "create" if action == "create" else "update",
        remote.id if remote.is_there else "",
        tuple(_scrubbed(session, each) for each in changes),
        more,
        basis=digest([wanted.declared, _shown_remote(compared), wanted.rules.operations[action].path]),
    )
    if wanted.rules.changed_by and isinstance(remote.value, dict):
        who = text_of(pointer.get(remote.value, wanted.rules.changed_by))
        step = replace(step, changed_by=session.scrubber.scrub(who or "")[:200])
    return step


def _is_hidden(at: str, secrets: Iterable[str]) -> bool:
    return any(at == each or at.startswith(f"{each}/") for each in secrets)


def _scrubbed(session: Session, change: Change) -> Change:
    local, remote = session.scrubber.scrub_json(change.local), session.scrubber.scrub_json(change.remote)
    return Change(change.pointer, change.operation, local, remote)


def _shown_remote(compared: Compared) -> Json:
    value = compared.remote_view
    if value is MISSING:
        return None
    for each in compared.wanted.secrets:
        value = hide_at(value, each) if each else HIDDEN
    return value
