"""What all layers together say of a resource or collection, compiled: templates parsed, defaults put together. Pure.

One `Rules` is made for all resources with the same layers, so its cost does not grow with a collection.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from homeostat.objects.json import Json, JsonObject
from homeostat.operators.sync.engine.metadata.document import OPERATIONS
from homeostat.operators.sync.engine.metadata.externalized import Externalized, parse_externalized
from homeostat.operators.sync.engine.metadata.merge import merged
from homeostat.operators.sync.engine.metadata.step import Step, parse_step
from homeostat.operators.sync.engine.payload.format import Descriptor, by_type
from homeostat.operators.sync.engine.payload.pointer import MISSING
from homeostat.operators.sync.engine.templates.identity import Identity, parse_identity

METHODS: Final = {"get": "GET", "create": "POST", "update": "PUT", "delete": "DELETE", "list": "GET", "compare": "GET"}
ENGINE: Final[JsonObject] = {
    "resource": {"id": "/id", "alias": "/id"},
    "operations": {each: {"path": "." if each in ("create", "list") else "./{{/id}}"} for each in OPERATIONS},
}
"""The outermost layer. Methods are not part of it: an OpenAPI document may say better."""


@dataclass(frozen=True, slots=True)
class Validate:
    required: tuple[str, ...] = ()
    assertions: tuple[tuple[str, str], ...] = ()
    """Pairs of message and jq program."""
    schema: str = ""


@dataclass(frozen=True, slots=True)
class Ready:
    """When a new object counts as created: a jq program on the object, and how long to wait for it."""

    jq: str = ""
    timeout_s: int = 60


@dataclass(frozen=True, slots=True)
class Pagination:
    mode: str = "page"
    parameter: str = "page"
    size_parameter: str = ""
    size: int = 0
    cursor: str = ""


@dataclass(frozen=True, slots=True)
class Operation:
    name: str
    method: str = ""
    """Empty: the OpenAPI document or the engine decides."""
    path: str = "."
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Json = MISSING
    transforms: tuple[Step, ...] = ()
    """Those of `operations.defaults` first."""
    validate: Validate | None = None
    pagination: Pagination | None = None


@dataclass(frozen=True, slots=True)
class Rules:
    overrides: JsonObject
    """What the documents say, without the engine's own defaults."""
    id: Identity
    alias: Identity
    operations: Mapping[str, Operation]
    required: tuple[str, ...] = ()
    remote_collection: str = ""
    form: Descriptor | None = None
    defaults: JsonObject | None = None
    defaults_types: frozenset[str] = frozenset()
    is_secret: bool = False
    secret_attributes: tuple[str, ...] = ()
    externalized: tuple[Externalized, ...] = ()
    is_protected: bool = False
    """Whether a sync never deletes it."""
    changed_by: str = ""
    """Where an object says who changed it last."""
    captured: tuple[str, ...] = ()
    """Attributes that the server returns at creation only; they are stored in the secret store."""
    ready: Ready | None = None
    descendant_depth: int = -1
    """How many segments the collection has whose rules hold for all below it; -1 for none."""

    @property
    def has_one_identity(self) -> bool:
        """Whether id and alias are made the same way."""
        return self.id.pieces == self.alias.pieces

    @property
    def document(self) -> JsonObject:
        return merged(ENGINE, self.overrides)


def compile_rules(
    overrides: JsonObject, *, defaults: JsonObject | None, defaults_types: frozenset[str], descendant_depth: int
) -> Rules:
    document = merged(ENGINE, overrides)
    resource, operations = document["resource"], document["operations"]
    first = tuple(parse_step(each) for each in operations.get("defaults", {}).get("transforms", ()))
    form = resource.get("format", "any")
    return Rules(
        overrides=overrides,
        id=parse_identity(resource["id"]),
        alias=parse_identity(resource["alias"]),
        operations={each: _operation(each, operations.get(each, {}), first) for each in OPERATIONS},
        required=tuple(resource.get("requiredAttributes", ())),
        remote_collection=resource.get("remoteCollectionPath", ""),
        form=None if form == "any" else by_type(form),
        defaults=defaults,
        defaults_types=defaults_types,
        is_secret=bool(resource.get("secret")),
        secret_attributes=tuple(resource.get("secretAttributes", ())),
        externalized=parse_externalized(resource.get("externalizedAttributes", ())),
        is_protected=bool(resource.get("protected")),
        changed_by=resource.get("changedBy", ""),
        captured=tuple(resource.get("capturedAttributes", ())),
        ready=_ready(resource["ready"]) if resource.get("ready") else None,
        descendant_depth=descendant_depth,
    )


def _ready(value: JsonObject) -> Ready:
    return Ready(value.get("jq", ""), value.get("timeoutSeconds", 60))


def _operation(name: str, value: JsonObject, first: tuple[Step, ...]) -> Operation:
    validate, pagination = value.get("validate"), value.get("pagination")
    return Operation(
        name=name,
        method=value.get("method", "").upper(),
        path=value.get("path", "."),
        query=value.get("query", {}),
        headers=value.get("headers", {}),
        body=value.get("body", MISSING),
        transforms=(*first, *(parse_step(each) for each in value.get("transforms", ()))),
        validate=_validate(validate) if validate else None,
        pagination=_pagination(pagination) if pagination else None,
    )


def _validate(value: JsonObject) -> Validate:
    assertions = tuple((each.get("message", ""), each["jq"]) for each in value.get("assertions", ()) if "jq" in each)
    return Validate(tuple(value.get("requiredAttributes", ())), assertions, value.get("schemaRef", ""))


def _pagination(value: JsonObject) -> Pagination:
    mode = value.get("mode", "page")
    names = {"page": "page", "offset": "offset", "cursor": "cursor"}
    return Pagination(
        mode=mode,
        parameter=value.get("parameter", names[mode]),
        size_parameter=value.get("sizeParameter", "limit" if value.get("size") and mode != "page" else ""),
        size=value.get("size", 0),
        cursor=value.get("cursor", "/next"),
    )
