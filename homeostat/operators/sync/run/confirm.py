"""After a creation: values that only that answer has are stored, and the object has to appear on the server.

An API that creates asynchronously answers 202, or has objects that are not ready at once: metadata says by a jq program
when they are. Then the object is read until it exists and is ready, for a limited time.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from typing import Final, NamedTuple
from urllib.parse import urljoin

from homeostat.edge.turn import map_concurrently
from homeostat.external.rest.request import origin_of
from homeostat.operators.sync.engine.errors import (
    NotFoundError,
    SyncError,
    TransportError,
    ValidationError,
    of,
)
from homeostat.operators.sync.engine.paths.logical import parent
from homeostat.operators.sync.engine.payload import pointer
from homeostat.operators.sync.engine.payload.value import text_of
from homeostat.operators.sync.engine.secrets.keys import attribute_key, normal_key
from homeostat.operators.sync.session.desired import Desired, desired
from homeostat.operators.sync.session.remote import Remote, list_items, observe
from homeostat.operators.sync.session.session import Session
from homeostat.operators.sync.session.write import Written

ACCEPTED: Final = 202
_AT_ONCE: Final = 10
"""Objects of one collection that are read at a time."""
_FEW: Final = 3
"""New objects of one collection that are read one by one; for more of them it is listed."""
_COLLECTIONS: Final = 100
"""Collections that are read before lists beyond the limit are forgotten."""
_MANY: Final = 1_000
"""With more new objects the list of a collection is forgotten after them."""
PLAIN: Final = "./{{/id}}"
_AGAIN_S: Final = 0.5
_FIRST_WAIT_S: Final = 0.1
_LONGEST_WAIT_S: Final = 5.0
_DEFAULT_TIMEOUT_S: Final = 60


def check_capture(session: Session, wanted: Desired) -> None:
    """Before anything is created whose secrets could not be kept."""
    if wanted.rules.captured and session.store is None:
        raise ValidationError("resource.capturedAttributes needs a secret store; set secretStore")


async def capture(session: Session, wanted: Desired, written: Written) -> None:
    """Store the attributes that the server returns at creation only."""
    for at in wanted.rules.captured:
        text = text_of(pointer.get(written.payload.value, at))
        if text is None:
            raise ValidationError(f"the answer to the creation has no text at {at}; check resource.capturedAttributes")
        session.scrubber.hide(text)
        await session.secrets.put({normal_key(attribute_key(wanted.path, at)): text})


async def wait_ready(session: Session, wanted: Desired, written: Written) -> Remote:
    """The object once it exists and is ready; `TransportError` after the time that metadata allows."""
    ready = wanted.rules.ready
    timeout_s = ready.timeout_s if ready is not None else _DEFAULT_TIMEOUT_S
    wait_s = _FIRST_WAIT_S
    try:
        async with asyncio.timeout(timeout_s):
            while True:
                remote = await _seen(session, wanted, written)
                if remote.is_there and (not ready or not ready.jq or await _holds(session, ready.jq, remote)):
                    return remote
                await asyncio.sleep(wait_s)
                wait_s = min(wait_s * 2, _LONGEST_WAIT_S)
    except TimeoutError:
        what = "ready" if ready is not None else "there"
        raise TransportError(
            f"the server accepted the creation, and the object was not {what} after {timeout_s} s"
        ) from None


async def _seen(session: Session, wanted: Desired, written: Written) -> Remote:
    if written.status == ACCEPTED and not await _is_done(session, written):
        return Remote()
    session.forget(parent(wanted.path))
    return await observe(session, wanted)


async def _is_done(session: Session, written: Written) -> bool:
    """Whether the operation that a Location names has ended; another server's is not asked."""
    url = urljoin(f"{session.remote.base}/", written.location)
    if not written.location or origin_of(url) != origin_of(session.remote.base):
        return True
    try:
        answer = await session.remote.send("GET", url, headers=dict(session.remote.settings.headers))
    except NotFoundError:
        return True
    return answer.status != ACCEPTED


async def _holds(session: Session, program: str, remote: Remote) -> bool:
    (outputs,) = await session.jq.run(program, [remote.value])
    return any(each is not None and each is not False for each in outputs)


class Created(NamedTuple):
    """What is kept of a new object until it was seen; there may be very many."""

    path: str
    alias: str
    id: str


async def confirm(session: Session, created: Sequence[Created]) -> dict[str, Remote | SyncError]:
    """What the server has of new objects. Those that it lacks are read once more, because a read may be served by
    a replica that is late.
    """
    found = await _seen_now(session, created)
    late = [each for each in created if _is_missing(found[each.path])]
    if late:
        await asyncio.sleep(_AGAIN_S)
        found |= await _seen_now(session, late)
    return {
        path: each if isinstance(each, SyncError) or each.is_there else _missing(path) for path, each in found.items()
    }


def _is_missing(found: Remote | SyncError) -> bool:
    return not isinstance(found, SyncError) and not found.is_there


async def _seen_now(session: Session, created: Sequence[Created]) -> dict[str, Remote | SyncError]:
    """One list for many of a collection, else one read each."""
    groups = defaultdict[str, dict[str, Created]](dict)
    for each in created:
        groups[parent(each.path)][each.path] = each
    found = dict[str, Remote | SyncError]()

    async def one(collection: str) -> None:
        group = groups[collection]
        session.forget(collection)
        if len(group) > _FEW and await _listed(session, collection):
            by_id, by_alias = session.index(collection) or ({}, {})
            for path, each in group.items():
                item = by_alias.get(each.alias) or by_id.get(each.id)
                found[path] = slim(session, path, Remote(item.value, item.id, item.alias)) if item else Remote()
            if len(group) > _MANY:
                session.forget(collection)
            return

        async def read(path: str) -> None:
            try:
                found[path] = await observe(session, await desired(session, path))
            except SyncError as error:
                found[path] = of(path, error)

        await map_concurrently(read, list(group), at_once=min(_AT_ONCE, session.concurrency))

    names = list(groups)
    for first in range(0, len(names), _COLLECTIONS):
        await map_concurrently(
            one, names[first : first + _COLLECTIONS], at_once=max(1, session.concurrency // _AT_ONCE)
        )
        session.trim()
    return found


async def _listed(session: Session, collection: str) -> bool:
    """Whether that is possible; else each object is read by itself."""
    try:
        await list_items(session, collection)
    except SyncError:
        return False
    return True


def slim(session: Session, path: str, remote: Remote) -> Remote:
    """Without the value, unless the address of the object is made of more than its id."""
    if not remote.is_there or session.metadata.rules(path).operations["delete"].path != PLAIN:
        return remote
    return Remote(None, remote.id, remote.alias)


def _missing(path: str) -> SyncError:
    return of(path, TransportError("the server confirmed the creation, and it does not have the object; check its log"))
