"""A custom kind, declared by the types that its operator works with, and the CustomResourceDefinition made from them.

    class GreetingSpec(msgspec.Struct, frozen=True, rename="camel"):
        text: Annotated[str, Meta(min_length=1, max_length=64, description="What to say.")]
        times: Annotated[int, Meta(ge=1, le=10)] = 1

    GREETING = CustomKind(
        Kind("example.dev", "v1", "greetings", "Greeting", is_namespaced=True, short_names=("gr",)),
        spec=GreetingSpec,
        columns=(Column("Text", ".spec.text"), READY_COLUMN, AGE_COLUMN),
    )

`type_schema.py` turns types into schemas. `definition` is complete, as a server would return it, and equal at every
call. It has passed the validation of a server: a definition that an API server would reject is a `ValueError` here.
Pure.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from homeostat.objects.conditions import Condition
from homeostat.objects.crd.field_meta import RULES, keyed, written_rules
from homeostat.objects.crd.type_default import whole_default
from homeostat.objects.crd.type_schema import struct_schema
from homeostat.objects.json import JsonObject, decode_stored, encode
from homeostat.objects.kind import DEFINITION, Kind
from homeostat.objects.schema.schema import Rule

_CONDITION = {
    "description": "One condition of the object.",
    "required": ["lastTransitionTime", "message", "reason"],
    "properties": {
        "type": {
            "description": "The type of the condition, in CamelCase, optionally with a domain: example.dev/CamelCase.",
            "maxLength": 316,
            "pattern": r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
            r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
        },
        "status": {"description": "The status of the condition."},
        "reason": {
            "description": "The reason, in one CamelCase word, for programs.",
            "minLength": 1,
            "maxLength": 1024,
            "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
        },
        "message": {"description": "The reason in words, for people; may be empty.", "maxLength": 32768},
        "lastTransitionTime": {"description": "When the status last changed.", "format": "date-time"},
        "observedGeneration": {"description": "The metadata.generation that the condition was set for.", "minimum": 0},
    },
}
Conditions = Annotated[
    tuple[Condition, ...],
    keyed("type"),
    Meta(description="The conditions of the object, one of each type.", extra_json_schema={"items": _CONDITION}),
]
"""The list of `metav1.Condition`, with the validation of apimachinery."""


class Status(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The last observed state of the object."""

    conditions: Conditions = ()
    observed_generation: Annotated[int, Meta(ge=0, description="The metadata.generation that was last reconciled.")] = 0


class Column(msgspec.Struct, frozen=True):
    """A column of `kubectl get`; above priority 0 it shows with `-o wide` only."""

    name: str
    path: str
    type: Literal["boolean", "date", "integer", "number", "string"] = "string"
    format: str = ""
    description: str = ""
    priority: int = 0


READY_COLUMN = Column("Ready", '.status.conditions[?(@.type=="Ready")].status')
AGE_COLUMN = Column("Age", ".metadata.creationTimestamp", "date")


class Scale(msgspec.Struct, frozen=True):
    """The paths of the scale subresource: `.spec.replicas`."""

    replicas: str
    observed_replicas: str
    selector: str = ""


class CustomKind(msgspec.Struct, frozen=True):
    kind: Kind
    spec: type[msgspec.Struct]
    status: type[msgspec.Struct] | None = Status
    """None for a kind without status: it gets no status subresource."""
    columns: tuple[Column, ...] = ()
    rules: tuple[Rule, ...] = ()
    """Over the whole object: `self.spec.text != self.metadata.name`."""
    description: str = ""
    scale: Scale | None = None
    selectable: tuple[str, ...] = ()
    """Paths of fields that a field selector may name: `.spec.text`."""
    is_guarded: bool = False
    """Whether the operator validates writes as an admission webhook (`Setup.guard`)."""
    read_by: Literal["view", "edit", "nobody"] = "view"
    """The least of Kubernetes' default roles that reads objects: `edit` if they may hold passwords, as for Secrets."""
    written_by: Literal["edit", "nobody"] = "edit"
    """The least default role that writes objects; no default role writes those of a cluster-scoped kind."""

    def schema(self) -> JsonObject:
        """Every object has a spec: it is required if one of its fields is, and defaulted otherwise."""
        spec = struct_schema(self.spec)
        is_required = "required" in spec
        properties = {"spec": spec if is_required else {**spec, "default": whole_default({}, spec)}}
        if self.status is not None:
            properties["status"] = struct_schema(self.status, has_defaults=False)
        return {
            **({"description": self.description} if self.description else {}),
            "type": "object",
            "properties": properties,
            **({"required": ["spec"]} if is_required else {}),
            **({RULES: written_rules(self.rules)} if self.rules else {}),
        }

    def definition(self) -> JsonObject:
        return decode_stored(_encoded_definition(self))

    def _make_definition(self) -> JsonObject:
        from homeostat.objects.crd.definition import default_crd, validate_crd

        kind = self.kind
        crd: JsonObject = {
            "apiVersion": DEFINITION.api_version,
            "kind": DEFINITION.kind,
            "metadata": {"name": f"{kind.plural}.{kind.group}"},
            "spec": {
                "group": kind.group,
                "names": _names(kind),
                "scope": "Namespaced" if kind.is_namespaced else "Cluster",
                "versions": [self._version()],
            },
        }
        default_crd(crd)
        if causes := validate_crd(crd):
            message = "; ".join(f"{each.field}: {each.message}" for each in causes)
            raise ValueError(f"the definition of {kind.title} is invalid: {message}")
        return crd

    def _version(self) -> JsonObject:
        subresources: JsonObject = {} if self.status is None else {"status": {}}
        if self.scale is not None:
            subresources["scale"] = _scale(self.scale)
        return {
            "name": self.kind.version,
            "served": True,
            "storage": True,
            "schema": {"openAPIV3Schema": self.schema()},
            **({"subresources": subresources} if subresources else {}),
            **({"additionalPrinterColumns": [_column(each) for each in self.columns]} if self.columns else {}),
            **({"selectableFields": [{"jsonPath": each} for each in self.selectable]} if self.selectable else {}),
        }


@cache
def _encoded_definition(kind: CustomKind) -> bytes:
    """Once for a kind: it takes milliseconds to make and to validate."""
    return encode(kind._make_definition())


def _names(kind: Kind) -> JsonObject:
    names: JsonObject = {"plural": kind.plural, "singular": kind.singular, "kind": kind.kind}
    if kind.short_names:
        names["shortNames"] = list(kind.short_names)
    if kind.categories:
        names["categories"] = list(kind.categories)
    return names


def _column(column: Column) -> JsonObject:
    more = {"format": column.format, "description": column.description, "priority": column.priority}
    return {
        "name": column.name,
        "type": column.type,
        "jsonPath": column.path,
        **{word: value for word, value in more.items() if value},
    }


def _scale(scale: Scale) -> JsonObject:
    paths = {"specReplicasPath": scale.replicas, "statusReplicasPath": scale.observed_replicas}
    return {**paths, "labelSelectorPath": scale.selector} if scale.selector else paths
