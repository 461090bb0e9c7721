"""Who owns the claims of a StatefulSet's Pods, by its retention policy: claims go with their owner. Pure.

A claim of a former set or Pod of the same name stays as it is until it is collected.
"""

from __future__ import annotations

from homeostat.objects.declared import owner_reference
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import POD, STATEFUL_SET, Kind
from homeostat.operators.workloads.api import Meta, Owner, Pod, Workload


def claim_names(workload: Workload, pod: str) -> list[str]:
    """Of the Pod with this name."""
    return [f"{each['metadata']['name']}-{pod}" for each in workload.spec.get("volumeClaimTemplates") or ()]


def owner_changes(workload: Workload, pod: Pod, claim: Workload, *, is_condemned: bool) -> list[JsonObject] | None:
    """The owners that the claim of a Pod should have; None if it has them. Those of others stay, and of a claim that
    somebody else controls the set and the Pod are no owners.
    """
    given, ours = claim.metadata.owner_references, (workload.metadata.uid, pod.metadata.uid)
    if is_stale(claim, workload.metadata, STATEFUL_SET) or is_stale(claim, pod.metadata, POD):
        return None
    others = [each for each in given if each.uid not in ours]
    wanted = _wanted(workload, pod, is_condemned=is_condemned)
    if _has_policy(workload) and any(each.controller for each in others):
        wanted = []
    found = [each.reference for each in given if each.uid in ours]
    return None if found == wanted else [*(each.reference for each in others), *wanted]


def is_stale(claim: Workload, owner: Meta, kind: Kind) -> bool:
    """Whether the claim belongs to a former object with the name of this owner; a `uid` of "" is of one to come."""
    return any(_names(each, owner, kind) and each.uid != owner.uid for each in claim.metadata.owner_references)


def _names(reference: Owner, owner: Meta, kind: Kind) -> bool:
    return reference.name == owner.name and (reference.api_version, reference.kind) == (kind.api_version, kind.kind)


def _has_policy(workload: Workload) -> bool:
    return "Delete" in (workload.spec.get("persistentVolumeClaimRetentionPolicy") or {}).values()


def _wanted(workload: Workload, pod: Pod, *, is_condemned: bool) -> list[JsonObject]:
    policy = workload.spec.get("persistentVolumeClaimRetentionPolicy") or {}
    if policy.get("whenScaled") == "Delete" and is_condemned:
        return [owner_reference(POD, pod.metadata)]
    return [owner_reference(STATEFUL_SET, workload.metadata)] if policy.get("whenDeleted") == "Delete" else []
