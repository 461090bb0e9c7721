"""The only way to write an object to the store: prepare, admit, validate, encode, commit.

Every mutating verb and subresource uses `create` or `change`. A change is a function from the stored object to the new
one, so a write that lost a race is computed again on the newer object.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple, TypeVar

from homeostat.objects.apply.managed import keep_times, update_managed
from homeostat.objects.apply.versions import UnconvertedError, Versions
from homeostat.objects.errors import (
    AlreadyExistsError,
    BadRequestError,
    Cause,
    ConflictError,
    TooLargeError,
    TooManyRequestsError,
    UnavailableError,
    invalid_object,
    required,
)
from homeostat.objects.json import JsonObject, encode
from homeostat.objects.names import check_metadata, check_metadata_update, name_rule
from homeostat.server import strategy
from homeostat.server.access.signers import APPROVAL, REQUESTS, record_requester
from homeostat.server.conversion.review import ConversionError
from homeostat.server.kinds.builtins.immutable.pod_parts import POD_PARTS, check_part
from homeostat.server.namespaces import require_namespace
from homeostat.server.request.call import Call
from homeostat.server.request.offload import is_heavy
from homeostat.server.request.too_long import TooLongError, is_offloaded
from homeostat.server.services.allocator import SERVICES
from homeostat.server.view.encode import draft_of, object_bytes, object_of
from homeostat.store.base import Delete, Draft, Key, Put, Record, RevisionMismatchError, UncertainError, UnwritableError

_GENERATED_NAME_TRIES = 8
_MAX_GENERATED_PREFIX = 58
_RACE_TRIES = 20
_CLAIM_TRIES = 200
_QUOTA_TRIES = 50
"""Each failure is a write of another replica to the same namespace that was committed."""
MAX_OBJECT_BYTES = 3 * 1024 * 1024
"""The size limit of a request body, so that every stored object can be sent back. Patches could exceed it."""

_CLAIMS = "private:claims"
"""A resource that no kind can have: its records change with every claim of names."""

STATUS = "status"
"""The subresource, and the tag of a change that touched nothing else."""
_SPEC_ONLY: JsonObject = {"f:spec": {}}
_STATUS_ONLY: JsonObject = {"f:status": {}}
BINDING = "binding"
"""The subresource. Admission control sees the creation of the Binding, and not the change of the Pod."""

Edit = Callable[[JsonObject], JsonObject]
T = TypeVar("T")


class Written(NamedTuple):
    """The result of a write: the bytes of the response, the object, and whether it was deleted."""

    body: bytes
    obj: JsonObject
    is_gone: bool = False


async def create(call: Call, obj: JsonObject) -> Written:
    """Store a new object."""
    metadata = obj["metadata"]
    _place(call, metadata)
    if metadata.get("resourceVersion"):
        raise BadRequestError("resourceVersion should not be set on objects to be created")
    if call.kind.is_terminating:
        raise call.forbidden(
            "create not allowed while custom resource definition is terminating", metadata.get("name", "")
        )
    require_namespace(call, metadata.get("name", ""))
    prefix = metadata.get("generateName", "") if not metadata.get("name") else ""
    strategy.prepare_create(call.kind, obj, uid=call.backend.new_uid(), now=call.timestamp())
    create_once = _create_claiming if _is_claiming(call) else _create_once
    for attempt in range(1, _GENERATED_NAME_TRIES + 1):
        if prefix:
            metadata["name"] = prefix[:_MAX_GENERATED_PREFIX] + call.backend.random_suffix()
        try:
            return await create_once(call, obj)
        except AlreadyExistsError:
            if not prefix or attempt == _GENERATED_NAME_TRIES:
                raise
    raise AssertionError("unreachable")


async def _create_claiming(call: Call, obj: JsonObject) -> Written:
    """For kinds whose objects claim names, addresses or ports: the claim of a write ends with it."""
    if call.kind.resource != SERVICES:
        try:
            return await _create_once(call, obj)
        finally:
            call.kind.behaviour.release(id(call))
    given = obj.get("spec")
    for _ in range(_RACE_TRIES):
        try:
            with _held(call):
                return await _create_once(call, obj)
        except _ClaimLostError:
            if given is not None:
                obj["spec"] = given
    raise _contended(call, obj["metadata"]["name"])


class _ClaimLostError(Exception):
    """Another replica has committed what this write chose; it has to choose again."""


def _is_claiming(call: Call) -> bool:
    return call.kind.behaviour.claims_names or (call.kind.resource == SERVICES and not call.subresource)


@contextmanager
def _held(call: Call) -> Iterator[None]:
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


async def _commit_allocated(call: Call, change: Put, new: JsonObject, old: JsonObject | None) -> Record:
    """Commit a Service with a new address or node port, on a store with other replicas.

    Of two that chose on the same state, one is committed. The other is committed later, if it chose something else.
    """
    key = Key(_CLAIMS, "", call.kind.resource)
    for _ in range(_CLAIM_TRIES):
        guard = call.store.get(key)
        if not call.backend.allocator.still_holds(id(call)):
            raise _ClaimLostError
        try:
            return await commit(call, change._replace(also=(_guarded(call, key, guard),)), new, old)
        except RevisionMismatchError as error:
            if error.key == change.key:
                raise
    raise _contended(call, change.key.name)


def _guarded(call: Call, key: Key, guard: Record | None) -> Put:
    tail = b'","writer":%s}' % encode(call.backend.new_uid())
    return Put(key, Draft(b'{"revision":"', tail), 0 if guard is None else guard.revision)


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
    raise _contended(call, change.key.name)


async def _create_once(call: Call, obj: JsonObject) -> Written:
    kind = call.kind
    manage(call, None, obj)
    if kind.resource in call.backend.admission.completed:
        await call.backend.admission.complete(call, obj, None)
    obj = await _mutate(call, obj, None, "CREATE")
    if kind.group_resource == REQUESTS:
        record_requester(obj, call.user)
    is_allocated = kind.resource == SERVICES and await _allocate(call, obj, None)
    kind.behaviour.prepare(obj, None, call.timestamp(), writer=id(call))
    refuse_invalid(call, obj, _create_causes(call, obj))
    call.warnings.extend(kind.behaviour.warnings(obj, None))
    await call.backend.admission.validate(call, obj, None, "CREATE")
    # Webhooks take time, and the namespace may have been deleted meanwhile.
    require_namespace(call, obj["metadata"]["name"])
    key = Key(kind.resource, obj["metadata"].get("namespace", ""), obj["metadata"]["name"])
    if call.options.dry_run:
        if call.store.get(key) is not None:
            raise _exists(call, key.name)
        await _check_quotas(call, obj, None)
        return await tried(call, obj)
    draft = draft_of(kind, obj) if kind.conversion is None else await call.backend.conversions.draft(kind, obj)
    try:
        record = await _commit_of(call, is_allocated)(call, Put(key, draft, 0), obj, None)
    except RevisionMismatchError as error:
        raise _exists(call, key.name) from error
    if kind.conversion is None:
        return Written(object_bytes(kind, record), obj)
    return await shown_written(call, record)


def _create_causes(call: Call, obj: JsonObject) -> list[Cause]:
    kind = call.kind
    metadata = obj["metadata"]
    if not metadata.get("name"):
        return [required("metadata.name", "name or generateName is required")]
    causes = check_metadata(metadata, namespaced=kind.namespaced, rule=name_rule(kind.group, kind.kind))
    causes += kind.behaviour.check(obj)
    return causes or kind.behaviour.check_rules(obj, None)


async def change(call: Call, edit: Edit, *, tries: int = _RACE_TRIES) -> Written:
    """Apply `edit` to the stored object and store the result; retry while other writers are faster.

    `edit` returns a new value each time. If that has a `resourceVersion` which is not the stored one, `ConflictError`.
    """
    change_once = _change_claiming if _is_claiming(call) else _change_once
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
        except (RevisionMismatchError, _ClaimLostError):
            continue
    raise _contended(call, call.name)


async def _allocate(call: Call, new: JsonObject, old: JsonObject | None) -> bool:
    return await call.backend.allocator.allocate(id(call), new, old, is_trial=call.options.dry_run)


def _commit_of(call: Call, is_allocated: bool) -> Callable[..., Awaitable[Record]]:
    if not call.store.is_shared:
        return commit
    if is_allocated:
        return _commit_allocated
    return _commit_claim if call.kind.behaviour.claims_names else commit


def _contended(call: Call, name: str) -> ConflictError:
    return ConflictError(
        f'{call.kind.group_resource} "{name}" is being changed too often; try again later', kind=call.kind.plural
    )


async def _change_claiming(call: Call, record: Record, old: JsonObject, new: JsonObject) -> Written:
    if call.kind.resource == SERVICES:
        with _held(call):
            return await _change_once(call, record, old, new)
    try:
        return await _change_once(call, record, old, new)
    finally:
        call.kind.behaviour.release(id(call))


async def _change_once(call: Call, record: Record, old: JsonObject, new: JsonObject) -> Written:
    kind = call.kind
    _place(call, new["metadata"])
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
    new = await _mutate(call, new, old, "UPDATE")
    is_allocated = kind.resource == SERVICES and not call.subresource and await _allocate(call, new, old)
    kind.behaviour.prepare(new, old, call.timestamp(), writer=id(call))
    refuse_invalid(call, new, _update_causes(call, new, old))
    if not call.subresource:
        call.warnings.extend(kind.behaviour.warnings(new, old))
    if call.subresource != BINDING:
        await call.backend.admission.validate(call, new, old, "UPDATE")
    if is_finished(new):
        return await remove(call, record, new, old)
    if call.subresource == APPROVAL and not call.options.dry_run:
        new = await call.backend.certify(call, new)
    new = keep_times(old, new)
    if call.options.dry_run:
        await _check_quotas(call, new, old)
        return await tried(call, new)
    if new is old and _is_stored(call, record):
        return Written(object_bytes(kind, record), new)
    is_status_only = call.subresource == STATUS and (kind.custom or not strategy.is_metadata_changed(new, old))
    tag = STATUS if is_status_only else ""
    draft = draft_of(kind, new) if kind.conversion is None else await call.backend.conversions.draft(kind, new)
    put = Put(record.key, draft, record.revision, tag=tag)
    record = await (commit if new is old else _commit_of(call, is_allocated))(call, put, new, old)
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


async def tried(call: Call, obj: JsonObject) -> Written:
    """The result of a dry run."""
    if call.kind.conversion is not None:
        obj = await call.backend.conversions.round_trip(call.kind, obj)
    return Written(encode(obj), obj)


async def shown_written(call: Call, record: Record) -> Written:
    """A written object as it is read: at the stored version and back, a conversion may change it."""
    shown = await call.show(record)
    return Written(object_bytes(call.kind, shown), object_of(call.kind, shown))


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
        draft = draft_of(kind, obj) if kind.conversion is None else await call.backend.conversions.draft(kind, obj)
    gone = await commit(call, Delete(record.key, draft, record.revision), None, old)
    if kind.conversion is None:
        return Written(object_bytes(kind, gone), obj, is_gone=True)
    obj["metadata"]["resourceVersion"] = str(gone.revision)
    return Written(encode(obj), obj, is_gone=True)


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
    async with admission.turn(namespace):
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


async def _check_quotas(call: Call, new: JsonObject | None, old: JsonObject | None) -> None:
    admission = call.backend.admission
    if admission.has_quotas(call.namespace) and admission.is_charged(call, new, old):
        async with admission.turn(call.namespace):
            await admission.charges(call, new, old)


async def _mutate(call: Call, obj: JsonObject, old: JsonObject | None, operation: str) -> JsonObject:
    """The object after mutating webhooks. As in Kubernetes, the fields that they set have no manager."""
    admission = call.backend.admission
    if call.subresource == BINDING or admission.is_idle(call, operation):
        return obj
    changed = await admission.mutate(call, obj, old, operation)
    if changed is None or changed is obj:
        return obj
    if not is_offloaded() and is_heavy(changed):
        # Everything that follows takes long. In the thread, admission is asked again, as after a conflict.
        raise TooLongError
    (_place if old is None else _place_in_namespace)(call, changed["metadata"])
    call.kind.behaviour.prune(changed)
    call.kind.behaviour.default(changed)
    if call.kind.resource in admission.completed:
        await admission.complete(call, changed, old)
    return changed


def manage(call: Call, old: JsonObject | None, new: JsonObject) -> None:
    """Update `managedFields`: which manager wrote which field."""
    if call.is_apply:
        return
    entries = update_managed(
        old,
        new,
        call.kind.behaviour.schema,
        manager=call.manager,
        api_version=call.kind.api_version,
        subresource=call.subresource,
        ignore=untracked_fields(call),
        now=call.timestamp(),
        versions=call.versions,
    )
    if entries:
        new["metadata"]["managedFields"] = entries
    else:
        new["metadata"].pop("managedFields", None)


async def with_versions(call: Call, compute: Callable[[], T]) -> T:
    """The result of a computation that needs the object at the versions of its managers."""
    conversion = call.kind.conversion
    assert conversion is not None
    if call.versions is None:
        call.versions = Versions(conversion.behaviours)
    while True:
        try:
            return compute()
        except UnconvertedError as missing:
            found = await call.backend.conversions.objects(call.kind, [missing.obj], missing.api_version)
            call.versions.learn(missing, found[0])


def untracked_fields(call: Call) -> JsonObject | None:
    """Fields that a write of this subresource cannot own."""
    if not call.kind.has_status:
        return None
    return _SPEC_ONLY if call.subresource in (STATUS, APPROVAL) else _STATUS_ONLY


def _place(call: Call, metadata: JsonObject) -> None:
    """Namespace and name of the object must be those of the URL."""
    _place_in_namespace(call, metadata)
    name = call.path.name
    if name and metadata.setdefault("name", name) != name:
        raise BadRequestError(
            f"the name of the object ({metadata['name']}) does not match the name on the URL ({name})"
        )


def _place_in_namespace(call: Call, metadata: JsonObject) -> None:
    if call.kind.namespaced:
        namespace = call.path.namespace
        if (metadata.get("namespace") or namespace) != namespace:
            raise BadRequestError(
                "the namespace of the provided object does not match the namespace sent on the request"
            )
        metadata["namespace"] = namespace
    else:
        metadata.pop("namespace", None)


def refuse_invalid(call: Call, obj: JsonObject, causes: list[Cause]) -> None:
    if causes:
        name = obj["metadata"].get("name") or obj["metadata"].get("generateName", "")
        raise invalid_object(call.kind.kind, call.kind.group, name, causes)


def _exists(call: Call, name: str) -> AlreadyExistsError:
    return AlreadyExistsError(
        f'{call.kind.group_resource} "{name}" already exists', kind=call.kind.plural, group=call.kind.group, name=name
    )
