"""Names, addresses and ports that an object claims: of two writes that chose the same, one is committed.

In one process, the kind or the allocator holds a claim until the write has ended. With other replicas, a commit changes
a record of all claims too, so a write that chose on an older state notices and chooses again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

from homeostat.objects.errors import ConflictError
from homeostat.objects.json import JsonObject, encode
from homeostat.server.request.call import Call
from homeostat.server.services.allocator import SERVICES
from homeostat.server.view.encode import draft_of
from homeostat.server.write.commit import commit
from homeostat.store.base import Draft, Key, Put, Record, RevisionMismatchError, UncertainError

RACE_TRIES = 20
_CLAIM_TRIES = 200
_CLAIMS = "private:claims"
"""A resource that no kind can have: its records change with every claim of names."""


class ClaimLostError(Exception):
    """Another replica has committed what this write chose; it has to choose again."""


def is_claiming(call: Call) -> bool:
    return call.kind.behaviour.claims_names or (call.kind.resource == SERVICES and not call.subresource)


@contextmanager
def held(call: Call) -> Iterator[None]:
    """What the allocator holds for the call, it holds until the write has ended."""
    is_certain = False
    try:
        yield
        is_certain = True
    except Exception as error:
        is_certain = not isinstance(error.__cause__, UncertainError)
        raise
    finally:
        call.backend.allocator.release(id(call), is_certain=is_certain)


async def allocate(call: Call, new: JsonObject, old: JsonObject | None) -> bool:
    return await call.backend.allocator.allocate(id(call), new, old, is_trial=call.options.dry_run)


def commit_of(call: Call, is_allocated: bool) -> Callable[..., Awaitable[Record]]:
    if not call.store.is_shared:
        return commit
    if is_allocated:
        return _commit_allocated
    return _commit_claim if call.kind.behaviour.claims_names else commit


async def _commit_allocated(call: Call, change: Put, new: JsonObject, old: JsonObject | None) -> Record:
    """Commit a Service with a new address or node port, on a store with other replicas.

    Of two that chose on the same state, one is committed. The other is committed later, if it chose something else.
    """
    key = Key(_CLAIMS, "", call.kind.resource)
    for _ in range(_CLAIM_TRIES):
        guard = call.store.get(key)
        if not call.backend.allocator.still_holds(id(call)):
            raise ClaimLostError
        try:
            return await commit(call, change._replace(also=(_guarded(call, key, guard),)), new, old)
        except RevisionMismatchError as error:
            if error.key == change.key:
                raise
    raise contended(call, change.key.name)


async def _commit_claim(call: Call, change: Put, new: JsonObject, old: JsonObject | None) -> Record:
    """Commit a write whose object claims names, on a store with other replicas.

    Of two that claimed on the same state, one is committed. The other claims again, on the state that has the first.
    """
    key = Key(_CLAIMS, "", call.kind.resource)
    for _ in range(_CLAIM_TRIES):
        guard = call.store.get(key)
        call.kind.behaviour.prepare(new, old, call.timestamp(), writer=id(call))
        also = (_guarded(call, key, guard),)
        try:
            return await commit(call, change._replace(draft=draft_of(call.kind, new), also=also), new, old)
        except RevisionMismatchError as error:
            if error.key == change.key:
                raise
    raise contended(call, change.key.name)


def _guarded(call: Call, key: Key, guard: Record | None) -> Put:
    tail = b'","writer":%s}' % encode(call.backend.new_uid())
    return Put(key, Draft(b'{"revision":"', tail), 0 if guard is None else guard.revision)


def contended(call: Call, name: str) -> ConflictError:
    return ConflictError(
        f'{call.kind.group_resource} "{name}" is being changed too often; try again later', kind=call.kind.plural
    )
