"""The `scale` subresource: any kind with replicas, shown as an autoscaling/v1 Scale."""

from __future__ import annotations

from collections.abc import Callable

from homeostat.objects.errors import BadRequestError, UnsupportedMediaTypeError, invalid, invalid_object
from homeostat.objects.json import Json, JsonObject, decode, decode_object, encode, type_name
from homeostat.objects.meta import clean_metadata
from homeostat.objects.patch.json import json_patch, merge_patch
from homeostat.objects.selectors import selector_of
from homeostat.server import strategy
from homeostat.server.kinds.registry import Kind
from homeostat.server.request.body import parse_body, report
from homeostat.server.request.call import Answer, Call
from homeostat.server.request.offload import offloaded
from homeostat.server.verbs.patch import (
    APPLY_PATCH,
    JSON_PATCH,
    MERGE_PATCH,
    STRATEGIC_PATCH,
    merge_applied,
    patch_cause,
    refuse_force,
    require_manager,
    yaml_or_json,
)
from homeostat.server.view.answer import one
from homeostat.server.view.encode import object_of
from homeostat.server.view.versions import await_version
from homeostat.server.write.change import Edit, change
from homeostat.server.write.checks import place, require_name

_API_VERSION = "autoscaling/v1"
_MEMBERS: dict[str, dict[str, type]] = {"spec": {"replicas": int}, "status": {"replicas": int, "selector": str}}
_SHARED_METADATA = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


def scale_of(kind: Kind, obj: JsonObject) -> JsonObject:
    """The Scale of an object."""
    assert kind.scale is not None
    metadata = {name: obj["metadata"][name] for name in _SHARED_METADATA if name in obj["metadata"]}
    replicas = _at(obj, kind.scale.spec_replicas)
    status: JsonObject = {"replicas": _at(obj, kind.scale.status_replicas) or 0}
    selector = _selector(kind, obj)
    if selector:
        status["selector"] = selector
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": metadata,
        "spec": {"replicas": replicas} if replicas else {},
        "status": status,
    }


def _selector(kind: Kind, obj: JsonObject) -> str:
    assert kind.scale is not None
    if kind.custom:
        found = _at(obj, kind.scale.label_selector) if kind.scale.label_selector else ""
        return found if isinstance(found, str) else ""
    selector = (obj.get("spec") or {}).get("selector")
    if kind.kind == "ReplicationController":
        selector = {"matchLabels": selector}
    return str(selector_of(selector)) if selector else ""


def _at(obj: Json, path: str) -> Json:
    for name in path.strip(".").split("."):
        obj = obj.get(name) if isinstance(obj, dict) else None
    return obj


def with_replicas(kind: Kind, obj: JsonObject, replicas: int) -> JsonObject:
    """The object with another number of replicas; the original is not changed."""
    assert kind.scale is not None
    result = target = dict(obj)
    *parents, last = kind.scale.spec_replicas.strip(".").split(".")
    for name in parents:
        target[name] = target = dict(target.get(name) or {})
    target[last] = replicas
    result["metadata"] = dict(obj["metadata"])
    return result


async def get_scale(call: Call) -> Answer:
    await await_version(call)
    return await _shown(call)


@offloaded
async def _shown(call: Call) -> Answer:
    return one(call, encode(scale_of(call.kind, object_of(call.kind, await call.shown_record()))))


@offloaded
async def update_scale(call: Call) -> Answer:
    wanted = parse_body(call)
    return await _write_scale(call, lambda _: wanted)


@offloaded
async def patch_scale(call: Call) -> Answer:
    media = call.content_type.partition(";")[0].strip().lower()
    if media != APPLY_PATCH:
        refuse_force(call)
    if media == JSON_PATCH:
        operations = decode(call.body)
        return await _write_scale(call, lambda scale: json_patch(scale, operations))
    if media == MERGE_PATCH or (media == STRATEGIC_PATCH and not call.kind.custom):
        merged = decode_object(call.body)
        return await _write_scale(call, lambda scale: merge_patch(scale, merged))
    if media == APPLY_PATCH:
        return await _apply_scale(call)
    raise UnsupportedMediaTypeError(
        "the body of the request was in an unknown format - accepted media types include: "
        f"{JSON_PATCH}, {MERGE_PATCH}, {'' if call.kind.custom else f'{STRATEGIC_PATCH}, '}{APPLY_PATCH}"
    )


