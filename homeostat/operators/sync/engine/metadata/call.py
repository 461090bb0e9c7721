"""The request that an operation means for one resource: its method, path, query and headers. Pure.

Templates see the fields of the payload and the variables that the path gives. A relative path (`.`) is joined to the
collection's path on the server; any other is absolute below the address of the server.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import quote

from homeostat.objects.json import Json, JsonObject
from homeostat.operators.sync.engine.errors import ValidationError
from homeostat.operators.sync.engine.metadata.rules import METHODS, Operation, Rules
from homeostat.operators.sync.engine.paths.logical import name, parent, segments
from homeostat.operators.sync.engine.paths.variables import variables
from homeostat.operators.sync.engine.payload import pointer
from homeostat.operators.sync.engine.payload.format import JSON, Descriptor
from homeostat.operators.sync.engine.templates.expression import ESCAPED, SLASH
from homeostat.operators.sync.engine.templates.scope import Scope, render

_pieces = re.compile(f"({ESCAPED}|{SLASH})").split


@dataclass(frozen=True, slots=True)
class Call:
    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    is_secret: bool = False
    """Whether nobody may see its bodies."""

    @property
    def target(self) -> str:
        """The path as a URL has it."""
        return "".join(
            each if each in (SLASH, ESCAPED) else quote(each, safe="/~!$&'()*+,;=:@-._") for each in _pieces(self.path)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a resource or collection is: its logical path, and what is known of its identity on the server."""

    path: str
    is_collection: bool = False
    alias: str = ""
    remote_id: str = ""
    collection: str = ""
    """The collection's path on the server, if it is another than the logical one."""

    @property
    def logical_collection(self) -> str:
        return self.path if self.is_collection else parent(self.path)


def render_call(rules: Rules, operation: Operation, place: Place, payload: Json, form: Descriptor = JSON) -> Call:
    """`UnrenderedError` if a template needs what is not known here."""
    scope = scope_of(rules, place, payload, form)
    return Call(
        method=render(operation.method, scope).upper() or METHODS[operation.name],
        path=render_path(operation.path, str(scope.variables["remoteCollectionPath"]), scope),
        query={key: render(each, scope) for key, each in operation.query.items()},
        headers={key: render(each, scope) for key, each in operation.headers.items()},
    )


def scope_of(rules: Rules, place: Place, payload: Json = None, form: Descriptor = JSON) -> Scope:
    alias = place.alias or ("" if place.is_collection else name(place.path))
    remote_id = place.remote_id or alias
    known: JsonObject = {
        "logicalPath": place.path,
        "logicalCollectionPath": place.logical_collection,
        "payload": payload,
        "value": payload,
        "payloadType": form.type,
        "payloadMediaType": form.media,
        "payloadExtension": form.extension,
        **_descendants(rules, place),
        **variables(place.path, _template_paths(rules)),
    }
    if alias:
        known |= {"alias": alias, "remoteID": remote_id, "id": remote_id}
        known = _with_identity(known, rules, alias, remote_id)
    scope = Scope(known, payload, form)
    collection = place.collection or place.logical_collection
    if rules.remote_collection:
        collection = render_path(rules.remote_collection, "/", scope)
    return replace(scope, variables={**known, "remoteCollectionPath": collection})


def _with_identity(known: JsonObject, rules: Rules, alias: str, remote_id: str) -> JsonObject:
    """With the attributes that identities are made of: one that is a plain pointer is known without a payload."""
    for identity, value in ((rules.alias, alias), (rules.id, remote_id)):
        if identity.plain and identity.plain != "/" and pointer.get(known, identity.plain) is pointer.MISSING:
            known = pointer.put(known, identity.plain, value)
    return known


def _descendants(rules: Rules, place: Place) -> JsonObject:
    depth = rules.descendant_depth
    if depth < 0:
        return {}
    parts = segments(place.path)[depth:]
    inner = parts if place.is_collection else parts[:-1]
    return {
        "descendantPath": "".join(f"/{each}" for each in parts),
        "descendantCollectionPath": "".join(f"/{each}" for each in inner),
    }


def _template_paths(rules: Rules) -> list[str]:
    paths = [each.path for each in rules.operations.values() if "{{" in each.path]
    return [*paths, rules.remote_collection] if rules.remote_collection else paths


def render_path(template: str, base: str, scope: Scope) -> str:
    found = render(template, scope)
    if found.startswith("."):
        found = f"{base}/{found.removeprefix('.')}"
    parts = [each for each in found.split("/") if each and each != "."]
    if ".." in parts:
        raise ValidationError(f'path "{found[:200]}" of template "{template}" leads upwards; ".." is not allowed')
    return "/" + "/".join(parts)
