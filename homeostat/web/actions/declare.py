"""Creates and updates resources: checks the declaration in a fixed order, asks webhooks, then writes.

    permission 403 -> unknown plugin 400 -> no plugin 400 -> no spec 400 -> unknown type 400 -> schema 400
    -> webhooks 403 -> write 409

An update is applied to the current object and retried after a conflict; with `If-Match` it is refused with 412 instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from msgspec.structs import replace

from homeostat.client.requests import Requests
from homeostat.edge.request import Request
from homeostat.edge.threads import in_thread
from homeostat.objects.errors import AlreadyExistsError, ConflictError, InvalidError, NotFoundError
from homeostat.objects.json import JsonObject, encode
from homeostat.objects.schema.passwords import HIDDEN
from homeostat.operators.actions.api import FINALIZER, ID, METADATA, REQUESTED
from homeostat.operators.actions.plugins.catalog import PluginOffError, UnknownPluginError
from homeostat.web.actions import spec_check
from homeostat.web.actions.face import Face, check_right
from homeostat.web.actions.forms import Declaration
from homeostat.web.actions.index.entry import VERSION, TypeEntry
from homeostat.web.actions.index.lookup import Found, fetch, found_in
from homeostat.web.actions.plugin_config import check_plugin_config
from homeostat.web.actions.type_facts import kind_of
from homeostat.web.kit.etags import check_match, is_conditional
from homeostat.web.kit.gate import Caller
from homeostat.web.kit.refusal import RefusalError, refusal_of

T = TypeVar("T")
Change = Callable[[JsonObject], None]
_ATTEMPTS: Final = 20


async def create(face: Face, caller: Caller, wanted: Declaration) -> Found:
    await check_right(caller, wanted.resource_type_name, wanted.resource_type_version, "CREATE")
    resource_type = await _checked_type(face, wanted)
    if face.index.has_name(resource_type, wanted.name):
        raise _is_there(wanted)
    await check_plugin_config(face, caller, resource_type, wanted)
    spec = await _admitted(face, caller, "CREATE", wanted, resource_type, None)
    number = await face.ids.take("resources")
    kind = kind_of(resource_type)
    try:
        body = _object(wanted, resource_type, spec, number)
        whole = await face.acting(caller).fetch("POST", kind.path(face.namespace), body=body)
    except AlreadyExistsError as error:
        raise _is_there(wanted) from error
    except InvalidError as error:
        raise _refused(error) from error
    return await _seen(face, found_in(resource_type, whole))


async def update(face: Face, request: Request, caller: Caller, found: Found, wanted: Declaration) -> Found:
    """Replaces the given fields, and always triggers a reconciliation."""
    await check_seen(face, request, found)
    await check_plugin_config(face, caller, found.type, wanted, plugin=found.entry.read_action().plugin)
    wanted = _restored(found, wanted)
    spec = await _admitted(face, caller, "UPDATE", wanted, found.type, found) if wanted.spec is not None else None

    def change(obj: JsonObject) -> None:
        if spec is not None:
            obj["spec"] = spec
        if wanted.action_plugin:
            obj.setdefault("action", {})["plugin"] = wanted.action_plugin
        if wanted.plugin_config is not None:
            obj.setdefault("action", {})["config"] = wanted.plugin_config
        annotations = obj["metadata"].setdefault("annotations", {})
        annotations[REQUESTED] = face.stamp()
        if wanted.metadata is not None:
            annotations[METADATA] = encode(wanted.metadata).decode()

    try:
        return await rewrite(face, request, caller, found, change)
    except InvalidError as error:
        raise _refused(error) from error


async def apply(face: Face, request: Request, caller: Caller, found: Found, wanted: Declaration) -> Found:
    """Like `update`, but does not write if nothing would change."""
    await check_seen(face, request, found)
    wanted = _restored(found, wanted)
    if (declared := wanted.spec) is not None:
        spec, trouble = await _in_thread(caller, lambda: spec_check.checker_of(found.type).settle(declared))
        if not trouble and _says(found, wanted, spec):
            return found
    return await update(face, request, caller, found, wanted)


async def rewrite(face: Face, request: Request, caller: Caller, found: Found, change: Change) -> Found:
    """Applies `change` to the newest object, again after each conflict."""
    client = face.acting(caller)
    for _ in range(_ATTEMPTS):
        obj = found.read()
        change(obj)
        try:
            whole = await client.fetch("PUT", found.indexed.path, body=obj)
            return await _seen(face, found_in(found.type, whole))
        except (ConflictError, NotFoundError) as error:
            found = await _again(face, request, found, error)
    raise _crowded()


async def remove(face: Face, request: Request, caller: Caller, found: Found) -> None:
    client, message = face.acting(caller), _as_asked(found)
    await face.hooks.admit("DELETE", message, message)
    for _ in range(_ATTEMPTS):
        metadata = found.entry.metadata
        version = found.version if is_conditional(request) else ""
        wanted = Requests(found.indexed.kind).delete(
            metadata.name, metadata.namespace, uid=metadata.uid, version=version
        )
        try:
            await client.request(wanted.method, wanted.path, wanted.query, body=wanted.body)
            return
        except NotFoundError:
            return
        except ConflictError as error:
            found = await _again(face, request, found, error)
    raise _crowded()


async def check_seen(face: Face, request: Request, found: Found) -> None:
    """Refuses with 412 if the declaration has changed since the caller read it; status changes do not count."""
    if is_conditional(request):
        metadata = found.entry.metadata
        await face.index.await_write(metadata.name, found.version, found.type)
        check_match(request, found.version, since=face.index.declared_at(metadata.uid))


async def _again(face: Face, request: Request, found: Found, error: Exception) -> Found:
    """Reads the resource again after a conflict."""
    again = await fetch(face, found.indexed)
    if again is None or again.entry.metadata.uid != found.entry.metadata.uid:
        raise RefusalError(404, "the resource was deleted meanwhile") from error
    await check_seen(face, request, again)
    return again


def _crowded() -> RefusalError:
    return RefusalError(409, "the resource is changed too often; try again")


async def _checked_type(face: Face, wanted: Declaration) -> TypeEntry:
    resource_type = face.index.type_named(wanted.resource_type_name, wanted.resource_type_version)
    known = await face.plugins.known()
    if wanted.action_plugin:
        try:
            known.actions.get(wanted.action_plugin)
        except PluginOffError as error:
            raise RefusalError(400, str(error)) from error
        except UnknownPluginError as error:
            raise RefusalError(400, f"Unknown action plugin: {error}") from error
    elif not (resource_type and resource_type.spec.action.plugin) and wanted.resource_type_name not in known.claims:
        name = wanted.resource_type_name
        message = f"No reconciler plugin registered for resource type '{name}' and no action_plugin specified"
        raise RefusalError(400, f"{message}; known plugins: {', '.join(known.actions)}")
    if not wanted.spec:
        raise RefusalError(400, "spec is required and cannot be empty")
    if resource_type is None:
        message = f"{wanted.resource_type_name}/{wanted.resource_type_version}"
        raise RefusalError(400, f"Resource type {message} not found")
    return resource_type


async def _admitted(
    face: Face, caller: Caller, operation: str, wanted: Declaration, resource_type: TypeEntry, old: Found | None
) -> JsonObject:
    """Validates the spec, lets webhooks change it, and validates the result."""
    assert wanted.spec is not None
    await _check(caller, resource_type, wanted.spec)
    asked: JsonObject = {
        "name": wanted.name,
        "resource_type_name": resource_type.spec.name,
        "resource_type_version": resource_type.spec.version,
        "spec": wanted.spec,
    }
    spec = await face.hooks.admit(operation, asked, _as_asked(old) if old is not None else None)
    if spec is not wanted.spec:
        await _check(caller, resource_type, spec)
    return spec


def _restored(found: Found, wanted: Declaration) -> Declaration:
    """A hidden value that comes back as it was shown stands for the stored one."""
    passwords = spec_check.passwords_of(found.type)
    if wanted.spec is None or not passwords:
        return wanted
    return replace(wanted, spec=passwords.restored(wanted.spec, found.read().get("spec")))


async def _check(caller: Caller, resource_type: TypeEntry, spec: JsonObject) -> None:
    if trouble := await _in_thread(caller, lambda: _trouble(resource_type, spec)):
        raise RefusalError(400, f"{spec_check.FAILED}: {trouble}")


def _trouble(resource_type: TypeEntry, spec: JsonObject) -> str:
    """Why the spec is invalid; empty if it is valid."""
    for path, value in spec_check.passwords_of(resource_type).values(spec, ""):
        if value == HIDDEN:
            message = f'"{HIDDEN}" stands for a value that is not shown; send the value itself'
            return f"{path.removeprefix('.')}: {message}"
    return spec_check.checker_of(resource_type).settle(spec)[1]


async def _in_thread(caller: Caller, function: Callable[[], T]) -> T:
    """A large spec, or a schema of many alternatives, takes seconds to check."""
    return await in_thread(function, user=f"rest:{caller.username}")


def _as_asked(found: Found) -> JsonObject:
    return {
        "name": found.entry.metadata.name,
        "resource_type_name": found.type.spec.name,
        "resource_type_version": found.type.spec.version,
        "spec": found.read().get("spec") or {},
    }


def _object(wanted: Declaration, resource_type: TypeEntry, spec: JsonObject, number: int) -> JsonObject:
    kind = kind_of(resource_type)
    action = {"plugin": wanted.action_plugin, "config": wanted.plugin_config}
    metadata: JsonObject = {
        "name": wanted.name,
        "labels": {ID: str(number), VERSION: resource_type.spec.version},
        # Set at creation, which saves the operator a write.
        "finalizers": [FINALIZER],
    }
    if wanted.metadata:
        metadata["annotations"] = {METADATA: encode(wanted.metadata).decode()}
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": metadata,
        "spec": spec,
        "action": {name: value for name, value in action.items() if value},
    }


def _says(found: Found, wanted: Declaration, spec: JsonObject) -> bool:
    """Returns whether the resource already has this declaration."""
    obj, action = found.read(), found.entry.read_action()
    kept = (obj["metadata"].get("annotations") or {}).get(METADATA, "{}")
    return (
        obj.get("spec") == spec
        and (not wanted.action_plugin or wanted.action_plugin == action.plugin)
        and (wanted.plugin_config is None or wanted.plugin_config == action.config)
        and (wanted.metadata is None or encode(wanted.metadata).decode() == kept)
    )


def _is_there(wanted: Declaration) -> RefusalError:
    return RefusalError(409, f'Resource "{wanted.name}" of type {wanted.resource_type_name} already exists')


def _refused(error: InvalidError) -> RefusalError:
    """Maps errors that only the server finds: rules between fields, and schemas of other versions."""
    if error.causes and all(each.field.startswith("spec") or not each.field for each in error.causes):
        return RefusalError(400, f"{spec_check.FAILED}: {spec_check.described(error.causes)}")
    return refusal_of(error)


async def _seen(face: Face, found: Found) -> Found:
    await face.index.await_write(found.entry.metadata.name, found.version, found.type)
    return found
