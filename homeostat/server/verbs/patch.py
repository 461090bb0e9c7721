"""PATCH: JSON patch, merge patch, strategic merge patch and server-side apply."""

from __future__ import annotations

from contextlib import suppress

from homeostat.objects.apply.apply import apply as apply_configuration
from homeostat.objects.errors import (
    AlreadyExistsError,
    ApiError,
    BadRequestError,
    Cause,
    UnsupportedMediaTypeError,
    forbidden,
    invalid,
    invalid_object,
    required,
)
from homeostat.objects.json import Json, JsonObject, decode
from homeostat.objects.meta import clean_metadata
from homeostat.objects.names import IMMUTABLE
from homeostat.objects.patch.json import json_patch, merge_patch
from homeostat.objects.patch.strategic import strategic_merge_patch
from homeostat.objects.schema.schema import Schema
from homeostat.objects.wire.typed import restored_error
from homeostat.server import strategy
from homeostat.server.request.body import (
    WRITTEN_WITH_STATUS,
    StrictDecodingError,
    check_kind,
    conform,
    decode_body,
    duplicate_keys,
    load_yaml,
    report,
)
from homeostat.server.request.call import Answer, Call
from homeostat.server.request.offload import offloaded
from homeostat.server.request.too_long import is_offloaded
from homeostat.server.view.answer import one
from homeostat.server.write.change import Edit, change
from homeostat.server.write.checks import require_name
from homeostat.server.write.create import create
from homeostat.server.write.subresource import untracked_fields

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"


@offloaded
async def patch(call: Call) -> Answer:
    media = call.content_type.partition(";")[0].strip().lower()
    if media == APPLY_PATCH:
        return await apply(call)
    edit = edit_of(call, media)
    refuse_force(call)
    written = await change(call, lambda old: _of_same_uid(call, edit(old), old))
    return one(call, written.body)


def refuse_force(call: Call) -> None:
    """Only an apply has conflicts to force."""
    if call.options.force is not None:
        causes = [forbidden("force", "may not be specified for non-apply patch")]
        raise invalid_object("PatchOptions", "meta.k8s.io", "", causes)


def _of_same_uid(call: Call, new: JsonObject, old: JsonObject) -> JsonObject:
    """A patch is about the object of a name: another uid is an invalid value, and only another version a conflict."""
    metadata, former = new["metadata"], old["metadata"]
    require_name(call, metadata)
    uid = metadata.get("uid")
    if uid and uid != former["uid"] and metadata.get("resourceVersion") == former["resourceVersion"]:
        causes = [invalid("metadata.uid", uid, IMMUTABLE)]
        raise invalid_object(call.kind.kind, call.kind.group, call.name, causes)
    return new


def edit_of(call: Call, media: str) -> Edit:
    """The patch in the body as a function on the stored object."""
    if media == JSON_PATCH:
        operations = _patch_body(call)
        return lambda old: _patched(call, json_patch(old, operations), old)
    if media == MERGE_PATCH:
        merged = _patch_object(call)
        return lambda old: _patched(call, merge_patch(old, merged), old)
    if media == STRATEGIC_PATCH and not call.kind.custom:
        strategic = _patch_object(call)
        schema = call.kind.behaviour.schema
        return lambda old: _patched(call, strategic_merge_patch(old, strategic, schema), old, restored=schema)
    accepted = [JSON_PATCH, MERGE_PATCH, APPLY_PATCH] + ([] if call.kind.custom else [STRATEGIC_PATCH])
    raise UnsupportedMediaTypeError(
        f"the body of the request was in an unknown format - accepted media types include: {', '.join(accepted)}"
    )


def _patch_body(call: Call) -> Json:
    value = decode_body(call)
    if call.options.field_validation != "Ignore":
        try:
            report(call, [f'duplicate field "{name}"' for name in duplicate_keys(call.body, value)])
        except StrictDecodingError as error:
            raise invalid_object(call.kind.kind, call.kind.group, call.name, [patch_cause(error)]) from error
    return value


def _patch_object(call: Call) -> JsonObject:
    value = _patch_body(call)
    if not isinstance(value, dict):
        raise BadRequestError("a merge patch must be a JSON object")
    return value


