"""`/resource-types`: create, list, update and delete types. A write returns when the definition is established."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Final

import msgspec
from msgspec import UNSET

from homeostat.client.requests import Requests
from homeostat.edge.reply import Reply
from homeostat.edge.request import Request
from homeostat.edge.threads import in_thread
from homeostat.objects.errors import AlreadyExistsError, Cause, ConflictError, NotFoundError
from homeostat.objects.json import JsonObject, decode_stored, encode
from homeostat.operators.actions.api import ID, METADATA, RESOURCE_TYPE, ActionReference, ResourceTypeSpec
from homeostat.operators.actions.types.decide import MOST_NAMED, in_use_message
from homeostat.operators.actions.types.definition import InvalidTypeError, definition_of
from homeostat.operators.actions.types.guard import TypeGuard
from homeostat.operators.actions.types.naming import distinct_kind_name, resource_kind, type_object_name
from homeostat.operators.actions.types.spec_schema import PATH
from homeostat.web.actions.bodies import ACTIVE, DEPRECATED, type_body
from homeostat.web.actions.face import Face, check_size
from homeostat.web.actions.forms import LARGEST_PAGE, ChangedType, Forcing, NewType, TypeQuery
from homeostat.web.actions.index.entry import TYPE_STATUS, TypeEntry
from homeostat.web.actions.type_facts import kind_of
from homeostat.web.kit.callers import require
from homeostat.web.kit.etags import check_match, is_conditional, mismatch, tagged
from homeostat.web.kit.form import read_body, read_number, read_query
from homeostat.web.kit.gate import Caller
from homeostat.web.kit.pages import next_page
from homeostat.web.kit.refusal import RefusalError, unknown
from homeostat.web.kit.routing import API

IN_FORCE_WITHIN_S: Final = 10.0
_ATTEMPTS: Final = 20
_KIND = RESOURCE_TYPE.kind
_type = msgspec.json.Decoder(TypeEntry)


class Types:
    def __init__(self, face: Face) -> None:
        self._face = face
        self._guard = TypeGuard(face.client)

    async def create(self, request: Request, captured: Mapping[str, str]) -> Reply:
        await self._face.ready()
        caller = await require(self._face.gate, request, "manage_types")
        form = await read_body(request, NewType)
        spec = self._with_kind(_spec(form))
        await _check(caller, spec)
        number = await self._face.ids.take("types")
        obj = _object(form, spec, number)
        await self._guard.check("CREATE", None, obj)
        try:
            whole = await self._face.acting(caller).fetch("POST", _KIND.path(""), body=obj)
        except AlreadyExistsError as error:
            raise _is_there(spec) from error
        made = await self._in_force(_type.decode(whole))
        body = type_body(made, is_admin=caller.is_admin)
        return tagged(201, body, made.metadata.resource_version, ("Location", f"{API}/resource-types/{number}"))

    def _with_kind(self, spec: ResourceTypeSpec) -> ResourceTypeSpec:
        """Names such as `my_db` and `my-db` give the same kind: the second one gets a kind of its own."""
        index = self._face.index
        if (there := index.same_kind(spec.name, spec.version)) is not None and there.spec.name == spec.name:
            raise _is_there(spec)
        named = [each.spec for each in index.types() if each.spec.name == spec.name]
        if named:
            return msgspec.structs.replace(spec, kind=named[0].kind)
        plurals = {kind_of(each).plural for each in index.types()}
        is_taken = resource_kind(spec).plural in plurals
        return msgspec.structs.replace(spec, kind=distinct_kind_name(spec.name)) if is_taken else spec

    async def list(self, request: Request, captured: Mapping[str, str]) -> Reply:
        caller, query = await self._face.identify(request), read_query(request, TypeQuery)
        limit = min(query.limit, LARGEST_PAGE)
        bodies = [type_body(each, is_admin=caller.is_admin) for each in self._face.index.types() if each.number]
        chosen = [each for each in bodies if _is_chosen(each, query)]
        headers = next_page(request, _cursor(chosen[limit - 1])) if len(chosen) > limit else ()
        return Reply(200, encode(chosen[:limit]), headers=headers)

    async def show(self, request: Request, captured: Mapping[str, str]) -> Reply:
        caller = await self._face.identify(request)
        found = await self._fetch(read_number(captured, "id"))
        return tagged(200, type_body(found, is_admin=caller.is_admin), found.metadata.resource_version)

    async def show_named(self, request: Request, captured: Mapping[str, str]) -> Reply:
        caller = await self._face.identify(request)
        found = self._face.index.type_named(captured["name"], captured["version"])
        if found is None:
            raise unknown("Resource type not found")
        return tagged(200, type_body(found, is_admin=caller.is_admin), found.metadata.resource_version)

    async def change(self, request: Request, captured: Mapping[str, str]) -> Reply:
        """`?force=true` accepts a schema that live resources do not match."""
        await self._face.ready()
        caller = await require(self._face.gate, request, "manage_types")
        form, is_forced = await read_body(request, ChangedType), read_query(request, Forcing).force
        number = read_number(captured, "id")
        found = await self._fetch(number)
        check_match(request, found.metadata.resource_version)
        for _ in range(_ATTEMPTS):
            try:
                changed = await self._rewrite(caller, found, form, is_forced=is_forced)
            except ConflictError as error:
                if is_conditional(request):
                    raise mismatch() from error
                found = await self._fetch(number)
                continue
            changed = await self._in_force(changed)
            return tagged(200, type_body(changed, is_admin=caller.is_admin), changed.metadata.resource_version)
        raise RefusalError(409, "the resource type is changed too often; try again")

    async def delete(self, request: Request, captured: Mapping[str, str]) -> Reply:
        await self._face.ready()
        caller = await require(self._face.gate, request, "manage_types")
        found = await self._fetch(read_number(captured, "id"))
        check_match(request, found.metadata.resource_version)
        path, uid = _KIND.path("", found.metadata.name), found.metadata.uid
        self._check_unused(found)
        await self._guard.check("DELETE", await self._face.client.get(path), None)
        version = found.metadata.resource_version if is_conditional(request) else ""
        asked = Requests(_KIND).delete(found.metadata.name, uid=uid, version=version)
        with suppress(NotFoundError):
            await self._face.acting(caller).request(asked.method, asked.path, asked.query, body=asked.body)
        # The caller may create a type of the same name at once.
        await self._face.index.comes_to(lambda: self._is_gone(uid), IN_FORCE_WITHIN_S)
        return Reply(204, content_type="")

    def _check_unused(self, found: TypeEntry) -> None:
        """The server allows deleting a version while others remain; in this API a type is one version."""
        entries = (each.entry.metadata for each in self._face.index.of_type(found))
        names = [f"{each.namespace}/{each.name}" for each in entries]
        if names:
            message = in_use_message(sorted(names)[:MOST_NAMED], len(names))
            raise RefusalError(409, f"Cannot delete: resources still reference this type: {message}; delete them first")

    async def _fetch(self, number: int) -> TypeEntry:
        indexed = self._face.index.find_type(number)
        try:
            whole = await self._face.client.fetch("GET", _KIND.path("", indexed.metadata.name)) if indexed else None
        except NotFoundError:
            whole = None
        if whole is None or (found := _type.decode(whole)).number != number:
            raise unknown("Resource type not found")
        return found

    async def _rewrite(self, caller: Caller, found: TypeEntry, form: ChangedType, *, is_forced: bool) -> TypeEntry:
        path = _KIND.path("", found.metadata.name)
        old = await self._face.client.get(path)
        if old["metadata"]["resourceVersion"] != found.metadata.resource_version:
            raise ConflictError("the resource type was changed meanwhile; read it again")
        new = decode_stored(encode(old))
        _change(new, form, is_forced=is_forced)
        await _check(caller, msgspec.convert(new["spec"], ResourceTypeSpec))
        await self._guard.check("UPDATE", old, new)
        return _type.decode(await self._face.acting(caller).fetch("PUT", path, body=new))

    async def _in_force(self, written: TypeEntry) -> TypeEntry:
        """Waits until resources of the type can be created, but not for ever."""
        metadata = written.metadata
        await self._face.index.await_write(metadata.name, metadata.resource_version)
        index = self._face.index

        def settled() -> bool:
            found = index.type_named(written.spec.name, written.spec.version)
            return found is not None and found.metadata.generation >= metadata.generation and index.is_served(found)

        await index.comes_to(settled, IN_FORCE_WITHIN_S)
        found = index.type_named(written.spec.name, written.spec.version)
        return found if found is not None and found.metadata.uid == metadata.uid else written

    def _is_gone(self, uid: str) -> bool:
        return all(each.metadata.uid != uid for each in self._face.index.types())


def _spec(form: NewType) -> ResourceTypeSpec:
    return ResourceTypeSpec(
        name=form.name,
        version=form.version,
        schema=form.schema,
        description=form.description or "",
        is_deprecated=form.status == DEPRECATED,
        action=ActionReference(form.action_plugin or "", form.plugin_config or {}),
        resource_fields=form.resource_fields,
    )


async def _check(caller: Caller, spec: ResourceTypeSpec) -> None:
    check_size("schema", spec.schema)
    check_size("plugin_config", spec.action.config)
    try:
        await in_thread(lambda: definition_of([spec]), user=f"rest:{caller.username}")
    except InvalidTypeError as error:
        raise RefusalError(422, [_problem(each) for each in error.causes]) from error


def _problem(cause: Cause) -> JsonObject:
    """Reports the field of the body, which has no `spec`."""
    where = cause.field.removeprefix("spec.").split(".")
    message = f"{cause.field.removeprefix('spec.')}: {cause.message}"
    is_schema = cause.field.startswith(PATH) or where[0] not in ("name", "version")
    return {"loc": ["body", *where], "msg": f"Invalid schema: {message}" if is_schema else message, "type": cause.kind}


def _object(form: NewType, spec: ResourceTypeSpec, number: int) -> JsonObject:
    obj: JsonObject = {
        "apiVersion": _KIND.api_version,
        "kind": _KIND.kind,
        "metadata": {"name": type_object_name(form.name, form.version, spec.kind), "labels": {ID: str(number)}},
        "spec": msgspec.to_builtins(spec),
    }
    _keep(obj, metadata=form.metadata, status=form.status)
    return obj


def _change(obj: JsonObject, form: ChangedType, *, is_forced: bool) -> None:
    spec = obj["spec"]
    if form.schema is not None:
        spec |= {"schema": form.schema, "isForced": is_forced}
    if form.description is not None:
        spec["description"] = form.description
    if form.status is not None:
        spec["isDeprecated"] = form.status == DEPRECATED
    if form.action_plugin is not None:
        spec.setdefault("action", {})["plugin"] = form.action_plugin
    if form.plugin_config is not None:
        spec.setdefault("action", {})["config"] = form.plugin_config
    if form.resource_fields is not UNSET:
        spec["resourceFields"] = form.resource_fields
    _keep(obj, metadata=form.metadata, status=form.status)


def _keep(obj: JsonObject, *, metadata: JsonObject | None, status: str | None) -> None:
    annotations = obj["metadata"].setdefault("annotations", {})
    if metadata is not None:
        annotations[METADATA] = encode(metadata).decode()
    if status is not None:
        annotations.pop(TYPE_STATUS, None)
        if status not in (ACTIVE, DEPRECATED):
            annotations[TYPE_STATUS] = status


def _is_chosen(body: JsonObject, query: TypeQuery) -> bool:
    is_named = not query.name or body["name"] == query.name
    is_behind = not query.after or (body["name"], body["version"]) > tuple(query.after.rpartition("/")[::2])
    return is_named and is_behind and (not query.status or body["status"] == query.status)


def _cursor(body: JsonObject) -> str:
    return f"{body['name']}/{body['version']}"


def _is_there(spec: ResourceTypeSpec) -> RefusalError:
    return RefusalError(409, f"Resource type {spec.name}/{spec.version} already exists")
