"""Stores a new object: prepare, admit, validate, encode, commit. A generated name that exists is chosen again."""

from __future__ import annotations

from homeostat.objects.errors import AlreadyExistsError, BadRequestError, Cause, required
from homeostat.objects.json import JsonObject
from homeostat.objects.names import check_metadata, name_rule
from homeostat.server import strategy
from homeostat.server.access.signers import REQUESTS, record_requester
from homeostat.server.namespaces import require_namespace
from homeostat.server.request.call import Call
from homeostat.server.view.encode import draft_of, object_bytes
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
from homeostat.server.write.commit import check_quotas
from homeostat.server.write.managers import manage
from homeostat.server.write.mutation import mutate
from homeostat.server.write.written import Written, shown_written, tried
from homeostat.store.base import Key, Put, RevisionMismatchError

_GENERATED_NAME_TRIES = 8
_MAX_GENERATED_PREFIX = 58


async def create(call: Call, obj: JsonObject) -> Written:
    """Store a new object."""
    metadata = obj["metadata"]
    place(call, metadata)
    if metadata.get("resourceVersion"):
        raise BadRequestError("resourceVersion should not be set on objects to be created")
    if call.kind.is_terminating:
        raise call.forbidden(
            "create not allowed while custom resource definition is terminating", metadata.get("name", "")
        )
    require_namespace(call, metadata.get("name", ""))
    prefix = metadata.get("generateName", "") if not metadata.get("name") else ""
    strategy.prepare_create(call.kind, obj, uid=call.backend.new_uid(), now=call.timestamp())
    create_once = _create_claiming if is_claiming(call) else _create_once
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
    """For kinds whose objects claim names, addresses or ports."""
    given = obj.get("spec")
    for _ in range(RACE_TRIES):
        try:
            with claims_held(call):
                return await _create_once(call, obj)
        except ClaimLostError:
            # The addresses and ports that were chosen are in a spec of their own.
            if given is not None:
                obj["spec"] = given
    raise contended(call, obj["metadata"]["name"])


async def _create_once(call: Call, obj: JsonObject) -> Written:
    kind = call.kind
    manage(call, None, obj)
    if kind.resource in call.backend.admission.completed:
        await call.backend.admission.complete(call, obj, None)
    obj = await mutate(call, obj, None, "CREATE")
    if kind.group_resource == REQUESTS:
        record_requester(obj, call.user)
    is_allocated = await allocate(call, obj, None)
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
        await check_quotas(call, obj, None)
        return await tried(call, obj)
    draft = draft_of(kind, obj) if kind.conversion is None else await call.backend.conversions.draft(kind, obj)
    try:
        record = await commit_claims(call, Put(key, draft, 0), obj, None, is_allocated=is_allocated)
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


def _exists(call: Call, name: str) -> AlreadyExistsError:
    return AlreadyExistsError(
        f'{call.kind.group_resource} "{name}" already exists', kind=call.kind.plural, group=call.kind.group, name=name
    )
