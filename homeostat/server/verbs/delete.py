"""DELETE of one object, and of a collection.

An object without finalizers is deleted at once. Otherwise it gets a `deletionTimestamp` and is deleted with its last
finalizer. `propagationPolicy` becomes a finalizer that the garbage collector acts on. A Pod on a Node has a grace
period.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from itertools import compress

import msgspec

from homeostat.objects.errors import (
    BadRequestError,
    Cause,
    ConflictError,
    NotFoundError,
    invalid,
    invalid_object,
    unsupported,
)
from homeostat.objects.json import JsonObject, encode
from homeostat.server import strategy
from homeostat.server.namespaces import UNDELETABLE_NAMESPACES
from homeostat.server.request.body import parse_body, require_small_body
from homeostat.server.request.call import Answer, Call
from homeostat.server.request.offload import offloaded
from homeostat.server.request.options import NO_OPTIONS, PROPAGATION_POLICIES
from homeostat.server.verbs.list import page_of
from homeostat.server.verbs.pods.grace import is_pending, set_grace
from homeostat.server.view.answer import one, status_success
from homeostat.server.view.encode import draft_of, list_metadata, object_bytes, object_of, stored_draft
from homeostat.server.view.listing import batches, list_reply
from homeostat.server.view.selection import selection_of
from homeostat.server.view.versions import refuse_wrong_match
from homeostat.server.view.view import view_of
from homeostat.server.write.commit import commit
from homeostat.server.write.remove import is_finished, remove
from homeostat.server.write.written import Written, shown_written, tried
from homeostat.store.base import Put, Record, RevisionMismatchError

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"
_HOLDING = frozenset({"Foreground", "Orphan"})
"""Policies that become a finalizer."""
PODS = "pods"
_RACE_TRIES = 20
_JOBS = "jobs.batch"
_ORPHANING = frozenset({"replicationcontrollers", _JOBS})
"""Kinds whose dependents are orphaned unless the request says otherwise, as in Kubernetes."""
_RETURNED = frozenset(
    {
        "persistentvolumeclaims",
        "persistentvolumes",
        "podtemplates",
        "resourcequotas",
        "serviceaccounts",
        "services",
        "csidrivers.storage.k8s.io",
        "csinodes.storage.k8s.io",
        "storageclasses.storage.k8s.io",
        "volumeattachments.storage.k8s.io",
        "volumeattributesclasses.storage.k8s.io",
        "deviceclasses.resource.k8s.io",
        "resourceclaims.resource.k8s.io",
        "resourceclaimtemplates.resource.k8s.io",
        "resourceslices.resource.k8s.io",
    }
)
"""Kinds whose deletion answers with the object as it was before, as in Kubernetes. For Pods it is their last state, for
others a Status.
"""
_MARKED = frozenset({"namespaces", "customresourcedefinitions.apiextensions.k8s.io"})
"""Kinds whose last state differs from the stored one by more than metadata."""
_JOB_WARNING = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set "
    "propagationPolicy=Orphan to suppress this warning"
)
_AT_ONCE, _BYTES_AT_ONCE = 64, 1024 * 1024
"""Deletions of a collection that run at the same time, so that they share commits. Each has its object decoded, which
takes many times the memory.
"""


class Preconditions(msgspec.Struct, frozen=True):
    uid: str | None = None
    resource_version: str | None = msgspec.field(default=None, name="resourceVersion")


class DeleteOptions(msgspec.Struct, frozen=True, rename="camel"):
    kind: str = ""
    api_version: str = ""
    preconditions: Preconditions | None = None
    propagation_policy: str | None = None
    orphan_dependents: bool | None = None
    grace_period_seconds: int | None = None
    dry_run: list[str] | None = None


_NO_DELETE_OPTIONS = DeleteOptions()


@offloaded
async def delete(call: Call) -> Answer:
    options = read_options(call)
    if call.kind.kind == "Namespace" and not call.kind.group and call.name in UNDELETABLE_NAMESPACES:
        raise call.forbidden("this namespace may not be deleted")
    written = await delete_object(call, options)
    if call.kind.group_resource == PODS or not written.is_gone:
        return one(call, written.body)
    if call.kind.group_resource in _RETURNED:
        return one(call, encode(written.obj))
    details = {"name": call.name, "kind": call.kind.plural, "uid": written.obj["metadata"]["uid"]}
    if call.kind.group:
        details["group"] = call.kind.group
    return one(_as_object(call), status_success(details))


def _as_object(call: Call) -> Call:
    """A Status has no table form, but kubectl requests one."""
    call.representation = call.representation.of_objects
    return call


def read_options(call: Call) -> DeleteOptions:
    """The delete options of the body, or without one those of the query. Either may ask for a dry run."""
    options = _NO_DELETE_OPTIONS
    if call.body:
        call.options = msgspec.structs.replace(
            call.options, propagation_policy=None, grace_period_s=None, orphan_dependents=None
        )
        require_small_body(call)
        value = parse_body(call)
        try:
            options = msgspec.convert(value, DeleteOptions)
        except msgspec.ValidationError as error:
            raise BadRequestError(f"the body is not DeleteOptions: {error}") from error
        if options.kind not in {"", "DeleteOptions"}:
            raise BadRequestError(f"expected DeleteOptions, got {options.kind}")
    elif call.options.uid is not None or call.options.resource_version:
        wanted = Preconditions(uid=call.options.uid, resource_version=call.options.resource_version or None)
        options = DeleteOptions(preconditions=wanted)
    return complete_options(call, options)


def complete_options(call: Call, options: DeleteOptions) -> DeleteOptions:
    """Valid options with what the query adds to them. A dry run becomes one of the call."""
    if options is _NO_DELETE_OPTIONS and call.options is NO_OPTIONS and call.kind.group_resource != _JOBS:
        return options
    policy = options.propagation_policy if options.propagation_policy is not None else call.options.propagation_policy
    orphan = options.orphan_dependents if options.orphan_dependents is not None else call.options.orphan_dependents
    causes: list[Cause] = []
    if orphan is not None and policy is not None:
        message = "orphanDependents and deletionPropagation cannot be both set"
        causes.append(invalid("propagationPolicy", policy, message))
    if policy is not None and policy not in PROPAGATION_POLICIES:
        causes.append(unsupported("propagationPolicy", policy, PROPAGATION_POLICIES))
    if options.dry_run and options.dry_run != ["All"]:
        causes.append(unsupported("dryRun", options.dry_run, ["All"]))
    if causes:
        raise invalid_object("DeleteOptions", "meta.k8s.io", "", causes)
    if options.dry_run:
        call.options = msgspec.structs.replace(call.options, dry_run=True)
    if orphan:
        policy = "Orphan"
    if not policy and orphan is None and call.kind.group_resource == _JOBS:
        call.warnings.append(_JOB_WARNING)
    if orphan is False:
        policy = "Background"
    grace_s = options.grace_period_seconds if options.grace_period_seconds is not None else call.options.grace_period_s
    if (policy, grace_s) == (options.propagation_policy, options.grace_period_seconds):
        return options
    return msgspec.structs.replace(options, propagation_policy=policy, grace_period_seconds=grace_s)


async def delete_object(
    call: Call,
    options: DeleteOptions,
    *,
    is_admitted: bool = False,
    note: Callable[[JsonObject], None] | None = None,
) -> Written:
    """Delete the call's object, or mark it for deletion. `note` may write into its last state."""
    for _ in range(_RACE_TRIES):
        record = call.record()
        obj = object_of(call.kind, record if call.kind.conversion is None else await call.show(record))
        check_preconditions(call, options, obj)
        if not is_admitted:
            admission = call.backend.admission
            if not admission.is_idle(call, "DELETE"):
                await admission.mutate(call, None, obj, "DELETE")
            await admission.validate(call, None, obj, "DELETE")
        is_waiting = call.kind.group_resource == PODS and is_pending(call, obj, options.grace_period_seconds)
        if is_waiting and note is None:
            return Written(object_bytes(call.kind, record), obj)
        policy = "" if is_waiting else options.propagation_policy or _default_policy(call, obj)
        try:
            if note is None and _is_held_by_nothing(call, obj, policy):
                return await remove(call, record, obj, obj, draft=stored_draft(call.kind, record))
            if note is not None:
                note(obj)
            before = dict(obj["metadata"])
            if not is_waiting:
                mark_deleted(call, obj, policy, options.grace_period_seconds)
            if is_finished(obj):
                # Pods alone have a grace period, and show it when they are deleted at once.
                if call.kind.group_resource == PODS:
                    return await remove(call, record, obj, obj)
                return await remove(call, record, {**obj, "metadata": before}, obj)
            return await _store(call, record, obj)
        except RevisionMismatchError:
            continue
    raise ConflictError(f'{call.kind.group_resource} "{call.name}" is being changed too often; try again later')


