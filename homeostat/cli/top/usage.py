"""CPU and memory as `metrics.k8s.io` reports them, and as people read them. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from homeostat.objects.json import JsonObject
from homeostat.objects.quantity import Quantity, QuantityError

_NONE = Quantity(0)
_MILLI_NANOS = 10**6
_MEBI_NANOS = (1 << 20) * 10**9


class Usage(NamedTuple):
    cpu: Quantity = _NONE
    memory: Quantity = _NONE

    @property
    def cpu_text(self) -> str:
        """Thousandths of a core, rounded up as kubectl does: `50m`."""
        return f"{-(-self.cpu.nanos // _MILLI_NANOS)}m"

    @property
    def memory_text(self) -> str:
        """Whole mebibytes: `64Mi`."""
        return f"{self.memory.nanos // _MEBI_NANOS}Mi"


def usage_of(amounts: JsonObject) -> Usage:
    """An amount that is missing or unreadable counts as none."""
    return Usage(_amount(amounts.get("cpu")), _amount(amounts.get("memory")))


def total(usages: Iterable[Usage]) -> Usage:
    found = Usage()
    for each in usages:
        found = Usage(found.cpu + each.cpu, found.memory + each.memory)
    return found


def percent(used: Quantity, allocatable: Quantity) -> str:
    return f"{100 * used.nanos // allocatable.nanos}%" if allocatable else "<unknown>"


def _amount(text: object) -> Quantity:
    try:
        return Quantity.parse(str(text)) if text is not None else _NONE
    except QuantityError:
        return _NONE
