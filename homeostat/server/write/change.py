"""Changes a stored object: prepare, admit, validate, encode, commit.

A change is a function from the stored object to the new one, so a write that lost a race is computed again on the newer
object.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from homeostat.objects.apply.managed import keep_times
from homeostat.objects.errors import Cause
from homeostat.objects.json import JsonObject
from homeostat.objects.names import check_metadata_update
from homeostat.server import strategy
from homeostat.server.access.signers import APPROVAL
from homeostat.server.conversion.review import ConversionError
from homeostat.server.kinds.builtins.immutable.pod_parts import POD_PARTS, check_part
from homeostat.server.request.call import Call
from homeostat.server.view.encode import draft_of, object_bytes, object_of
from homeostat.server.write.checks import place, refuse_invalid
from homeostat.server.write.claims import (
    RACE_TRIES,
    ClaimLostError,
    allocate,
    claims_held,
    commit_claims,
    contended,
    is_claiming,
)
from homeostat.server.write.commit import check_quotas, commit
from homeostat.server.write.managers import manage, with_versions
from homeostat.server.write.mutation import mutate
from homeostat.server.write.remove import is_finished, remove_released
from homeostat.server.write.subresource import BINDING, STATUS
from homeostat.server.write.written import Written, shown_written, tried
from homeostat.store.base import Put, Record, RevisionMismatchError

Edit = Callable[[JsonObject], JsonObject]


async def change(call: Call, edit: Edit, *, tries: int = RACE_TRIES) -> Written:
    """Apply `edit` to the stored object and store the result; retry while other writers are faster.

    `edit` returns a new value each time. If that has a `resourceVersion` which is not the stored one, `ConflictError`.
    """
    change_once = _change_claiming if is_claiming(call) else _change_once
    for _ in range(tries):
        record = call.record()
        if call.kind.conversion is None:
            old = object_of(call.kind, record)
            new = edit(old)
        else:
            shown = await call.show(record)
            old = object_of(call.kind, shown)
            # From an object of its own: defaults of this version, which a conversion may have lost, are set in place.
            new = await with_versions(call, partial(edit, object_of(call.kind, shown)))
        if new is old:
            new = dict(old)
        if new["metadata"] is old["metadata"]:
            new["metadata"] = dict(old["metadata"])
        try:
            return await change_once(call, record, old, new)
        except (RevisionMismatchError, ClaimLostError):
            continue
    raise contended(call, call.name)


async def _change_claiming(call: Call, record: Record, old: JsonObject, new: JsonObject) -> Written:
    with claims_held(call):
        return await _change_once(call, record, old, new)


async def _change_once(call: Call, record: Record, old: JsonObject, new: JsonObject) -> Written:
    kind = call.kind
    place(call, new["metadata"])
    causes = strategy.check_preconditions(kind, new, old)
    if causes:
        refuse_invalid(call, new, causes)
    # A write without a resourceVersion is still about this revision; admission and dry runs show it.
    new["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"]
    if call.subresource == STATUS:
        new = strategy.prepare_status_update(kind, new, old)
    else:
        strategy.prepare_update(kind, new, old, call.subresource)
    if kind.conversion is None:
        manage(call, old, new)
    else:
        try:
            await with_versions(call, partial(manage, call, old, new))
        except ConversionError:
            # As in Kubernetes: a write needs its own version and the stored one, but not those of all managers.
            new["metadata"].pop("managedFields", None)
    if kind.resource in call.backend.admission.completed:
        await call.backend.admission.complete(call, new, old)
    new = await mutate(call, new, old, "UPDATE")
    is_allocated = await allocate(call, new, old)
    kind.behaviour.prepare(new, old, call.timestamp(), writer=id(call))
    refuse_invalid(call, new, _update_causes(call, new, old))
    if not call.subresource:
        call.warnings.extend(kind.behaviour.warnings(new, old))
    if call.subresource != BINDING:
        await call.backend.admission.validate(call, new, old, "UPDATE")
    if is_finished(new):
        return await remove_released(call, record, new, old)
    if call.subresource == APPROVAL and not call.options.dry_run:
        new = await call.backend.certify(call, new)
    new = keep_times(old, new)
    if call.options.dry_run:
        await check_quotas(call, new, old)
        return await tried(call, new)
    if new is old and _is_stored(call, record):
        return Written(object_bytes(kind, record), new)
    is_status_only = call.subresource == STATUS and (kind.custom or not strategy.is_metadata_changed(new, old))
    tag = STATUS if is_status_only else ""
    draft = draft_of(kind, new) if kind.conversion is None else await call.backend.conversions.draft(kind, new)
    put = Put(record.key, draft, record.revision, tag=tag)
    if new is old:
        record = await commit(call, put, new, old)
    else:
        record = await commit_claims(call, put, new, old, is_allocated=is_allocated)
    if kind.conversion is None:
        return Written(object_bytes(kind, record), new)
    return await shown_written(call, record)


def _is_stored(call: Call, record: Record) -> bool:
    """Whether the object of the record is the newest, and stored as it would be stored now: a write of it needs no
    commit. Only a commit knows what other replicas have written, and what quotas count.
    """
    kind, backend = call.kind, call.backend
    return (
        not backend.store.is_shared
        and kind.is_verbatim
        and record.value.startswith(kind.stored_head)
        and not backend.admission.has_quotas(record.key.namespace)
        and backend.store.get(record.key) is record
    )


def _update_causes(call: Call, new: JsonObject, old: JsonObject) -> list[Cause]:
    kind = call.kind
    keeps_metadata = call.subresource == STATUS and kind.custom
    causes = [] if keeps_metadata else check_metadata_update(new["metadata"], old["metadata"])
    if call.subresource in POD_PARTS:
        return causes + check_part(call.subresource, new, old)
    if call.subresource == STATUS:
        causes += strategy.approval_causes(kind, new, old)
    causes += kind.behaviour.check_update(new, old)
    return causes or kind.behaviour.check_rules(new, old)
