"""Finds live resources that a changed schema would refuse. Pure.

Each resource is checked as a server does it: defaults are applied, unknown fields are pruned, the rest is validated.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from typing import NamedTuple

from homeostat.objects.errors import Cause
from homeostat.objects.json import JsonObject
from homeostat.objects.schema.default import apply_defaults
from homeostat.objects.schema.openapi import schema_of
from homeostat.objects.schema.prune import prune


class IncompatibleResource(NamedTuple):
    namespace: str
    name: str
    causes: tuple[Cause, ...]

    def __str__(self) -> str:
        message = "; ".join(f"{each.field}: {each.message}" for each in self.causes[:3])
        return f"{self.namespace}/{self.name}: {message}"


def incompatible_resources(
    definition: JsonObject, resources: Iterable[JsonObject], *, version: str = ""
) -> list[IncompatibleResource]:
    """Validates against `version`; default: the storage version."""
    # Imported here: what the operator decides about types is also shown where no resource is validated.
    from homeostat.objects.schema.validate import Validator

    wanted = next(
        each for each in definition["spec"]["versions"] if (each["name"] == version if version else each["storage"])
    )
    root = schema_of(wanted["schema"]["openAPIV3Schema"])
    # The operator writes the status, so users cannot correct it.
    root.properties = {name: node for name, node in root.properties.items() if name != "status"}
    validator = Validator(root)
    found = []
    for each in resources:
        declared = deepcopy({word: value for word, value in each.items() if word in ("spec", "action")})
        prune(declared, root)
        apply_defaults(declared, root)
        if causes := validator.check(declared):
            metadata = each.get("metadata") or {}
            found.append(IncompatibleResource(metadata.get("namespace", ""), metadata.get("name", ""), tuple(causes)))
    return found
