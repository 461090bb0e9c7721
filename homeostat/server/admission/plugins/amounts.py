"""Sums of quantities by name: what Pods request, what quotas allow. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from homeostat.objects.json import JsonObject
from homeostat.objects.quantity import Quantity
from homeostat.server.kinds.builtins.members import struct, structs, text
from homeostat.server.kinds.builtins.value import quantity_of

Amounts = dict[str, Quantity]
ZERO = Quantity(0)


def amounts_of(values: JsonObject) -> Amounts:
    """The quantities of a map; what is none is left out, since validation refuses it elsewhere."""
    return {name: found for name, value in values.items() if (found := quantity_of(value)) is not None}


def plus(one: Quantity, other: Quantity, *, sign: int = 1) -> Quantity:
    """The sum, in the notation of the first unless that is zero, as in Kubernetes."""
    return Quantity(one.nanos + sign * other.nanos, one.family if one.nanos else other.family)


def total(parts: Iterable[Mapping[str, Quantity]]) -> Amounts:
    sums: Amounts = {}
    for part in parts:
        for name, amount in part.items():
            sums[name] = plus(sums[name], amount) if name in sums else amount
    return sums


def highest(parts: Iterable[Mapping[str, Quantity]]) -> Amounts:
    found: Amounts = {}
    for part in parts:
        for name, amount in part.items():
            found[name] = max(found.get(name, amount), amount)
    return found


def pod_amounts(pod: JsonObject, kind: str) -> Amounts:
    """The requests or the limits of a whole Pod.

    Init containers run one after another before the others; those that restart always run beside them to the end.
    """
    spec = struct(pod, "spec")
    sidecars: list[Amounts] = []
    starting: list[Amounts] = []
    for container in structs(spec, "initContainers"):
        own = amounts_of(struct(container, "resources", kind))
        if text(container, "restartPolicy") == "Always":
            sidecars.append(own)
            starting.append(total(sidecars))
        else:
            starting.append(total([own, *sidecars]))
    running = [amounts_of(struct(each, "resources", kind)) for each in structs(spec, "containers")]
    found = highest([total([*running, *sidecars]), *starting])
    found |= amounts_of(struct(spec, "resources", kind))
    overhead = amounts_of(struct(spec, "overhead"))
    for name, amount in overhead.items():
        if kind == "requests" or name in found:
            found[name] = plus(found.get(name, ZERO), amount)
    return found