def _is_held_by_nothing(call: Call, obj: JsonObject, policy: str) -> bool:
    """Whether the object is deleted as it is, without a last state in which it terminates."""
    metadata, resource = obj["metadata"], call.kind.group_resource
    return (
        policy not in _HOLDING
        and not metadata.get("finalizers")
        and "deletionTimestamp" not in metadata
        and resource != PODS
        and resource not in _MARKED
    )


def _default_policy(call: Call, obj: JsonObject) -> str:
    """A finalizer of the garbage collector that is there already has the last word."""
    if call.kind.group_resource not in _ORPHANING:
        return ""
    is_decided = not {FOREGROUND, ORPHAN}.isdisjoint(obj["metadata"].get("finalizers") or ())
    return "" if is_decided else "Orphan"


async def _store(call: Call, record: Record, obj: JsonObject) -> Written:
    if call.options.dry_run:
        return await tried(call, obj)
    kind = call.kind
    draft = draft_of(kind, obj) if kind.conversion is None else await call.backend.conversions.draft(kind, obj)
    stored = await commit(call, Put(record.key, draft, record.revision), obj, obj)
    if kind.conversion is None:
        return Written(object_bytes(kind, stored), obj)
    return await shown_written(call, stored)


def check_preconditions(call: Call, options: DeleteOptions, obj: JsonObject) -> None:
    wanted = options.preconditions
    if wanted is None:
        return
    metadata = obj["metadata"]
    for label, asked, found in (
        ("UID", wanted.uid, metadata["uid"]),
        ("ResourceVersion", wanted.resource_version, metadata["resourceVersion"]),
    ):
        if asked is not None and asked != found:
            raise strategy.unmet_precondition(call.kind, call.name, label, asked, found)