async def _apply_scale(call: Call) -> Answer:
    """Server-side apply of a Scale: an apply of the object's replicas, which is how its managers are recorded."""
    require_manager(call)
    wanted = yaml_or_json(call.body)
    if not isinstance(wanted, dict):
        raise BadRequestError(f"a Scale must be an object, not {type_name(wanted)}")
    api_version, kind = wanted.get("apiVersion", ""), wanted.get("kind", "")
    if (api_version, kind) != ("autoscaling/v1", "Scale"):
        raise BadRequestError(f"invalid object type: {api_version}, Kind={kind}")
    call.is_apply = True
    replicas = _wanted_replicas(call, wanted)

    def applied(old: JsonObject) -> JsonObject:
        _refuse_stale(call, wanted, old)
        bare: JsonObject = {"apiVersion": call.kind.api_version, "kind": call.kind.kind, "metadata": {}}
        configuration = with_replicas(call.kind, bare, replicas)
        configuration["metadata"] = {"name": call.name}
        return merge_applied(call, old, configuration)

    return await _scale_written(call, applied)


async def _write_scale(call: Call, edit: Callable[[JsonObject], Json]) -> Answer:
    def rescale(old: JsonObject) -> JsonObject:
        wanted = edit(scale_of(call.kind, old))
        replicas = _wanted_replicas(call, wanted)
        new = with_replicas(call.kind, old, replicas)
        _refuse_stale(call, wanted, old)
        return new

    return await _scale_written(call, rescale)


def _refuse_stale(call: Call, scale: JsonObject, old: JsonObject) -> None:
    metadata = scale.get("metadata") or {}
    uid, version = metadata.get("uid"), metadata.get("resourceVersion")
    if uid and uid != old["metadata"]["uid"]:
        raise strategy.unmet_precondition(call.kind, call.name, "UID", uid, old["metadata"]["uid"])
    if version and version != old["metadata"]["resourceVersion"]:
        raise strategy.stale(call.kind, call.name)


async def _scale_written(call: Call, edit: Edit) -> Answer:
    written = await change(call, edit)
    return one(call, encode(scale_of(call.kind, {**written.obj, "metadata": decode_object(written.body)["metadata"]})))


def _wanted_replicas(call: Call, scale: Json) -> int:
    if not isinstance(scale, dict):
        raise BadRequestError(f"a Scale must be an object, not {type_name(scale)}")
    scale = dict(scale)
    try:
        report(call, [f'unknown field "{name}"' for name in _unknown_fields(call, scale)])
    except BadRequestError as error:
        if call.is_apply or "patch" not in call.content_type:
            raise
        raise invalid_object("Scale", "autoscaling", call.name, [patch_cause(error)]) from error
    if not call.is_apply:
        require_name(call, scale["metadata"])
    place(call, scale["metadata"])
    replicas: int = (scale.get("spec") or {}).get("replicas") or 0
    if replicas < 0:
        causes = [invalid("spec.replicas", replicas, "must be greater than or equal to 0")]
        raise invalid_object("Scale", "autoscaling", call.name, causes)
    return replicas


def _is_int32(value: Json) -> bool:
    return not isinstance(value, int) or -(2**31) <= value < 2**31


def _unknown_fields(call: Call, scale: JsonObject) -> list[str]:
    """Of what is no Scale; `BadRequestError` for values of wrong types. Cleans the metadata, in place."""
    found = scale.get("apiVersion") or _API_VERSION, scale.get("kind") or "Scale"
    if found != (_API_VERSION, "Scale"):
        raise BadRequestError(f"expected a Scale of {_API_VERSION}, got a {found[1]} of {found[0]}")
    unknown = clean_metadata(scale)
    for member, types in _MEMBERS.items():
        value = scale.get(member)
        if value is None:
            continue
        if not isinstance(value, dict):
            raise BadRequestError(f"{member} of a Scale must be an object, not {type_name(value)}")
        for name, each in value.items():
            if name not in types:
                unknown.append(f"{member}.{name}")
            elif each is not None and (type(each) is not types[name] or not _is_int32(each)):
                raise BadRequestError(f"{member}.{name} of a Scale has the wrong type: {type_name(each)}")
    unknown += [name for name in scale if name not in _MEMBERS and name not in ("apiVersion", "kind", "metadata")]
    return unknown if call.options.field_validation != "Ignore" else []
