"""OpenAPI v2: paths and definitions of version 2, derived from those of version 3.

Version 2 cannot express alternatives, null and defaults as version 3 does, so they are left out, as Kubernetes leaves
them out: kubectl checks objects by these schemas, and a schema that is too loose leaves the check to the server.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, Literal, NamedTuple

from homeostat.objects.json import JsonObject, encode
from homeostat.server.discovery import openapi_wire
from homeostat.server.discovery.openapi_paths import paths_of
from homeostat.server.discovery.openapi_schemas import schema_name, schemas_of
from homeostat.server.kinds.registry import Kind

Form = Literal["json", "protobuf"]

INFO: Final = {"title": "Kubernetes", "version": "unversioned"}
SECURITY: Final = {"BearerToken": {"type": "apiKey", "name": "authorization", "in": "header"}}
_V3_REF, _V2_REF = "#/components/schemas/", "#/definitions/"
_DROPPED: Final = frozenset({"default", "nullable", "oneOf", "anyOf", "not", "allOf", "example", "externalDocs"})
_PRESERVES: Final = "x-kubernetes-preserve-unknown-fields"
_EMBEDDED: Final = "x-kubernetes-embedded-resource"
_METHODS: Final = ("get", "put", "post", "delete", "patch")


class Piece(NamedTuple):
    """What the kinds of one group and version add to the document, encoded."""

    paths: bytes
    definitions: dict[str, bytes]


def piece_of(kinds: list[Kind], further: Iterable[tuple[str, str, str]], form: Form) -> Piece:
    group, version = kinds[0].group, kinds[0].version
    custom = {schema_name(group, version, kind.kind) for kind in kinds if kind.custom}
    paths = {path: path_item(item) for path, item in paths_of(group, version, kinds).items()}
    schemas = {
        name: custom_definition(schema) if name in custom else definition(schema)
        for name, schema in schemas_of(kinds, further).items()
    }
    if form == "json":
        return Piece(_members(paths), {name: encode(schema) for name, schema in schemas.items()})
    named = {name: openapi_wire.named_definition(name, schema) for name, schema in schemas.items()}
    return Piece(openapi_wire.paths(paths), named)


def whole_document(pieces: Iterable[Piece], form: Form) -> bytes:
    """Types that several groups use are in it once."""
    paths, definitions = [], dict[str, bytes]()
    for piece in pieces:
        paths.append(piece.paths)
        for name, encoded in piece.definitions.items():
            definitions.setdefault(name, encoded)
    if form == "protobuf":
        head = openapi_wire.head(INFO, SECURITY)
        return b"".join((head, *paths, openapi_wire.definitions(definitions.values())))
    named = b",".join(encode(name) + b":" + definitions[name] for name in sorted(definitions))
    security = encode({"securityDefinitions": SECURITY, "security": [{name: [] for name in SECURITY}]})
    return b"".join(
        (
            b'{"swagger":"2.0","info":',
            encode(INFO),
            b',"paths":{',
            b",".join(paths),
            b'},"definitions":{',
            named,
            b"},",
            security[1:],
        )
    )


def _members(members: JsonObject) -> bytes:
    return b",".join(encode(name) + b":" + encode(value) for name, value in members.items())


def definition(schema: JsonObject) -> JsonObject:
    """A schema of version 3 in version 2; `x-kubernetes-` extensions stay."""
    found = {name: value for name, value in schema.items() if name not in _DROPPED}
    if ref := _only_reference(schema):
        return {"$ref": _reference(ref), **_told(schema)}
    if schema.get("oneOf") and "type" not in schema:
        # A quantity, a number or text: texts in version 2.
        found["type"] = "string"
    is_loose = bool(schema.get(_PRESERVES))
    if schema.get("nullable") or is_loose:
        # kubectl refuses members of a schema that it cannot name.
        for name in ("items", "properties", *(("required",) if schema.get(_EMBEDDED) else ())):
            found.pop(name, None)
    if schema.get("nullable") or (is_loose and schema.get("type") == "object"):
        found.pop("type", None)
    _convert_members(found, schema)
    if found.get("type") == "array" and "items" not in found:
        del found["type"]
    return found


def custom_definition(schema: JsonObject) -> JsonObject:
    """The schema of a custom kind itself: nothing but its type if it takes any field."""
    if not schema.get(_PRESERVES):
        return definition(schema)
    return {"type": "object", **{name: each for name, each in schema.items() if name.endswith("group-version-kind")}}


def path_item(item: JsonObject) -> JsonObject:
    """The operations of a path of version 3 in version 2."""
    found: JsonObject = {name: _operation(item[name]) for name in _METHODS if name in item}
    if parameters := item.get("parameters"):
        found["parameters"] = [_parameter(each) for each in parameters]
    return found


def _convert_members(found: JsonObject, schema: JsonObject) -> None:
    if "$ref" in found:
        found["$ref"] = _reference(found["$ref"])
    if isinstance(items := found.get("items"), dict):
        found["items"] = definition(items)
    if isinstance(further := found.get("additionalProperties"), dict):
        found["additionalProperties"] = definition(further)
    properties = found.get("properties")
    if isinstance(properties, dict):
        found["properties"] = {name: definition(each) for name, each in properties.items()}
    nullable = {name for name, each in (schema.get("properties") or {}).items() if each.get("nullable")}
    if nullable and (required := schema.get("required")):
        left = [name for name in required if name not in nullable]
        found |= {"required": left}
        if not left:
            del found["required"]


def _only_reference(schema: JsonObject) -> str:
    match schema.get("allOf"):
        case [{"$ref": str(ref)}]:
            return ref
    return ""


def _told(schema: JsonObject) -> JsonObject:
    return {name: each for name, each in schema.items() if name == "description" or name.startswith("x-")}


def _reference(ref: str) -> str:
    return ref.replace(_V3_REF, _V2_REF)


def _operation(operation: JsonObject) -> JsonObject:
    body, responses = operation.get("requestBody"), operation["responses"]
    parameters = [_parameter(each) for each in operation.get("parameters", ())]
    if body is not None:
        schema = next(iter(body["content"].values()))["schema"]
        taken = {"required": True} if body.get("required") else {}
        parameters.insert(0, {"name": "body", "in": "body", **taken, "schema": definition(schema)})
    return {
        "tags": operation["tags"],
        "operationId": operation["operationId"],
        "consumes": list(body["content"]) if body else ["*/*"],
        "produces": _produced(responses.values()),
        "schemes": ["https"],
        **({"parameters": parameters} if parameters else {}),
        "responses": {code: _response(each) for code, each in responses.items()},
        **{name: value for name, value in operation.items() if name.startswith("x-")},
    }


def _produced(responses: Iterable[Any]) -> list[str]:
    return list(dict.fromkeys(each for response in responses for each in response["content"]))


def _response(response: JsonObject) -> JsonObject:
    schema = next(iter(response["content"].values()))["schema"]
    return {"description": response["description"], "schema": definition(schema)}


def _parameter(parameter: JsonObject) -> JsonObject:
    return {**{name: value for name, value in parameter.items() if name != "schema"}, **parameter["schema"]}
