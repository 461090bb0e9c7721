"""Which objects are ours and no longer declared, and what the server has of them.

An object is deleted only if it still is the one that the record names: at the same address and with the same id.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from homeostat.edge.turn import map_concurrently
from homeostat.operators.sync.engine.errors import NotFoundError, SyncError, TransportError, UnrenderedError, of
from homeostat.operators.sync.engine.lists.items import matching
from homeostat.operators.sync.engine.metadata.call import Place
from homeostat.operators.sync.engine.metadata.rules import Rules
from homeostat.operators.sync.engine.paths.logical import name, parent, segments
from homeostat.operators.sync.engine.plan.ownership import is_protected
from homeostat.operators.sync.run.options import SyncOptions
from homeostat.operators.sync.run.plan import Step
from homeostat.operators.sync.run.record import Owned, Record
from homeostat.operators.sync.run.shape import digest
from homeostat.operators.sync.session.apply import prepare_lists
from homeostat.operators.sync.session.remote import Remote, get, list_items, render
from homeostat.operators.sync.session.session import Session


@dataclass(frozen=True, slots=True)
class Candidate:
    step: Step
    remote: Remote = field(default_factory=Remote)

    @property
    def path(self) -> str:
        return self.step.path


async def observe_candidates(
    session: Session, paths: Sequence[str], record: Record, options: SyncOptions
) -> list[Candidate]:
    """In the order of the paths."""

    async def one(path: str) -> Candidate:
        owned = record.objects[path]
        if not options.prune:
            return Candidate(Step(path, "undeclared", owned.id))
        try:
            return await _observed(session, path, owned, options)
        except SyncError as error:
            text = session.scrubber.scrub(str(of(path, error)))
            return Candidate(Step(path, "unknown", owned.id, error=text, kind=error.kind))

    if options.prune:
        await prepare_lists(session, paths)
    return await map_concurrently(one, paths, at_once=session.concurrency)


async def _observed(session: Session, path: str, owned: Owned, options: SyncOptions) -> Candidate:
    rules = session.metadata.rules(path)
    if session.root.is_linked(segments(path)):
        return Candidate(Step(path, "delete", owned.id, held="a link stands in its place, and links are not followed"))
    if rules.is_protected or is_protected(path, options.protect):
        return Candidate(Step(path, "delete", owned.id, held="it is protected"))
    remote = await _find(session, path, owned, rules)
    if not remote.is_there:
        return Candidate(Step(path, "gone", owned.id))
    step = Step(path, "delete", owned.id, basis=digest([owned.id, owned.at]))
    if remote.id != owned.id:
        held = f"it has the id {remote.id}, and the object that we created had {owned.id}"
        return Candidate(replace(step, held=held))
    now = await address(session, path, remote)
    if now != (owned.at or f"{parent(path)}/{owned.id}"):
        held = f"its address is {now} by the current metadata, and was {owned.at or path}; restore the metadata"
        return Candidate(replace(step, held=held))
    return Candidate(step, remote)


async def _find(session: Session, path: str, owned: Owned, rules: Rules) -> Remote:
    """An object that a list lacks is gone only if the server says so of the object itself."""
    by_id, by_alias = session.index(parent(path)) or ({}, {})
    item = by_id.get(owned.id) or by_alias.get(name(path))
    if item is None:
        try:
            remote = await get(session, path, rules, Remote(id=owned.id, alias=name(path)))
        except NotFoundError:
            return Remote()
        except UnrenderedError:
            # The path of the object needs more than its id.
            item = matching(await list_items(session, parent(path)), owned.id)
        else:
            if not isinstance(remote.value, dict) and rules.form is None:
                raise TransportError("the server answered something else than the object; expected an object or 404")
            return remote
    return Remote(item.value, item.id, item.alias) if item is not None else Remote()


async def address(session: Session, path: str, remote: Remote) -> str:
    """The path of an object on the server, as a deletion names it."""
    place = Place(path=path, alias=remote.alias, remote_id=remote.id)
    source = remote.value if isinstance(remote.value, dict) else None
    return (await render(session, session.metadata.rules(path), "delete", place, source)).path


class Addresses:
    """What a record keeps of the addresses of objects: nothing, if the address is that of the collection and the id.

    That is found out once for each collection, because 10,000 new objects are in a few of them.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._plain = dict[tuple[str, int], bool]()

    async def get(self, path: str, remote: Remote) -> str:
        rules = self._session.metadata.rules(path)
        key = (parent(path), id(rules))
        if rules.operations["delete"].path == "./{{/id}}" and self._plain.get(key):
            return ""
        found = await address(self._session, path, remote)
        self._plain[key] = found == f"{parent(path)}/{remote.id}"
        return "" if self._plain[key] else found
