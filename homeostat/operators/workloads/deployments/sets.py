"""The ReplicaSets of a Deployment: the new one, the old ones, their revisions, and a new one's content. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from homeostat.objects.declared import owner_reference
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import DEPLOYMENT
from homeostat.objects.views.rollout import DESIRED, HASH, HISTORY, MAX, NOT_COPIED, REVISION
from homeostat.operators.workloads.api import Workload
from homeostat.operators.workloads.naming import hash_of, hashed
from homeostat.operators.workloads.sizes import integer_of


def replicas_of(workload: Workload) -> int:
    found: int = workload.spec.get("replicas", 1)
    return found


def min_ready_of(workload: Workload) -> int:
    return workload.spec.get("minReadySeconds") or 0


def new_set(deployment: Workload, sets: Sequence[Workload]) -> Workload | None:
    """The oldest ReplicaSet with the template of the Deployment, apart from the label of the hash."""
    wanted = _plain(deployment.spec.get("template") or {})
    found = [each for each in sets if _plain(each.spec.get("template") or {}) == wanted]
    return min(found, key=_age, default=None)


def in_age_order(sets: Sequence[Workload]) -> list[Workload]:
    return sorted(sets, key=_age)


def _age(workload: Workload) -> tuple[str, str]:
    return workload.metadata.creation_timestamp, workload.metadata.name


def _plain(template: JsonObject) -> JsonObject:
    metadata = {name: value for name, value in (template.get("metadata") or {}).items() if value}
    metadata.pop("creationTimestamp", None)
    if labels := metadata.get("labels"):
        metadata["labels"] = {name: value for name, value in labels.items() if name != HASH}
    return {"metadata": metadata, "spec": template.get("spec") or {}}


def revision_of(workload: Workload) -> int:
    text = workload.metadata.annotations.get(REVISION, "0")
    return max(integer_of(text) or 0, 0)


def next_revision(old: Sequence[Workload]) -> int:
    return max(map(revision_of, old), default=0) + 1


def build_set(deployment: Workload, old: Sequence[Workload], replicas: int, max_replicas: int) -> JsonObject:
    """The ReplicaSet of the current template."""
    collisions = deployment.status.get("collisionCount") or 0
    template = deployment.spec.get("template") or {}
    digest = hash_of(_plain(template), collisions)
    metadata = template.get("metadata") or {}
    labels = {**(metadata.get("labels") or {}), HASH: digest}
    selector = deployment.spec.get("selector") or {}
    meta = deployment.metadata
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": hashed(meta.name, digest),
            "namespace": meta.namespace,
            "labels": labels,
            "annotations": {
                **copied_annotations(deployment),
                REVISION: str(next_revision(old)),
                **size_annotations(replicas_of(deployment), max_replicas),
            },
            "ownerReferences": [owner_reference(DEPLOYMENT, meta)],
        },
        "spec": {
            "replicas": replicas,
            **({"minReadySeconds": min_ready_s} if (min_ready_s := min_ready_of(deployment)) else {}),
            "selector": {**selector, "matchLabels": {**(selector.get("matchLabels") or {}), HASH: digest}},
            "template": {**template, "metadata": {**metadata, "labels": labels}},
        },
    }


def copied_annotations(deployment: Workload) -> dict[str, str]:
    return {name: value for name, value in deployment.metadata.annotations.items() if name not in NOT_COPIED}


def size_annotations(replicas: int, max_replicas: int) -> dict[str, str]:
    return {DESIRED: str(replicas), MAX: str(max_replicas)}


def new_annotations(deployment: Workload, new: Workload, old: Sequence[Workload]) -> dict[str, str]:
    """The annotations of the new ReplicaSet to change: its revision is the highest."""
    current = new.metadata.annotations
    wanted = copied_annotations(deployment)
    revision = next_revision(old)
    if revision_of(new) < revision:
        wanted[REVISION] = str(revision)
        if former := current.get(REVISION, ""):
            history = [each for each in current.get(HISTORY, "").split(",") if each]
            wanted[HISTORY] = ",".join([*history, former])
    return {name: value for name, value in wanted.items() if current.get(name) != value}
