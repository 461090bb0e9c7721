"""The record of a context: which objects the commands of this user created there. It is a file in the directory of
the user's state, in the format that the operator keeps, too.

    $XDG_STATE_HOME/homeostat/sync/NAME-DIGEST.record        (by default below ~/.local/state)

Name and digest are those of the context, its server and its repository, so that another server has another record.
Two commands at once keep the entries of both: a lock is held while the file is read and replaced, and each adds only
what it changed.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from homeostat.cli.sync.console.run import Run
from homeostat.external.files import replace_private_file
from homeostat.operators.sync.engine.errors import SyncError, ValidationError
from homeostat.operators.sync.repository.files import exclusive_file
from homeostat.operators.sync.run.prune import Addresses
from homeostat.operators.sync.run.record import LARGEST, Owned, Record, decode_record, encode_record
from homeostat.operators.sync.run.shape import content_digest, digest, shape_of
from homeostat.operators.sync.session.apply import Outcome
from homeostat.operators.sync.session.desired import local_payload
from homeostat.operators.sync.session.remote import Remote
from homeostat.operators.sync.session.session import Session

_LOCKED_S: Final = 10.0
"""How long to wait while another command writes the record."""


def record_path(environment: Mapping[str, str], session: Session) -> Path:
    home = environment.get("HOME") or str(Path.home())
    state = environment.get("XDG_STATE_HOME") or f"{home}/.local/state"
    name = str(session.context.get("name", ""))
    base = str(session.repository.base) if session.repository is not None else ""
    file = f"{re.sub(r'[^A-Za-z0-9._-]', '_', name)[:60]}-{digest([name, session.remote.base, base])[:16]}.record"
    return Path(state) / "homeostat" / "sync" / file


async def read_record(run: Run, session: Session) -> Record:
    """An empty one if there is none so far."""
    path = record_path(run.environment, session)
    try:
        data = await asyncio.to_thread(_read, path)
        return decode_record(data)
    except FileNotFoundError:
        return Record()
    except ValidationError as error:
        raise ValidationError(f"{path}: {error}") from error


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(LARGEST + 1)


async def save_record(run: Run, session: Session, record: Record, *, base: Record) -> None:
    """Save what changed since `base` was read."""
    path = record_path(run.environment, session)
    async with exclusive_file(path, timeout_s=_LOCKED_S):
        merged = record.carried_over(base, await read_record(run, session))
        await asyncio.to_thread(replace_private_file, path, encode_record(merged))


async def note_created(run: Run, session: Session, outcomes: Sequence[Outcome]) -> None:
    """Objects that a command created are ours. A record that cannot be written is a warning: nothing depends on it."""
    created = [each for each in outcomes if each.action == "created" and each.written is not None]
    if not created:
        return
    try:
        addresses = Addresses(session)
        found = {each.path: await _owned(session, addresses, each) for each in created}
        await save_record(run, session, Record(objects=found), base=Record())
    except (SyncError, OSError) as error:
        run.warn(f"the record of created objects was not updated, so prune will not delete them: {error}")


async def _owned(session: Session, addresses: Addresses, outcome: Outcome) -> Owned:
    assert outcome.written is not None
    identity, path = outcome.written.remote_id, outcome.path
    payload = local_payload(session, path)
    value = payload.value if payload is not None else None
    at = await addresses.get(path, Remote(value, identity, outcome.written.alias))
    rules = session.metadata.rules(path)
    return Owned(
        identity, "created", shape_of(value), content_digest(value, rules) if payload is not None else "",
        at,
    )  # fmt: skip
