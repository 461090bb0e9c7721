"""Which objects a controller owns, which it adopts and which it releases, by its selector. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, NamedTuple, Protocol, TypeVar

from homeostat.objects.declared import owner_reference
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import Kind
from homeostat.objects.selectors import LabelSelector
from homeostat.operators.workloads.api import Meta


class HasMeta(Protocol):
    @property
    def metadata(self) -> Meta: ...


V = TypeVar("V", bound=HasMeta)


class Claim(NamedTuple, Generic[V]):
    owned: list[V]
    """With those to adopt."""
    adopted: list[V]
    released: list[V]


def claim(
    owner: Meta, selector: LabelSelector, candidates: Iterable[V], *, adopts: Callable[[V], bool] = lambda _: True
) -> Claim[V]:
    """A terminating owner adopts and releases nothing; a terminating object is neither adopted nor released. Of the
    orphans that match, only those that `adopts` accepts are taken.
    """
    found: Claim[V] = Claim([], [], [])
    for each in candidates:
        meta = each.metadata
        controller = meta.controller
        if controller is not None:
            if controller.uid != owner.uid:
                continue
            if selector.matches(meta.labels):
                found.owned.append(each)
            elif not meta.is_terminating and not owner.is_terminating:
                found.released.append(each)
        elif meta.is_terminating or owner.is_terminating:
            continue
        elif selector.matches(meta.labels) and adopts(each):
            found.owned.append(each)
            found.adopted.append(each)
    return found


def adoption(kind: Kind, owner: Meta, adopted: Meta) -> JsonObject:
    """The patch that makes the owner the controller; refused if the object has changed meanwhile."""
    references = [*(each.reference for each in adopted.owner_references), owner_reference(kind, owner)]
    return {
        "metadata": {"uid": adopted.uid, "resourceVersion": adopted.resource_version, "ownerReferences": references}
    }


def release(owner: Meta, released: Meta) -> JsonObject:
    others = [each.reference for each in released.owner_references if each.uid != owner.uid]
    return {"metadata": {"uid": released.uid, "resourceVersion": released.resource_version, "ownerReferences": others}}
