"""Deletes objects of the server, by the names that the repository has for them."""

from __future__ import annotations

from collections.abc import Sequence

from homeostat.edge.turn import map_concurrently
from homeostat.objects.json import Json
from homeostat.operators.sync.engine.errors import NotFoundError, SyncError, of
from homeostat.operators.sync.engine.lists.items import matching
from homeostat.operators.sync.engine.metadata.rules import Rules
from homeostat.operators.sync.engine.paths.logical import name, parent, segments
from homeostat.operators.sync.session.apply import Outcome, levels
from homeostat.operators.sync.session.desired import local_payload
from homeostat.operators.sync.session.remote import Remote, list_items
from homeostat.operators.sync.session.session import Session
from homeostat.operators.sync.session.write import delete


async def remove(session: Session, paths: Sequence[str], *, method: str = "") -> list[Outcome]:
    """The deepest first, each on its own."""

    async def one(path: str) -> Outcome:
        try:
            await _remove(session, path, method)
        except SyncError as error:
            return Outcome(path, error=of(path, error))
        return Outcome(path, "deleted")

    most = session.concurrency
    return [each for level in reversed(levels(paths)) for each in await map_concurrently(one, level, at_once=most)]


async def _remove(session: Session, path: str, method: str) -> None:
    rules = session.metadata.rules(path)
    remote = Remote(alias=name(path), id=name(path))
    payload = local_payload(session, path) if session.root.at(segments(path)) else None
    source = payload.value if payload is not None and isinstance(payload.value, dict) else None
    if not rules.has_one_identity:
        try:
            item = matching(await list_items(session, parent(path)), name(path))
        except NotFoundError:
            item = None
        if item is not None:
            remote, source = Remote(alias=item.alias, id=item.id), item.value
    elif source is not None:
        identity = _identity(rules, source)
        remote = Remote(alias=name(path), id=identity or name(path))
    await delete(session, path, remote, source=source, method=method)


def _identity(rules: Rules, source: Json) -> str:
    try:
        return rules.id.render(source)
    except SyncError:
        return ""
