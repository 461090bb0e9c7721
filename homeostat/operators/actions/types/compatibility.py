"""Which live resources a changed schema would no longer let in. Pure.

Each is taken as a server takes it: defaults are filled in, unknown members are dropped, and what is left is validated.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from typing import NamedTuple

from homeostat.objects.errors import Cause
from homeostat.objects.json import JsonObject
from homeostat.objects.schema.default import apply_defaults
from homeostat.objects.schema.prune import prune
from homeostat.objects.schema.structural import schema_of
from homeostat.objects.schema.validate import Validator


class IncompatibleResource(NamedTuple):
    namespace: str
    name: str
    causes: tuple[Cause, ...]

    def __str__(self) -> str:
        told = "; ".join(f"{each.field}: {each.message}" for each in self.causes[:3])
        return f"{self.namespace}/{self.name}: {told}"


def misfits(
    definition: JsonObject, resources: Iterable[JsonObject], *, version: str = ""
) -> list[IncompatibleResource]:
    """`version` is the one that they are held to; unless given, the one that is stored."""
    wanted = next(
        each for each in definition["spec"]["versions"] if (each["name"] == version if version else each["storage"])
    )
    root = schema_of(wanted["schema"]["openAPIV3Schema"])
    # What the operator itself writes is not the user's to put right.
    root.properties = {name: node for name, node in root.properties.items() if name != "status"}
    validator = Validator(root)
    found = []
    for each in resources:
        held = deepcopy({word: value for word, value in each.items() if word in ("spec", "action")})
        prune(held, root)
        apply_defaults(held, root)
        if causes := validator.check(held):
            metadata = each.get("metadata") or {}
            found.append(IncompatibleResource(metadata.get("namespace", ""), metadata.get("name", ""), tuple(causes)))
    return found
