"""Deletes a record from the store, once nothing holds the object any more."""

from __future__ import annotations

from homeostat.objects.json import JsonObject, encode
from homeostat.server.request.call import Call
from homeostat.server.view.encode import draft_of, object_bytes, stored_draft
from homeostat.server.write.commit import commit
from homeostat.server.write.written import Written
from homeostat.store.base import Delete, Draft, Record


def is_finished(obj: JsonObject) -> bool:
    """Whether a terminating object has no finalizer left, and no grace period."""
    metadata = obj["metadata"]
    if "deletionTimestamp" not in metadata or metadata.get("finalizers") or metadata.get("deletionGracePeriodSeconds"):
        return False
    return obj["kind"] != "Namespace" or not (obj.get("spec") or {}).get("finalizers")


async def remove(
    call: Call, record: Record, obj: JsonObject, old: JsonObject, *, draft: Draft | None = None
) -> Written:
    """Delete a record from the store; `obj` is its last state, `old` the stored one, which quotas have counted.

    `draft` is that of the last state, if it is known.
    """
    if call.options.dry_run:
        return Written(encode(obj), obj, is_gone=True)
    kind = call.kind
    if draft is None:
        draft = await _drafted(call, obj)
    gone = await commit(call, Delete(record.key, draft, record.revision), None, old)
    if kind.conversion is None:
        return Written(object_bytes(kind, gone), obj, is_gone=True)
    obj["metadata"]["resourceVersion"] = str(gone.revision)
    return Written(encode(obj), obj, is_gone=True)


async def remove_released(call: Call, record: Record, obj: JsonObject, old: JsonObject) -> Written:
    """Delete an object that a write has released. As in Kubernetes, which does not store that write, watchers get the
    state before it, and the writer gets what was written.
    """
    if call.options.dry_run:
        return Written(encode(obj), obj, is_gone=True)
    draft = stored_draft(call.kind, record) or await _drafted(call, old)
    gone = await commit(call, Delete(record.key, draft, record.revision), None, old)
    shown = {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(gone.revision)}}
    return Written(encode(shown), shown, is_gone=True)


async def _drafted(call: Call, obj: JsonObject) -> Draft:
    kind = call.kind
    return draft_of(kind, obj) if kind.conversion is None else await call.backend.conversions.draft(kind, obj)
