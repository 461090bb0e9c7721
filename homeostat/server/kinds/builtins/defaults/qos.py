"""The quality-of-service class of a Pod, which Kubernetes derives from its containers' resources. Pure."""

from __future__ import annotations

from typing import Final

from homeostat.objects.json import JsonObject
from homeostat.objects.quantity import Quantity, QuantityError
from homeostat.server.kinds.builtins.members import struct, structs

_COUNTED: Final = ("cpu", "memory")


def qos_class(pod: JsonObject) -> str:
    """`Guaranteed` if every container's CPU and memory are limited to what it requests, `BestEffort` if no container
    names any, otherwise `Burstable`.
    """
    spec = struct(pod, "spec")
    # Resources of the pod as a whole count instead of those of its containers, even if they are empty.
    is_whole = isinstance(spec.get("resources"), dict)
    holders = [spec] if is_whole else [*structs(spec, "containers"), *structs(spec, "initContainers")]
    amounts = [(_amounts(each, "requests"), _amounts(each, "limits")) for each in holders]
    if not any(requests or limits for requests, limits in amounts):
        return "BestEffort"
    if all(len(limits) == len(_COUNTED) and requests == limits for requests, limits in amounts):
        return "Guaranteed"
    return "Burstable"


def _amounts(container: JsonObject, name: str) -> dict[str, Quantity]:
    found = {}
    for resource, amount in struct(container, "resources", name).items():
        if resource in _COUNTED and (read := _quantity(str(amount))):
            found[resource] = read
    return found


def _quantity(text: str) -> Quantity | None:
    """None for what is no quantity, which is refused elsewhere."""
    try:
        return Quantity.parse(text)
    except QuantityError:
        return None