def mark_deleted(call: Call, obj: JsonObject, policy: str, grace_s: int | None) -> None:
    """Set the deletionTimestamp and the finalizer of the propagation policy. In place."""
    metadata = obj["metadata"]
    finalizers = [name for name in metadata.get("finalizers") or () if not (policy and name in {FOREGROUND, ORPHAN})]
    if policy == "Foreground":
        finalizers.append(FOREGROUND)
    elif policy == "Orphan":
        finalizers.append(ORPHAN)
    if finalizers:
        metadata["finalizers"] = finalizers
    else:
        metadata.pop("finalizers", None)
    is_first = "deletionTimestamp" not in metadata
    if call.kind.group_resource == PODS:
        set_grace(call, obj, grace_s)
    elif is_first:
        metadata["deletionTimestamp"] = call.timestamp()
        if call.kind.group_resource != "namespaces":
            metadata["deletionGracePeriodSeconds"] = 0
    if not is_first:
        return
    if "generation" in metadata:
        metadata["generation"] += 1
    call.kind.behaviour.prepare_deletion(obj, call.timestamp())


async def delete_collection(call: Call) -> Answer:
    """DELETE of all selected objects, or of a page of them; the response is a list of them as they were before."""
    options = read_options(call)
    refuse_wrong_match(call)
    selection = selection_of(call)
    page = await page_of(call, selection)
    records = await call.show_all(page.records) if selection.is_all else page.records

    @offloaded
    async def delete_one(one: Call) -> None:
        one.is_of_collection = True
        await delete_object(one, options)

    deleted: list[Record] = []
    for some in batches(records, most=_AT_ONCE, most_bytes=_BYTES_AT_ONCE):
        are_deleted = await asyncio.gather(*(_is_deleted(delete_one(call.of(*record.key[1:]))) for record in some))
        deleted += compress(some, are_deleted)
    return await list_reply(call, view_of(call), deleted, list_metadata(call.store.revision))


async def _is_deleted(deletion: Awaitable[None]) -> bool:
    """Wait for the deletion of one object of a collection; False if another writer was faster."""
    try:
        await deletion
    except NotFoundError:
        return False
    return True
