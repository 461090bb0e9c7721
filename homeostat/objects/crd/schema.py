"""Validation of the `openAPIV3Schema` of a CustomResourceDefinition.

The order: JSON types, structure, defaults against the structure, each keyword, and last the rules, which can only be
compiled against a valid schema, and the defaults against the rules.
"""

from __future__ import annotations

from homeostat.objects.errors import Cause, forbidden, invalid
from homeostat.objects.json import Json
from homeostat.objects.schema.explain import explain
from homeostat.objects.schema.keywords import check_form, check_keywords
from homeostat.objects.schema.prune import unknown_fields
from homeostat.objects.schema.rules.check import check_rules
from homeostat.objects.schema.schema import UNSET, Schema
from homeostat.objects.schema.structural import schema_of
from homeostat.objects.schema.structure import check_structure

_WITH_STATUS = (
    *("description", "type", "format", "title", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum"),
    *("maxLength", "minLength", "pattern", "maxItems", "minItems", "uniqueItems", "multipleOf", "required", "items"),
    *("properties", "externalDocs", "example", "x-kubernetes-preserve-unknown-fields", "x-kubernetes-validations"),
)


def check_schema(raw: Json, path: str, *, has_status: bool = False) -> list[Cause]:
    """`has_status`: the version has the status subresource, whose schema is cut out of the root's properties."""
    causes = check_form(raw, path)
    if causes:
        return causes
    if has_status:
        causes += _check_root_with_status(raw, path)
    if raw.get("nullable"):
        causes.append(forbidden(f"{path}.nullable", "nullable cannot be true at the root"))
    structure = check_structure(raw, path)
    schema = schema_of(raw)
    causes += structure or _check_defaults(schema, path)
    causes += check_keywords(raw, path)
    return causes or check_rules(schema, path) or _check_ruled_defaults(schema, path)


def _check_root_with_status(raw: dict[str, Json], path: str) -> list[Cause]:
    if raw.get("type") not in (None, "object"):
        told = 'only "object" is allowed as the type at the root of the schema if the status subresource is enabled'
        return [invalid(f"{path}.type", raw["type"], told)]
    extra = sorted(word for word, value in raw.items() if value not in (None, "", False) and word not in _WITH_STATUS)
    if not extra:
        return []
    allowed = " ".join(_WITH_STATUS)
    told = f"only [{allowed}] fields are allowed at the root of the schema if the status subresource is enabled"
    return [invalid(path, extra, told)]


def _check_defaults(node: Schema, path: str) -> list[Cause]:
    causes: list[Cause] = []
    if node.default is not UNSET:
        where = f"{path}.default"
        if unknown_fields({"default": node.default}, Schema(properties={"default": node})):
            causes.append(invalid(where, node.default, "must not have unknown fields"))
        causes += explain(node.default, node, path=where)
    if node.items is not None:
        causes += _check_defaults(node.items, f"{path}.items")
    for name, member in node.properties.items():
        causes += _check_defaults(member, f"{path}.properties[{name}]")
    return causes


def _check_ruled_defaults(node: Schema, path: str) -> list[Cause]:
    causes: list[Cause] = []
    if node.default is not UNSET and _has_rules(node):
        # The language is only loaded for schemas that have rules.
        from homeostat.objects.schema.rules.evaluate import check_default

        causes += check_default(node, f"{path}.default")
    if node.items is not None:
        causes += _check_ruled_defaults(node.items, f"{path}.items")
    for name, member in node.properties.items():
        causes += _check_ruled_defaults(member, f"{path}.properties[{name}]")
    return causes


def _has_rules(node: Schema) -> bool:
    below = [*node.properties.values(), node.items, node.additional]
    return bool(node.rules) or any(_has_rules(each) for each in below if each is not None)
