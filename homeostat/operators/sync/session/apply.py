"""Makes the server's objects equal to the declared ones: parents before children, many at a time, each on its own.

One resource that fails does not stop the others. Where several resources of a collection are applied, the collection
is listed once: an item that has all declared fields with their values is equal, and needs no request of its own.
Anything else is read before it is changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from homeostat.edge.turn import map_concurrently
from homeostat.operators.sync.engine.compare.difference import Difference, Mode, differences, is_equal, masked
from homeostat.operators.sync.engine.errors import ConflictError, SyncError, of
from homeostat.operators.sync.engine.lists.items import Item
from homeostat.operators.sync.engine.paths.logical import parent, segments
from homeostat.operators.sync.engine.payload.codec import Payload
from homeostat.operators.sync.engine.payload.pointer import MISSING
from homeostat.operators.sync.offload import computed
from homeostat.operators.sync.session.desired import Desired, desired
from homeostat.operators.sync.session.remote import Remote, list_items, observe, read_resource
from homeostat.operators.sync.session.session import Session
from homeostat.operators.sync.session.transform import transformed
from homeostat.operators.sync.session.write import Written, create, described, update


@dataclass(frozen=True, slots=True)
class Outcome:
    path: str
    action: str = ""
    """`created`, `updated` or `unchanged`; empty if it failed."""
    written: Written | None = None
    error: SyncError | None = None


@dataclass(frozen=True, slots=True)
class Compared:
    """A declared resource beside the server's object, as a comparison sees both."""

    wanted: Desired
    remote: Remote
    local_view: Any
    remote_view: Any
    found: list[Difference]


async def apply(
    session: Session,
    paths: Sequence[str],
    *,
    force: bool = False,
    method: str = "",
    given: Payload | None = None,
    mode: Mode = "declared",
    describes: bool = False,
) -> list[Outcome]:
    """In the order of the paths; `describes` adds what the server has of those that are equal."""

    async def one(path: str) -> Outcome:
        outcome, compared = await _apply_one(session, path, mode, force=force, method=method, given=given)
        if not describes or compared is None or outcome.action != "unchanged":
            return outcome
        return replace(outcome, written=await described(session, compared.wanted, compared.remote))

    outcomes = dict[str, Outcome]()
    for level in levels(paths):
        await prepare_lists(session, level)
        for outcome in await map_concurrently(one, level, at_once=session.concurrency):
            outcomes[outcome.path] = outcome
    return [outcomes[path] for path in paths]


def levels(paths: Iterable[str]) -> list[list[str]]:
    """Grouped by depth, parents first."""
    ordered = sorted(paths, key=lambda each: len(segments(each)))
    return [list(group) for _, group in groupby(ordered, key=lambda each: len(segments(each)))]


async def prepare_lists(session: Session, paths: Sequence[str]) -> None:
    """List the collections of which several resources are needed."""
    counts = dict[str, int]()
    for each in paths:
        counts[parent(each)] = counts.get(parent(each), 0) + 1

    async def fetch(collection: str) -> None:
        try:
            await list_items(session, collection)
        except SyncError:
            # Then each resource is read by itself, and reports its own error.
            session.forget(collection)

    await map_concurrently(fetch, [each for each, count in counts.items() if count > 1], at_once=session.concurrency)


async def _apply_one(
    session: Session, path: str, mode: Mode, *, force: bool, method: str, given: Payload | None
) -> tuple[Outcome, Compared | None]:
    try:
        compared = await compare(session, path, mode, given=given)
        wanted, remote = compared.wanted, compared.remote
        if not remote.is_there:
            return await _create(session, wanted, method), compared
        if not compared.found and not force:
            return Outcome(path, "unchanged"), compared
        return Outcome(path, "updated", await update(session, wanted, remote, method=method)), compared
    except SyncError as error:
        return Outcome(path, error=of(path, error)), None


async def _create(session: Session, wanted: Desired, method: str) -> Outcome:
    try:
        return Outcome(wanted.path, "created", await create(session, wanted, method=method))
    except ConflictError:
        session.forget(parent(wanted.path))
        remote = await observe(session, wanted)
        if not remote.is_there:
            raise
        return Outcome(wanted.path, "updated", await update(session, wanted, remote))


async def compare(session: Session, path: str, mode: Mode, *, given: Payload | None = None) -> Compared:
    """Without masking: callers that print differences mask them with `shown`."""
    wanted = await desired(session, path, given)
    item = _known(session, wanted)
    if item is not None:
        compared = await compared_with(session, wanted, Remote(item.value, item.id, item.alias), mode)
        if not compared.found and mode == "declared":
            return compared
    elif parent(path) in session.lists and wanted.rules.operations["get"].path == "./{{/id}}":
        return await compared_with(session, wanted, Remote(), mode)
    return await compared_with(session, wanted, await observe(session, wanted), mode)


def _known(session: Session, wanted: Desired) -> Item | None:
    """In a list that was read already."""
    index = session.index(parent(wanted.path))
    if index is None:
        return None
    by_id, by_alias = index
    return (by_id.get(wanted.id) if wanted.id else None) or by_alias.get(wanted.alias)


async def compared_with(session: Session, wanted: Desired, remote: Remote, mode: Mode) -> Compared:
    local, other = wanted.value, remote.value
    steps = wanted.rules.operations["compare"].transforms
    if remote.is_there and steps and not isinstance(local, bytes | str):
        read = lambda each: read_resource(session, each)  # noqa: E731
        local, other = await transformed(session.jq, steps, [local, other], read)
    found = list[Difference]()
    if other is MISSING or not await computed(lambda: is_equal(local, other, mode), local, other):
        found = await computed(lambda: differences(wanted.path, local, other, mode), local, other)
    return Compared(wanted, remote, local, other, found)


def shown(compared: Compared) -> list[Difference]:
    return masked(compared.found, compared.wanted.secrets)


async def compare_all(session: Session, paths: Sequence[str], mode: Mode) -> list[Compared | SyncError]:
    await prepare_lists(session, paths)

    async def one(path: str) -> Compared | SyncError:
        try:
            return await compare(session, path, mode)
        except SyncError as error:
            return of(path, error)

    return await map_concurrently(one, paths, at_once=session.concurrency)
