"""How far a workload has replaced its Pods by those of its newest template, and which Pods these are. Pure."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from homeostat.objects.json import JsonObject
from homeostat.objects.kind import DAEMON_SET, DEPLOYMENT, STATEFUL_SET, Kind
from homeostat.objects.views.workload import Workload, WorkloadMetadata, WorkloadSpec


class _Metadata(WorkloadMetadata, frozen=True, rename="camel", gc=False):
    generation: int = 0


class _Selector(msgspec.Struct, frozen=True, rename="camel", gc=False):
    match_labels: dict[str, str] = {}
    match_expressions: list[JsonObject] = []


class _Spec(WorkloadSpec, frozen=True, rename="camel", gc=False):
    selector: _Selector | None = None


class _Status(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """Of Deployments and StatefulSets, and of DaemonSets, which count in other fields."""

    observed_generation: int = 0
    replicas: int = 0
    updated_replicas: int = 0
    current_number_scheduled: int = 0
    desired_number_scheduled: int = 0
    updated_number_scheduled: int = 0


class RolledWorkload(Workload, frozen=True, rename="camel", gc=False):
    metadata: _Metadata = _Metadata()
    spec: _Spec | None = None
    status: _Status | None = None

    @property
    def pod_labels(self) -> dict[str, str]:
        """Those that its selector wants; none if it has no selector, or one of more than labels."""
        selector = self.spec.selector if self.spec is not None else None
        return {} if selector is None or selector.match_expressions else selector.match_labels


class Rollout(NamedTuple):
    """Of a kind without a rollout, or of a workload that no controller has observed, `wanted` is None."""

    wanted: int | None = None
    updated: int = 0
    total: int = 0
    is_observed: bool = True

    @property
    def is_done(self) -> bool:
        if self.wanted is None:
            return True
        return self.is_observed and self.updated >= self.wanted and self.total <= self.updated

    @property
    def text(self) -> str:
        if not self.is_observed:
            return "no controller has seen the new template yet"
        return f"{self.updated} of {self.wanted} Pods are of the new template"


def rollout_of(workload: RolledWorkload, kind: Kind) -> Rollout:
    status = workload.status
    if status is None or not status.observed_generation:
        # Without a controller there are no Pods to wait for: a plane without workloads, for instance.
        return Rollout()
    is_observed = status.observed_generation >= workload.metadata.generation
    if kind == DAEMON_SET:
        wanted, total = status.desired_number_scheduled, status.current_number_scheduled
        return Rollout(wanted, status.updated_number_scheduled, min(total, wanted), is_observed)
    if kind not in (DEPLOYMENT, STATEFUL_SET):
        return Rollout()
    declared = workload.spec.replicas if workload.spec is not None else None
    return Rollout(1 if declared is None else declared, status.updated_replicas, status.replicas, is_observed)
