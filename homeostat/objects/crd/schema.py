"""Validation of the `openAPIV3Schema` of a CustomResourceDefinition.

The order: JSON types, structure, defaults against the structure, each keyword, and last the rules, which can only be
compiled against a valid schema, and the defaults against the rules.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from homeostat.objects.errors import Cause, forbidden, invalid
from homeostat.objects.json import Json
from homeostat.objects.schema.cost import Validation
from homeostat.objects.schema.explain import explain
from homeostat.objects.schema.keywords import check_form, check_keywords
from homeostat.objects.schema.openapi import schema_of
from homeostat.objects.schema.prune import unknown_fields
from homeostat.objects.schema.rules.check import check_rules
from homeostat.objects.schema.schema import UNSET, Schema
from homeostat.objects.schema.structural import check_structure

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
        message = 'only "object" is allowed as the type at the root of the schema if the status subresource is enabled'
        return [invalid(f"{path}.type", raw["type"], message)]
    extra = sorted(word for word, value in raw.items() if value not in (None, "", False) and word not in _WITH_STATUS)
    if not extra:
        return []
    allowed = " ".join(_WITH_STATUS)
    message = f"only [{allowed}] fields are allowed at the root of the schema if the status subresource is enabled"
    return [invalid(path, extra, message)]


def _check_defaults(schema: Schema, path: str) -> list[Cause]:
    """All defaults of a schema share the steps of one validation."""
    causes: list[Cause] = []
    run = Validation()
    for node, where in _defaults(schema, path):
        if unknown_fields({"default": node.default}, Schema(properties={"default": node})):
            causes.append(invalid(where, node.default, "must not have unknown fields"))
        # That of the root is a whole object.
        checked = msgspec.structs.replace(node, embedded=True) if node is schema else node
        causes += explain(node.default, checked, path=where, run=run)
    return causes


def _check_ruled_defaults(schema: Schema, path: str) -> list[Cause]:
    ruled = [(node, where) for node, where in _defaults(schema, path) if _has_rules(node)]
    if not ruled:
        return []
    # The language is only loaded for schemas that have rules.
    from homeostat.cel import Budget
    from homeostat.objects.schema.rules.evaluate import check_default

    budget = Budget()
    return [cause for node, where in ruled for cause in check_default(node, where, budget)]


def _defaults(node: Schema, path: str) -> Iterator[tuple[Schema, str]]:
    """The nodes that have a default, each with the path of that."""
    if node.default is not UNSET:
        yield node, f"{path}.default"
    if node.items is not None:
        yield from _defaults(node.items, f"{path}.items")
    for name, member in node.properties.items():
        yield from _defaults(member, f"{path}.properties[{name}]")


def _has_rules(node: Schema) -> bool:
    below = [*node.properties.values(), node.items, node.additional]
    return bool(node.rules) or any(_has_rules(each) for each in below if each is not None)
