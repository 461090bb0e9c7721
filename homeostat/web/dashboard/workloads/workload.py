"""The state of a Deployment, a StatefulSet or a DaemonSet, from its own status. Pure."""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec

from homeostat.objects.conditions import Condition, find
from homeostat.objects.errors import BadRequestError
from homeostat.objects.kind import DAEMON_SET, DEPLOYMENT, STATEFUL_SET, Kind
from homeostat.objects.selectors import selector_of

KINDS: Final = (DEPLOYMENT, STATEFUL_SET, DAEMON_SET)
PROGRESSING: Final = "Progressing"
_OVERDUE: Final = "ProgressDeadlineExceeded"


class _Read(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """Part of an object that we only read."""


class _Metadata(_Read, frozen=True):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str = ""


class _Selector(_Read, frozen=True):
    match_labels: dict[str, str] = {}
    match_expressions: list[msgspec.Raw] = []


class _Spec(_Read, frozen=True):
    replicas: int | None = None
    selector: _Selector | None = None


class _Status(_Read, frozen=True):
    """Of Deployments and StatefulSets, and of DaemonSets, which count in other fields."""

    observed_generation: int = 0
    replicas: int = 0
    updated_replicas: int = 0
    ready_replicas: int = 0
    desired_number_scheduled: int = 0
    updated_number_scheduled: int = 0
    number_ready: int = 0
    conditions: tuple[Condition, ...] | None = None


class RunningWorkload(_Read, frozen=True):
    """As much of a workload as pages show: without its template, so that thousands cost little."""

    metadata: _Metadata = _Metadata()
    spec: _Spec | None = None
    status: _Status | None = None


class Progress(NamedTuple):
    """How many Pods are wanted, ready, and of the newest template; `total` counts older ones too."""

    wanted: int
    ready: int
    updated: int
    total: int


class WorkloadRow(NamedTuple):
    kind: Kind
    workload: RunningWorkload
    progress: Progress
    is_settled: bool
    overdue: Condition | None
    """The condition of a Deployment whose progress deadline has passed."""

    @property
    def key(self) -> tuple[str, str, str]:
        return self.kind.kind, self.workload.metadata.namespace, self.workload.metadata.name


def row_of(workload: RunningWorkload, kind: Kind) -> WorkloadRow | None:
    """None for a workload that no controller has observed: in a plane without workloads, none ever is."""
    status = workload.status
    if status is None or not status.observed_generation:
        return None
    progress = _progress(workload, status, kind)
    is_observed = status.observed_generation >= workload.metadata.generation
    # While a rollout waits for a new Pod, the old one is ready and counts.
    is_replaced = progress.wanted <= progress.updated and progress.total <= progress.updated
    is_settled = is_observed and is_replaced and progress.ready >= progress.wanted
    progressing = find(status.conditions or (), PROGRESSING)
    is_overdue = progressing is not None and progressing.status == "False" and progressing.reason == _OVERDUE
    return WorkloadRow(kind, workload, progress, is_settled, progressing if is_overdue else None)


def _progress(workload: RunningWorkload, status: _Status, kind: Kind) -> Progress:
    if kind == DAEMON_SET:
        wanted = status.desired_number_scheduled
        return Progress(wanted, status.number_ready, status.updated_number_scheduled, wanted)
    declared = workload.spec.replicas if workload.spec is not None else None
    wanted = 1 if declared is None else declared
    return Progress(wanted, status.ready_replicas, status.updated_replicas, status.replicas)


def pod_selector(workload: RunningWorkload) -> str:
    """Selects its Pods by labels; empty if it has no selector, or an invalid one."""
    selector = workload.spec.selector if workload.spec is not None else None
    if selector is None:
        return ""
    expressions = [msgspec.json.decode(each) for each in selector.match_expressions]
    try:
        return str(selector_of({"matchLabels": selector.match_labels, "matchExpressions": expressions}))
    except BadRequestError:
        return ""
