"""Pods and their controllers: which controller a changed Pod concerns, adoption and release."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from homeostat.client.base import Client
from homeostat.objects.errors import ConflictError, NotFoundError
from homeostat.objects.kind import POD, Kind
from homeostat.objects.selectors import LabelSelector
from homeostat.operators.workloads.api import Meta, Pod, Workload
from homeostat.operators.workloads.ownership import HasMeta, adoption, claim, release
from homeostat.operators.workloads.reconciler import Key
from homeostat.operators.workloads.selection import (
    BY_LABEL,
    ORPHANS_BY_LABEL,
    label_keys,
    labelled_orphan_keys,
    possible_orphans,
)
from homeostat.runtime.cache.cache import Cache, Change
from homeostat.runtime.cache.index import KeysOf

V = TypeVar("V", bound=HasMeta)

BY_OWNER, ORPHANS, BY_NODE, BY_CLAIM = "owner", "orphans", "node", "claim"


def owner_keys(obj: HasMeta) -> tuple[str, ...]:
    owner = obj.metadata.controller
    return () if owner is None else (owner.uid,)


def orphan_keys(obj: HasMeta) -> tuple[str, ...]:
    return () if obj.metadata.controller is not None else (obj.metadata.namespace,)


def node_keys(pod: Pod) -> tuple[str, ...]:
    return (pod.spec.node_name,) if pod.spec.node_name else ()


def claim_keys(pod: Pod) -> tuple[Key, ...]:
    return tuple((pod.metadata.namespace, name) for name in pod.spec.claims)


FAMILY: Mapping[str, KeysOf[HasMeta]] = {BY_OWNER: owner_keys, ORPHANS: orphan_keys}
POD_INDEXES: Mapping[str, KeysOf[Pod]] = {
    BY_OWNER: owner_keys,
    ORPHANS_BY_LABEL: labelled_orphan_keys,
    BY_NODE: node_keys,
    BY_CLAIM: claim_keys,
    BY_LABEL: label_keys,
}


def owner_router(
    kind: Kind, add: Callable[[Key], None], possible_owners: Callable[[V], list[Key]]
) -> Callable[[Change[V]], None]:
    """A handler that queues the owner of each changed object; of an orphan those that might adopt it."""

    def note(change: Change[V]) -> None:
        for each in (change.new, change.old):
            if each is None:
                continue
            owner = each.metadata.controller
            if owner is not None:
                if owner.is_of(kind):
                    add((change.namespace, owner.name))
            elif each is change.new and not each.metadata.is_terminating:
                for key in possible_owners(each):
                    add(key)

    return note


async def check_owner(client: Client, kind: Kind, owner: Meta) -> None:
    """Raises unless the server still has this owner and it is not being deleted: the cache may be behind, and an
    object that a deleted owner adopts is collected.
    """
    found = (await client.get(kind.path(owner.namespace, owner.name))).get("metadata") or {}
    if found.get("uid") != owner.uid or found.get("deletionTimestamp"):
        raise ConflictError(f'{kind.kind} "{owner.name}" has been deleted meanwhile; it adopts nothing')


async def claim_pods(
    client: Client,
    kind: Kind,
    workload: Workload,
    pods: Cache[Pod],
    selector: LabelSelector,
    *,
    adopts: Callable[[Pod], bool] = lambda _: True,
) -> list[Pod]:
    """The Pods that a workload owns, after it has adopted and released some."""
    meta = workload.metadata
    candidates = [*pods.indexed(BY_OWNER, meta.uid), *possible_orphans(workload, pods)]
    found = claim(meta, selector, candidates, adopts=adopts)
    lost = set()
    if found.adopted:
        await check_owner(client, kind, meta)
    for pod in found.adopted:
        try:
            await client.merge(POD.path(*pod.key), adoption(kind, meta, pod.metadata))
        except (NotFoundError, ConflictError):
            lost.add(pod.key)
    for pod in found.released:
        try:
            await client.merge(POD.path(*pod.key), release(meta, pod.metadata))
        except (NotFoundError, ConflictError):
            continue
    return [each for each in found.owned if each.key not in lost] if lost else found.owned
