"""What an object claims for itself: names of a CustomResourceDefinition, addresses and node ports of a Service.

Of two writes that claim the same, one is committed. In one process, a claim is held from its choice until the write has
ended: names by the `Behaviour` of the kind, addresses and ports by the allocator. Other replicas see only what is
committed. So on a store with replicas, each commit with claims also changes one record, the same for all objects of the
resource: of two writes that claimed on the same state, the store refuses the second, which then claims again.
"""

from __future__ import annotations

from collections.abc import Iterator
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
"""A resource that no kind can have: its records change with every claim."""


class ClaimLostError(Exception):
    """Another replica has committed an address or a port that this write chose; it has to choose again."""


def is_claiming(call: Call) -> bool:
    return call.kind.behaviour.claims_names or _is_of_service(call)


def _is_of_service(call: Call) -> bool:
    return call.kind.resource == SERVICES and not call.subresource


@contextmanager
def claims_held(call: Call) -> Iterator[None]:
    """What the write in the block claims is free again afterwards, unless it was committed."""
    is_certain = False
    try:
        yield
        is_certain = True
    except Exception as error:
        is_certain = not isinstance(error.__cause__, UncertainError)
        raise
    finally:
        if _is_of_service(call):
            call.backend.allocator.release(id(call), is_certain=is_certain)
        else:
            call.kind.behaviour.release(id(call))


async def allocate(call: Call, new: JsonObject, old: JsonObject | None) -> bool:
    """Complete a Service with addresses and ports; whether it claims new ones."""
    if not _is_of_service(call):
        return False
    return await call.backend.allocator.allocate(id(call), new, old, is_trial=call.options.dry_run)


async def commit_claims(
    call: Call, change: Put, new: JsonObject, old: JsonObject | None, *, is_allocated: bool
) -> Record:
    """Commit a write, with what it claims if it claims anything. `is_allocated` is the result of `allocate`."""
    if not call.store.is_shared or not (is_allocated or call.kind.behaviour.claims_names):
        return await commit(call, change, new, old)
    key = Key(_CLAIMS, "", call.kind.resource)
    for _ in range(_CLAIM_TRIES):
        claims = call.store.get(key)
        if is_allocated and not call.backend.allocator.still_holds(id(call)):
            raise ClaimLostError
        draft = change.draft if is_allocated else _claim_names(call, new, old)
        try:
            return await commit(call, change._replace(draft=draft, also=(_changed(call, key, claims),)), new, old)
        except RevisionMismatchError as error:
            if error.key == change.key:
                raise
    raise contended(call, change.key.name)


def _claim_names(call: Call, new: JsonObject, old: JsonObject | None) -> Draft:
    """Claim names on the newest state: which of them are free may have changed since the last attempt."""
    call.kind.behaviour.prepare(new, old, call.timestamp(), writer=id(call))
    return draft_of(call.kind, new)


def _changed(call: Call, key: Key, claims: Record | None) -> Put:
    """The record of all claims, changed: the store refuses it if another write changed it first."""
    tail = b'","writer":%s}' % encode(call.backend.new_uid())
    return Put(key, Draft(b'{"revision":"', tail), 0 if claims is None else claims.revision)


def contended(call: Call, name: str) -> ConflictError:
    return ConflictError(
        f'{call.kind.group_resource} "{name}" is being changed too often; try again later', kind=call.kind.plural
    )
