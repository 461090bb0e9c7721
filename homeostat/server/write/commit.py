"""Commits a change; in a namespace with quotas together with what they count."""

from __future__ import annotations

from functools import partial

from homeostat.objects.errors import TooLargeError, TooManyRequestsError, UnavailableError
from homeostat.objects.json import JsonObject
from homeostat.server.request.call import Call
from homeostat.store.base import Delete, Put, Record, RevisionMismatchError, UncertainError, UnwritableError

_QUOTA_TRIES = 50
"""Each failure is a write of another replica to the same namespace that was committed."""
MAX_OBJECT_BYTES = 3 * 1024 * 1024
"""The size limit of a request body, so that every stored object can be sent back. Patches could exceed it."""


async def commit(call: Call, change: Put | Delete, new: JsonObject | None, old: JsonObject | None) -> Record:
    """Write a change; in a namespace with quotas together with what they count. `new` and `old` are None if absent."""
    if type(change) is Put and len(change.draft.tail) > MAX_OBJECT_BYTES:
        raise TooLargeError(
            f'{call.kind.group_resource} "{change.key.name}" has {len(change.draft.tail)} bytes; '
            f"the limit is {MAX_OBJECT_BYTES}"
        )
    try:
        admission = call.backend.admission
        if admission.has_quotas(change.key.namespace) and admission.is_charged(call, new, old):
            return await _commit_charged(call, change, new, old)
        return await call.store.write(change)
    except UncertainError as error:
        # No Retry-After: clients would send the write again, and it may have been committed.
        raise UnavailableError(str(error)) from error
    except UnwritableError as error:
        raise UnavailableError(f"the store refused the write: {error}", retry_after_s=1) from error


async def _commit_charged(call: Call, change: Put | Delete, new: JsonObject | None, old: JsonObject | None) -> Record:
    admission, namespace = call.backend.admission, change.key.namespace

    async def write() -> Record:
        for _ in range(_QUOTA_TRIES):
            charged = change._replace(also=(*change.also, *await admission.charges(call, new, old)))
            try:
                return await call.store.write(charged)
            except RevisionMismatchError as error:
                if error.key == change.key or any(error.key == each.key for each in change.also):
                    raise
        raise TooManyRequestsError(
            f"the quotas of namespace {namespace} are being changed too often; try again later", retry_after_s=1
        )

    return await admission.in_turn(namespace, write)


async def check_quotas(call: Call, new: JsonObject | None, old: JsonObject | None) -> None:
    admission = call.backend.admission
    if admission.has_quotas(call.namespace) and admission.is_charged(call, new, old):
        await admission.in_turn(call.namespace, partial(admission.charges, call, new, old))
