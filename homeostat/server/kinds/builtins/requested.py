"""What the containers of a Pod request together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from homeostat.objects.json import JsonObject
from homeostat.server.kinds.builtins.members import struct, structs, text
from homeostat.server.kinds.builtins.value import quantity_of


def requested(spec: JsonObject) -> dict[str, int]:
    """How much of each resource they need at once, in nano-units; only of those that one of them requests."""
    running, most = Counter[str](), Counter[str]()
    for container in structs(spec, "initContainers"):
        for name, amount in _amounts(container):
            # Sidecars that started before go on.
            most[name] = max(most[name], running[name] + amount)
            if text(container, "restartPolicy") == "Always":
                running[name] += amount
    for container in structs(spec, "containers"):
        for name, amount in _amounts(container):
            running[name] += amount
    return {name: max(running[name], most[name]) for name in {**running, **most}}


def _amounts(container: JsonObject) -> Iterator[tuple[str, int]]:
    for name, value in struct(container, "resources", "requests").items():
        if found := quantity_of(value):
            yield name, found.nanos
