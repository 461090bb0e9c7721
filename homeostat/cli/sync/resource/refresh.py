"""`--refresh`: brings what the server made of resources back into the repository."""

from __future__ import annotations

from collections.abc import Sequence

from homeostat.cli.sync.repository.commits import commit_files
from homeostat.operators.sync.session.remote import find, payload_of
from homeostat.operators.sync.session.save import SaveOptions, save
from homeostat.operators.sync.session.session import Session


async def refresh_files(session: Session, paths: Sequence[str]) -> None:
    payloads = [(each, payload_of(await find(session, each))) for each in paths]
    changed = await save(session, payloads, SaveOptions(force=True))
    for path in paths:
        names = [each for each in changed if each.startswith(f"{path[1:]}/")]
        await commit_files(session, f"declarest: save resource {path}", names)
