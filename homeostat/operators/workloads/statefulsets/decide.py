"""StatefulSets: Pods by ordinal, in order or all at once, and their update from the highest down. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

import msgspec

from homeostat.objects.json import JsonObject
from homeostat.operators.workloads.api import Pod, Workload
from homeostat.operators.workloads.availability import seconds_until_available
from homeostat.operators.workloads.replicas.decide import MOST_AT_ONCE
from homeostat.operators.workloads.status import is_same_status

HASH: Final = "controller-revision-hash"
NAME_LABEL: Final = "statefulset.kubernetes.io/pod-name"
INDEX_LABEL: Final = "apps.kubernetes.io/pod-index"


class Create(msgspec.Struct, frozen=True):
    ordinal: int
    revision: str


class Decision(msgspec.Struct, frozen=True):
    create: tuple[Create, ...] = ()
    delete: tuple[Pod, ...] = ()
    status: JsonObject | None = None
    again_s: float | None = None


def ordinal_of(workload: Workload, pod: Pod) -> int | None:
    stem, dash, number = pod.metadata.name.rpartition("-")
    return int(number) if dash and number.isdigit() and stem == workload.metadata.name else None


def ordinals_of(workload: Workload) -> range:
    """Of the Pods that the set should have."""
    first = (workload.spec.get("ordinals") or {}).get("start") or 0
    return range(first, first + workload.spec.get("replicas", 1))


def decide(workload: Workload, pods: Sequence[Pod], *, current: str, update: str, now: datetime) -> Decision:
    """`current` is the name of the revision before the rollout, `update` that of the current template."""
    facts = _Facts(workload, pods, current, update, now)
    if workload.metadata.is_terminating:
        return Decision(status=None)
    actions = _next(facts)
    status = _status(facts)
    is_same = is_same_status(workload.status, status)
    return Decision(*actions, None if is_same else status, facts.again_s)


class _Facts:
    def __init__(self, workload: Workload, pods: Sequence[Pod], current: str, update: str, now: datetime) -> None:
        self.workload, self.current, self.update = workload, current, update
        spec = workload.spec
        self.ordinals = ordinals_of(workload)
        self.first, self.wanted = self.ordinals.start, len(self.ordinals)
        self.is_parallel = spec.get("podManagementPolicy") == "Parallel"
        self.min_ready_s: int = spec.get("minReadySeconds") or 0
        strategy = spec.get("updateStrategy") or {}
        self.is_on_delete = strategy.get("type") == "OnDelete"
        self.partition: int = (strategy.get("rollingUpdate") or {}).get("partition") or 0
        found = {ordinal: each for each in pods if (ordinal := ordinal_of(workload, each)) is not None}
        self.replicas = found
        """By ordinal, of those that exist: their number is bounded, that of `ordinals` is not."""
        self.condemned = [found[number] for number in sorted(found, reverse=True) if number not in self.ordinals]
        self.pods = list(found.values())
        self.waits = {each.key: seconds_until_available(each, self.min_ready_s, now) for each in self.pods}
        later = [each for each in self.waits.values() if each]
        self.again_s = min(later) if later else None

    def is_available(self, pod: Pod) -> bool:
        return self.waits[pod.key] == 0.0

    def is_settled(self, pod: Pod | None) -> bool:
        """Runs, is available and does not end: the next one may follow."""
        return pod is not None and pod.is_active and self.is_available(pod)

    def is_blocked(self, pod: Pod) -> bool:
        """Whether a surplus Pod that is not settled has to wait for one with a lower ordinal that is not either."""
        lowest = next((each for each in reversed(self.condemned) if not self.is_settled(each)), pod)
        return not self.is_settled(pod) and pod is not lowest

    def revision_for(self, number: int) -> str:
        """Of a new Pod: the old revision below the partition, the new one otherwise."""
        if self.current == self.update:
            return self.update
        if self.is_on_delete:
            return self.update
        return self.current if number - self.first < self.partition else self.update

    def is_updated(self, pod: Pod) -> bool:
        return pod.metadata.labels.get(HASH) == self.update


def _next(facts: _Facts) -> tuple[tuple[Create, ...], tuple[Pod, ...]]:
    create: list[Create] = []
    delete: list[Pod] = []
    for number in facts.ordinals:
        pod = facts.replicas.get(number)
        if pod is None:
            create.append(Create(number, facts.revision_for(number)))
        elif pod.is_finished and not pod.metadata.is_terminating:
            delete.append(pod)
        is_enough = len(create) + len(delete) >= MOST_AT_ONCE
        if is_enough or (not facts.is_parallel and not facts.is_settled(pod)):
            return tuple(create), tuple(delete)
    for pod in facts.condemned:
        if not facts.is_parallel and facts.is_blocked(pod):
            return tuple(create), tuple(delete)
        if not pod.metadata.is_terminating:
            delete.append(pod)
        if not facts.is_parallel or len(create) + len(delete) >= MOST_AT_ONCE:
            return tuple(create), tuple(delete)
    if not create and not delete:
        delete += _outdated(facts)
    return tuple(create), tuple(delete)


def _outdated(facts: _Facts) -> list[Pod]:
    """The highest Pod of an old revision, one at a time."""
    if facts.is_on_delete:
        return []
    for number in reversed(facts.ordinals):
        pod = facts.replicas.get(number)
        if number - facts.first < facts.partition:
            break
        if pod is not None and not facts.is_updated(pod) and not pod.metadata.is_terminating:
            return [pod]
        if not facts.is_settled(pod):
            break
    return []


def _status(facts: _Facts) -> JsonObject:
    pods = facts.pods
    live = [each for each in pods if not each.metadata.is_terminating]
    ready = sum(1 for each in pods if each.is_ready)
    updated = sum(1 for each in live if facts.is_updated(each))
    # A partition does not matter: all Pods may be new ones all the same, or there may be none.
    is_over = not facts.is_on_delete and updated == ready == len(pods) == facts.wanted
    current = facts.update if is_over else facts.current
    status: JsonObject = {
        "observedGeneration": facts.workload.metadata.generation,
        "replicas": len(pods),
        "readyReplicas": ready,
        "availableReplicas": sum(1 for each in pods if facts.is_available(each)),
        "currentReplicas": sum(1 for each in live if each.metadata.labels.get(HASH) == current),
        "updatedReplicas": updated,
        "currentRevision": current,
        "updateRevision": facts.update,
        "collisionCount": facts.workload.status.get("collisionCount") or 0,
    }
    return status


def pod_additions(workload: Workload, ordinal: int, template: JsonObject) -> tuple[dict[str, str], JsonObject]:
    """The labels and the fields of the spec by which a Pod has its identity: hostname, subdomain, volumes. `template`
    is that of the Pod's revision.
    """
    name = f"{workload.metadata.name}-{ordinal}"
    labels = {NAME_LABEL: name, INDEX_LABEL: str(ordinal)}
    spec = template.get("spec") or {}
    claims = [each["metadata"]["name"] for each in workload.spec.get("volumeClaimTemplates") or ()]
    others = [each for each in spec.get("volumes") or () if each.get("name") not in claims]
    volumes = [
        *({"name": each, "persistentVolumeClaim": {"claimName": f"{each}-{name}"}} for each in claims),
        *others,
    ]
    fields: JsonObject = {"hostname": name}
    if subdomain := workload.spec.get("serviceName"):
        fields["subdomain"] = subdomain
    if volumes:
        fields["volumes"] = volumes
    return labels, fields


def claims_for(workload: Workload, ordinal: int) -> list[JsonObject]:
    """The PersistentVolumeClaims of one Pod; they stay when it is deleted."""
    labels = (workload.spec.get("selector") or {}).get("matchLabels") or {}
    return [
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {
                "name": f"{each['metadata']['name']}-{workload.metadata.name}-{ordinal}",
                "namespace": workload.metadata.namespace,
                "labels": {**(each["metadata"].get("labels") or {}), **labels},
                "annotations": each["metadata"].get("annotations") or {},
                "finalizers": ["kubernetes.io/pvc-protection"],
            },
            "spec": each.get("spec") or {},
        }
        for each in workload.spec.get("volumeClaimTemplates") or ()
    ]
