"""What the containers of a Pod request together."""

from __future__ import annotations

from homeostat.objects.json import JsonObject
from homeostat.server.kinds.builtins.members import struct, structs, text
from homeostat.server.kinds.builtins.value import quantity_of


def requested(spec: JsonObject, name: str) -> int | None:
    """How much of a resource they need at once, in nano-units; None if none of them requests it."""
    running = [_amount(each, name) for each in structs(spec, "containers")]
    initial = [(text(each, "restartPolicy"), _amount(each, name)) for each in structs(spec, "initContainers")]
    if not any(each is not None for each in (*running, *(amount for _, amount in initial))):
        return None
    beside = most = 0
    for policy, amount in initial:
        most = max(most, beside + (amount or 0))
        beside += (amount or 0) if policy == "Always" else 0
    return max(sum(each or 0 for each in running) + beside, most)


def _amount(container: JsonObject, name: str) -> int | None:
    found = quantity_of(struct(container, "resources", "requests").get(name))
    return found.nanos if found else None
