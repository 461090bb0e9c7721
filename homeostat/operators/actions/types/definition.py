"""Makes the CustomResourceDefinition of a resource type, in the group `resources.homeostat.dev`. Pure.

    spec:    the schema of the type
    action:  {plugin, config}
    status:  the same for all types (`api.ResourceStatus`)

Types with the same name and several versions become one definition with several versions; the newest, by Kubernetes'
order of versions, is the storage version. What a server would refuse is reported by its path in the type, such as
`spec.schema.properties.size.type`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import msgspec

from homeostat.objects.crd.custom_kind import AGE_COLUMN, READY_COLUMN
from homeostat.objects.crd.definition import default_crd, validate_crd
from homeostat.objects.crd.type_schema import struct_schema
from homeostat.objects.errors import Cause, forbidden
from homeostat.objects.json import JsonObject, decode_stored, encode, has_more_values
from homeostat.objects.kind import DEFINITION, Kind
from homeostat.objects.schema.openapi import schema_of
from homeostat.operators.actions.api import GROUP, RESOURCES, ActionReference, ResourceStatus, ResourceTypeSpec
from homeostat.operators.actions.types.naming import check_names, resource_kind
from homeostat.operators.actions.types.spec_schema import PATH, spec_schema

MAX_SCHEMA_VALUES: Final = 50_000
"""Objects, arrays and other values of a schema. Larger ones would be slow in every place that reads the type."""
MANAGED_BY: Final = f"{GROUP}/resource-type"
"""A label of definitions that were made from resource types."""
_STABILITY = {"": 2, "beta": 1, "alpha": 0}
_kube_version = re.compile(r"v(\d+)(?:(alpha|beta)(\d+))?").fullmatch
_schema_path = re.compile(r"^spec\.(?:validation|versions\[\d+\]\.schema)\.openAPIV3Schema\.properties\[spec\]")
_member = re.compile(r"\.properties\[([^]]*)\]")
_COLUMNS: Final = (
    {"name": "Phase", "type": "string", "jsonPath": ".status.phase"},
    {"name": READY_COLUMN.name, "type": READY_COLUMN.type, "jsonPath": READY_COLUMN.path},
    {"name": "Next", "type": "string", "jsonPath": ".status.nextRun", "priority": 1},
    {"name": "Message", "type": "string", "jsonPath": ".status.message", "priority": 1},
    {"name": AGE_COLUMN.name, "type": AGE_COLUMN.type, "jsonPath": AGE_COLUMN.path},
)


class InvalidTypeError(Exception):
    """The type cannot become a definition; `causes` name the invalid paths."""

    reason = "InvalidType"

    def __init__(self, causes: Sequence[Cause]) -> None:
        super().__init__("; ".join(f"{each.field}: {each.message}" for each in causes))
        self.causes = tuple(causes)


def definition_of(types: Sequence[ResourceTypeSpec]) -> JsonObject:
    """The types have one name; the order of versions does not matter. Raises `InvalidTypeError`.

    A large schema takes a second, and several parts ask for the same definition, so the newest results are kept.
    """
    made = _made(msgspec.json.encode(types))
    if isinstance(made, tuple):
        raise InvalidTypeError(made)
    return decode_stored(made)


@lru_cache(32)
def _made(types: bytes) -> bytes | tuple[Cause, ...]:
    """The encoded definition, or why there is none."""
    try:
        return encode(_definition(msgspec.json.decode(types, type=list[ResourceTypeSpec])))
    except InvalidTypeError as error:
        return error.causes


def _definition(types: Sequence[ResourceTypeSpec]) -> JsonObject:
    ordered = sorted(types, key=lambda each: version_priority(resource_kind(each).version), reverse=True)
    causes = [cause for each in ordered for cause in check_names(each) + _check_size(each)]
    if causes:
        raise InvalidTypeError(causes)
    versions = []
    for at, each in enumerate(ordered):
        version, more = _version(each, is_storage=at == 0)
        versions.append(version)
        causes += more
    if causes:
        raise InvalidTypeError(causes)
    crd = _crd(resource_kind(ordered[0]), versions)
    default_crd(crd)
    if found := validate_crd(crd):
        raise InvalidTypeError([_located(each) for each in found])
    return crd


def _check_size(spec: ResourceTypeSpec) -> list[Cause]:
    if not has_more_values(spec.schema, MAX_SCHEMA_VALUES):
        return []
    return [forbidden(PATH, f"must have at most {MAX_SCHEMA_VALUES} values; split the type into several")]


def _crd(kind: Kind, versions: list[JsonObject]) -> JsonObject:
    names: JsonObject = {
        "kind": kind.kind,
        "plural": kind.plural,
        "singular": kind.singular,
        "categories": list(kind.categories),
        **({"shortNames": list(kind.short_names)} if kind.short_names else {}),
    }
    return {
        "apiVersion": DEFINITION.api_version,
        "kind": DEFINITION.kind,
        "metadata": {"name": f"{kind.plural}.{RESOURCES}", "labels": {MANAGED_BY: kind.singular}},
        "spec": {"group": RESOURCES, "names": names, "scope": "Namespaced", "versions": versions},
    }


def version_priority(version: str) -> tuple[int, int, int, str]:
    """Kubernetes' order: v2 over v1 over v1beta1 over v1alpha1, and other names last."""
    found = _kube_version(version)
    if found is None:
        return (-1, 0, 0, version)
    return (_STABILITY[found[2] or ""], int(found[1]), int(found[3] or 0), version)


def _version(spec: ResourceTypeSpec, *, is_storage: bool) -> tuple[JsonObject, list[Cause]]:
    schema, causes = spec_schema(spec.schema)
    is_required = bool(causes) or not _takes_nothing(schema)
    if not is_required:
        schema.setdefault("default", {})
    root = {
        "type": "object",
        **({"description": spec.description} if spec.description else {}),
        "properties": {
            "spec": schema,
            "action": struct_schema(ActionReference, has_defaults=False),
            "status": struct_schema(ResourceStatus, has_defaults=False),
        },
        **({"required": ["spec"]} if is_required else {}),
    }
    version: JsonObject = {
        "name": resource_kind(spec).version,
        "served": True,
        "storage": is_storage,
        "schema": {"openAPIV3Schema": root},
        "subresources": {"status": {}},
        "additionalPrinterColumns": [dict(each) for each in _COLUMNS],
    }
    return (version | {"deprecated": True} if spec.is_deprecated else version), causes


def _takes_nothing(schema: JsonObject) -> bool:
    """Returns whether an empty spec is valid, so that a resource may omit it."""
    # Imported here: most who need a definition do not need the engines of schemas and of CEL.
    from homeostat.objects.crd.schema import check_schema
    from homeostat.objects.schema.validate import Validator

    if check_schema({"type": "object", "properties": {"spec": schema}}, PATH):
        return False
    return not Validator(schema_of(schema)).check({})


def _located(cause: Cause) -> Cause:
    """Translates a path inside the definition to the path in the type's own schema."""
    inner = _schema_path.sub(PATH, cause.field)
    if inner == cause.field:
        return cause
    return Cause(cause.kind, cause.message, _member.sub(r".properties.\1", inner))
