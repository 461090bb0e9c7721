"""Who owns the claims of a StatefulSet's Pods, by its retention policy: claims go with their owner. Pure."""

from __future__ import annotations

from homeostat.objects.json import JsonObject
from homeostat.objects.kind import POD, STATEFUL_SET, Kind
from homeostat.operators.workloads.api import Meta, Pod, Workload


def claim_names(workload: Workload, pod: Pod) -> list[str]:
    templates = workload.spec.get("volumeClaimTemplates") or ()
    return [f"{each['metadata']['name']}-{pod.metadata.name}" for each in templates]


def owner_changes(workload: Workload, pod: Pod, claim: Workload, *, is_condemned: bool) -> list[JsonObject] | None:
    """The owners that the claim of a Pod should have; None if it has them. Those of others stay."""
    policy = workload.spec.get("persistentVolumeClaimRetentionPolicy") or {}
    goes_with_pod = policy.get("whenScaled") == "Delete" and is_condemned
    goes_with_set = policy.get("whenDeleted") == "Delete" and not goes_with_pod
    given = claim.metadata.owner_references
    ours = {workload.metadata.uid: goes_with_set, pod.metadata.uid: goes_with_pod}
    found = {each.uid for each in given}
    if all((uid in found) == is_wanted for uid, is_wanted in ours.items()):
        return None
    kept = [each.reference for each in given if each.uid not in ours]
    new = [_owner(STATEFUL_SET, workload.metadata)] if goes_with_set else []
    return [*kept, *new, *([_owner(POD, pod.metadata)] if goes_with_pod else [])]


def _owner(kind: Kind, meta: Meta) -> JsonObject:
    return {"apiVersion": kind.api_version, "kind": kind.kind, "name": meta.name, "uid": meta.uid}
