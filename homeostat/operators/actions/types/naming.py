"""Derives the kind, plural and version on the Kubernetes API from the name and version of a resource type. Pure.

DatabaseCluster  v1     ->  kind DatabaseCluster, databaseclusters, v1
database-policy  2.1    ->  kind DatabasePolicy, databasepolicies, v2-1
"""

from __future__ import annotations

import hashlib
import re

from homeostat.objects.errors import Cause, invalid
from homeostat.objects.identifiers import dns1035_label
from homeostat.objects.kind import Kind
from homeostat.operators.actions.api import RESOURCES, ResourceTypeSpec

_SIBILANTS = ("s", "x", "z", "ch", "sh")
_VOWELS = "aeiou"
_apart = re.compile(r"[-_. ]+").split


def kind_name(name: str) -> str:
    """`database-cluster` and `database_cluster` become `DatabaseCluster`; the name of a kind stays as it is."""
    return "".join(each[0].upper() + each[1:] for each in _apart(name) if each)


def plural_of(kind: str) -> str:
    word = kind.lower()
    if word.endswith(_SIBILANTS):
        return f"{word}es"
    if word.endswith("y") and word[-2:-1] not in _VOWELS:
        return f"{word[:-1]}ies"
    return f"{word}s"


def version_name(version: str) -> str:
    text = version.lower().replace(".", "-").replace("_", "-")
    return f"v{text}" if text[:1].isdigit() else text


def kind_of_type(spec: ResourceTypeSpec) -> str:
    return spec.kind or kind_name(spec.name)


def distinct_kind_name(name: str) -> str:
    """A kind that names differing only in separators or capitals do not share: `MyDbX1f2e3d4c`."""
    return f"{kind_name(name)}X{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def resource_kind(spec: ResourceTypeSpec) -> Kind:
    kind = kind_of_type(spec)
    return Kind(
        RESOURCES,
        version_name(spec.version),
        spec.plural or plural_of(kind),
        kind,
        is_namespaced=True,
        singular=kind.lower(),
        short_names=spec.short_names,
        categories=("resources",),
    )


def type_object_name(name: str, version: str, kind: str = "") -> str:
    """Returns the default object name of a ResourceType: `databasecluster-v1`."""
    return f"{(kind or kind_name(name)).lower()}-{version_name(version)}"


def check_names(spec: ResourceTypeSpec) -> list[Cause]:
    """Returns the invalid names, by the field of the type that they derive from."""
    kind = resource_kind(spec)
    derived = {"name": (spec.name, kind.kind.lower()), "version": (spec.version, kind.version)}
    derived["plural"] = (spec.plural or spec.name, kind.plural)
    if spec.kind:
        derived["kind"] = (spec.kind, kind.kind.lower())
    causes = []
    for field, (given, name) in derived.items():
        if messages := dns1035_label(name):
            causes.append(invalid(f"spec.{field}", given, f'the derived name "{name}" is invalid: {messages[0]}'))
    for at, each in enumerate(spec.short_names):
        if messages := dns1035_label(each):
            causes.append(invalid(f"spec.shortNames[{at}]", each, messages[0]))
    return causes
