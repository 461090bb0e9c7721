"""The schema of a kind: one node type for built-in kinds and for custom ones.

Built-in kinds come from a table (`wire/builtin_schema.py`), custom kinds from a CustomResourceDefinition
(`openapi.py`). Pruning, defaulting, unknown fields, strategic merge, server-side apply and OpenAPI all read these
nodes and know no difference between the two. Nodes may be shared and may refer to themselves; they are frozen once
built.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

UNSET = msgspec.UNSET


class Rule(msgspec.Struct, frozen=True):
    """One entry of `x-kubernetes-validations`."""

    rule: str
    message: str = ""
    message_expression: str = ""
    reason: str = ""
    field_path: str = ""
    optional_old_self: bool | None = None


class Schema(msgspec.Struct, eq=False):
    type: Literal["object", "array", "string", "integer", "number", "boolean", ""] = ""
    """Empty: any JSON value (or int-or-string, see below)."""
    format: str = ""
    nullable: bool = False
    properties: dict[str, Schema] = {}
    additional: Schema | None = None
    """Schema of a map's values (`additionalProperties`); None for a struct."""
    items: Schema | None = None
    required: tuple[str, ...] = ()
    default: Any = UNSET
    list_type: Literal["atomic", "set", "map", ""] = ""
    map_keys: tuple[str, ...] = ()
    map_type: Literal["granular", "atomic", ""] = ""
    int_or_string: bool = False
    preserve_unknown: bool = False
    embedded: bool = False
    patch_strategy: tuple[str, ...] = ()
    """Strategic merge: `merge`, `replace`, `retainKeys` (built-in kinds only)."""
    patch_merge_key: str = ""
    constraints: dict[str, Any] = {}
    """JSON Schema keywords as they stand: enum, pattern, minimum, maxLength, allOf, anyOf, oneOf, not, ..."""
    rules: tuple[Rule, ...] = ()
    omitted: frozenset[str] = frozenset()
    """Members that Go leaves out when they are zero, so that nobody can tell zero from absent (built-in kinds only)."""
    name: str = ""
    """A built-in type's name, `io.k8s.api.apps.v1.DeploymentSpec`; empty otherwise."""
    plan: Any = None
    """Cache of `default.py` for this node; nobody else reads it."""

    def field(self, name: str) -> Schema | None:
        """The schema of a member by its name; None if the schema does not have it."""
        return self.properties.get(name) or self.additional