def _patched(call: Call, patched: Json, old: JsonObject, *, restored: Schema | None = None) -> JsonObject:
    """Check the result of a patch like a body; identity fields that it lacks are those of the stored object, but for
    the name. With a schema, a value of a wrong type is refused in the words of Kubernetes: scripts look for them.
    """
    if not isinstance(patched, dict):
        raise BadRequestError("the result of the patch is not an object")
    if call.subresource == "status":
        patched = {
            name: item for name, item in patched.items() if item is not old.get(name) or name in WRITTEN_WITH_STATUS
        }
    metadata = patched.get("metadata")
    if isinstance(metadata, dict):
        for name in ("namespace", "uid", "creationTimestamp"):
            if name not in metadata and name in old["metadata"]:
                patched["metadata"] = metadata = {**metadata, name: old["metadata"][name]}
        if "resourceVersion" not in metadata:
            metadata["resourceVersion"] = old["metadata"]["resourceVersion"]
    try:
        conformed = conform(call, patched, clean=old["metadata"])
        strategy.check_template_generation(call.kind, conformed)
        return conformed
    except BadRequestError as error:
        text = restored_error(patched, restored) if restored is not None else ""
        cause = Cause("FieldValueInvalid", text, "patch") if text else patch_cause(error)
        raise invalid_object(call.kind.kind, call.kind.group, call.name, [cause]) from error


def patch_cause(error: ApiError) -> Cause:
    return Cause("FieldValueInvalid", error.message, "patch")


async def apply(call: Call) -> Answer:
    """Server-side apply. It creates a missing object."""
    require_manager(call)
    configuration = _apply_body(call)
    call.is_apply = True
    if call.store.get(call.key) is None and not call.subresource:
        await call.require_create()
        _refuse_uid(call, configuration)
        if not configuration["metadata"].get("name"):
            raise BadRequestError(f'metadata.name is missing; to create "{call.name}" an apply must name it')
        configuration["metadata"].pop("resourceVersion", None)
        try:
            created = await create(call, _applied(call, None, configuration))
        except AlreadyExistsError:
            # Another writer was faster; apply to the object that it created.
            configuration = _apply_body(call)
        else:
            return one(call, created.body, status=201)
    written = await change(call, lambda old: _of_same_uid(call, _applied(call, old, configuration), old))
    return one(call, written.body)


def _applied(call: Call, live: JsonObject | None, configuration: JsonObject) -> JsonObject:
    merged = merge_applied(call, live, configuration)
    metadata = merged["metadata"]
    # The metadata of both parts were checked; what the apply left empty has to go.
    return conform(call, merged, clean=metadata if all(metadata.values()) else None)


def require_manager(call: Call) -> None:
    if not call.options.field_manager:
        raise invalid_object(
            "PatchOptions", "meta.k8s.io", "", [required("fieldManager", "is required for apply patch")]
        )


def _refuse_uid(call: Call, configuration: JsonObject) -> None:
    """A configuration with a uid means an existing object, so it must not create one."""
    uid = configuration["metadata"].get("uid")
    if uid:
        reason = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
        raise strategy.conflict(call.kind, call.name, reason)


def _apply_body(call: Call) -> JsonObject:
    """The applied configuration. Its media type is YAML; most clients send JSON, which is valid YAML."""
    value = _configuration(call)
    if not isinstance(value, dict):
        raise BadRequestError("an apply configuration must be an object")
    if not value.get("apiVersion") or not value.get("kind"):
        raise BadRequestError(f"invalid object type: {value.get('apiVersion') or '/'}, Kind={value.get('kind') or ''}")
    check_kind(call, value)
    empty = _empty_maps(value.get("metadata"))
    unknown = clean_metadata(value)
    if empty:
        value["metadata"].update(empty)
    if value["metadata"].get("managedFields"):
        raise BadRequestError("metadata.managedFields must be nil")
    unknown += call.kind.behaviour.unknown_fields(value)
    if unknown:
        raise BadRequestError(
            f"failed to create typed patch object ({call.namespace}/{call.name}; {call.kind.api_version}, "
            f"Kind={call.kind.kind}): .{unknown[0]}: field not declared in schema"
        )
    return value


def _empty_maps(metadata: Json) -> JsonObject:
    """Without a label, labels are claimed all the same."""
    if not isinstance(metadata, dict) or all(metadata.values()):
        return {}
    return {name: {} for name in ("labels", "annotations") if metadata.get(name, True) in ({}, None)}


def _configuration(call: Call) -> Json:
    if call.body.lstrip().startswith(b"{"):
        try:
            return decode_body(call)
        except BadRequestError:
            pass  # It may be YAML all the same.
    return load_yaml(call)


def yaml_or_json(body: bytes) -> Json:
    if body.lstrip().startswith(b"{"):
        with suppress(BadRequestError):
            return decode(body, in_pieces=is_offloaded())
    from homeostat.objects import yaml

    return yaml.load(body)


def merge_applied(call: Call, live: JsonObject | None, configuration: JsonObject) -> JsonObject:
    return apply_configuration(
        live,
        configuration,
        call.kind.behaviour.schema,
        manager=call.options.field_manager,
        force=bool(call.options.force),
        api_version=call.kind.api_version,
        subresource=call.subresource,
        ignore=untracked_fields(call),
        now=call.timestamp(),
        versions=call.versions,
    )
