"""Workloads with their Pod templates, and PodDisruptionBudgets. Pure.

A workload's key is `kind/namespace/name` with the kind in lower case. `owner_of` finds the workload of a Pod by its
owner references; `pod_of` turns a template into the Pod that it describes.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Final

import msgspec

from homeostat.objects.errors import BadRequestError
from homeostat.objects.json import Json
from homeostat.objects.kind import REPLICA_SET
from homeostat.objects.selectors import NOTHING, Predicate, selector_of
from homeostat.objects.views.pod import Owner, Pod, PodMetadata, PodSpec

PATCHABLE: Final = frozenset({"Deployment", "StatefulSet", "DaemonSet"})
_JOBS: Final = frozenset({"Job", "CronJob"})
_JOB_LABELS: Final = ("batch.kubernetes.io/job-name", "job-name")
_SCALED: Final = frozenset({"Deployment", "StatefulSet", REPLICA_SET.kind})


class _Read(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """Part of an object that we only read."""


class WorkloadMetadata(_Read, frozen=True):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    deletion_timestamp: str | None = None
    labels: dict[str, str | None] | None = None
    annotations: dict[str, str | None] | None = None
    owner_references: tuple[Owner, ...] | None = None


class TemplateMetadata(_Read, frozen=True):
    labels: dict[str, str | None] | None = None
    annotations: dict[str, str | None] | None = None


class Template(_Read, frozen=True):
    metadata: TemplateMetadata | None = None
    spec: PodSpec | None = None


class WorkloadSpec(_Read, frozen=True):
    template: Template | None = None
    replicas: int | None = None


class Workload(_Read, frozen=True):
    kind: str = ""
    metadata: WorkloadMetadata = WorkloadMetadata()
    spec: WorkloadSpec | None = None

    @property
    def key(self) -> str:
        return key_of(self.kind, self.metadata.namespace, self.metadata.name)

    @property
    def template(self) -> Template:
        return (self.spec and self.spec.template) or Template()

    @property
    def replicas(self) -> int | None:
        """None for kinds that have no such number, and for a ReplicaSet whose owner has it; absent is 1."""
        if self.kind not in _SCALED or (self.kind == REPLICA_SET.kind and self.metadata.owner_references):
            return None
        return 1 if self.spec is None or self.spec.replicas is None else self.spec.replicas

    @property
    def annotations(self) -> Mapping[str, str | None]:
        return self.metadata.annotations or {}


class BudgetSpec(msgspec.Struct, frozen=True, dict=True):
    selector: dict[str, Json] | None = None

    @cached_property
    def matches(self) -> Predicate:
        """Compiled once: a budget is matched against every workload of its namespace, and a selector may be large. A
        malformed selector matches nothing.
        """
        try:
            return selector_of(self.selector).matches
        except BadRequestError:
            return NOTHING.matches


class DisruptionBudget(_Read, frozen=True):
    metadata: WorkloadMetadata = WorkloadMetadata()
    spec: BudgetSpec | None = None

    def covers(self, workload: Workload) -> bool:
        """Whether the budget selects the workload. A malformed selector selects nothing."""
        if self.spec is None or self.metadata.namespace != workload.metadata.namespace:
            return False
        labels = workload.template.metadata and workload.template.metadata.labels
        return self.spec.matches({key: value or "" for key, value in (labels or {}).items()})


class OwnerKey(msgspec.Struct, frozen=True, gc=False):
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return key_of(self.kind, self.namespace, self.name)


def key_of(kind: str, namespace: str, name: str) -> str:
    return f"{kind.lower()}/{namespace}/{name}"


def owner_of(pod: Pod, deployments: Mapping[str, str] = {}) -> OwnerKey | None:
    """The workload that a Pod belongs to; None for a bare Pod and for owners of other kinds.

    `deployments` maps known ReplicaSets to their Deployment, or to an empty name. For any other ReplicaSet, the name of
    the Deployment is its own without the last dash and what follows.
    """
    for owner in pod.metadata.owner_references or ():
        if owner.kind in PATCHABLE:
            return OwnerKey(owner.kind, pod.metadata.namespace, owner.name)
        if owner.kind == REPLICA_SET.kind:
            name = deployments.get(owner.name, deployment_name(owner.name))
            return OwnerKey("Deployment", pod.metadata.namespace, name) if name else None
    return None


def deployment_name(replica_set: str) -> str:
    return replica_set.rpartition("-")[0] or replica_set


def given_labels(kind: str, name: str) -> dict[str, str]:
    """The labels that the Pods of a workload get besides those of its template, as far as they are known."""
    return dict.fromkeys(_JOB_LABELS, name) if kind in _JOBS else {}


def pod_of(workload: Workload) -> Pod:
    """The Pod that the template describes, named after the workload."""
    template, metadata = workload.template, workload.metadata
    labels = template.metadata.labels if template.metadata is not None else None
    if given := given_labels(workload.kind, metadata.name):
        labels = {**(labels or {}), **given}
    owners = (Owner(workload.kind, metadata.name),) if workload.kind in PATCHABLE else None
    return Pod(PodMetadata(metadata.name, metadata.namespace, labels=labels, owner_references=owners), template.spec)
