"""One step of a Deployment: what to do with its ReplicaSets, and the status. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

import msgspec

from homeostat.objects.json import JsonObject
from homeostat.objects.time.timestamp import format_time
from homeostat.objects.views.rollout import REVISION
from homeostat.operators.workloads.api import Workload
from homeostat.operators.workloads.conditions import find, with_condition
from homeostat.operators.workloads.deployments.rollout import (
    bounds_of,
    first_replicas,
    is_scaling,
    roll,
    scale,
    strategy_of,
)
from homeostat.operators.workloads.deployments.sets import (
    build_set,
    in_age_order,
    min_ready_of,
    new_annotations,
    new_set,
    replicas_of,
    revision_of,
    size_annotations,
)
from homeostat.operators.workloads.deployments.status import is_complete, status_of
from homeostat.operators.workloads.status import is_same_status

_NO_DEADLINE: Final = 2**31 - 1
REFUSED: Final = "ReplicaSetCreateError"


class Step(msgspec.Struct, frozen=True):
    create: JsonObject | None = None
    scale: dict[str, int] = {}
    annotate: dict[str, dict[str, str]] = {}
    """Annotations by the name of a ReplicaSet."""
    min_ready_s: dict[str, int] = {}
    """`minReadySeconds` by the name of a ReplicaSet."""
    delete: tuple[str, ...] = ()
    revision: str = ""
    """The revision that the Deployment itself is to show."""
    status: JsonObject | None = None
    again_s: float | None = None

    @property
    def acts(self) -> bool:
        return bool(self.create or self.scale or self.annotate or self.min_ready_s or self.delete or self.revision)


def decide(deployment: Workload, sets: Sequence[Workload], *, has_old_pods: bool, now: datetime) -> Step:
    """`has_old_pods`: Pods of old ReplicaSets have not ended yet, for which Recreate waits."""
    if deployment.metadata.is_terminating:
        return _settled(deployment, sets, now)
    new = new_set(deployment, sets)
    old = [each for each in sets if each is not new]
    step = _step(deployment, new, old, has_old_pods=has_old_pods)
    sized = _sized(deployment, step, sets)
    settled = _settled(deployment, sets, now, created=sized.create)
    return msgspec.structs.replace(sized, status=settled.status, again_s=settled.again_s)


def _step(deployment: Workload, new: Workload | None, old: Sequence[Workload], *, has_old_pods: bool) -> Step:
    sets = [*old, *([new] if new else ())]
    is_paused = deployment.spec.get("paused")
    if is_paused or is_scaling(deployment, sets):
        scaling = scale(deployment, new, old)
        if scaling:
            return Step(scale=scaling, delete=_surplus(deployment, new, old) if is_paused else ())
    marking = _marking(deployment, new, old) if new is not None else Step()
    if marking.acts:
        return marking
    if is_paused:
        return Step(delete=_surplus(deployment, new, old))
    if strategy_of(deployment) == "Recreate":
        return _recreate(deployment, new, old, has_old_pods=has_old_pods)
    if new is None:
        return Step(create=_created(deployment, old, first_replicas(deployment, old)))
    return Step(scale=roll(deployment, new, old), delete=_surplus(deployment, new, old))


def _marking(deployment: Workload, new: Workload, old: Sequence[Workload]) -> Step:
    """What the new ReplicaSet and the Deployment are to say of the revision, and the annotations to copy."""
    name, least_s = new.metadata.name, min_ready_of(deployment)
    changed = new_annotations(deployment, new, old)
    revision = changed.get(REVISION) or str(revision_of(new))
    return Step(
        annotate={name: changed} if changed else {},
        min_ready_s={name: least_s} if min_ready_of(new) != least_s else {},
        revision=revision if deployment.metadata.annotations.get(REVISION, "") != revision else "",
    )


def _recreate(deployment: Workload, new: Workload | None, old: Sequence[Workload], *, has_old_pods: bool) -> Step:
    scaling = {each.metadata.name: 0 for each in old if replicas_of(each)}
    if scaling or has_old_pods:
        return Step(scale=scaling)
    if new is None:
        return Step(create=_created(deployment, old, replicas_of(deployment)))
    if replicas_of(new) != replicas_of(deployment):
        return Step(scale={new.metadata.name: replicas_of(deployment)})
    return Step(delete=_surplus(deployment, new, old))


def _created(deployment: Workload, old: Sequence[Workload], replicas: int) -> JsonObject:
    return build_set(deployment, old, replicas, replicas_of(deployment) + bounds_of(deployment)[0])


def _sized(deployment: Workload, step: Step, sets: Sequence[Workload]) -> Step:
    """A ReplicaSet that is scaled notes the size of the Deployment, by which a later scaling is recognised."""
    scales_all = is_scaling(deployment, sets)
    wanted = size_annotations(replicas_of(deployment), replicas_of(deployment) + bounds_of(deployment)[0])
    annotate = {name: dict(each) for name, each in step.annotate.items()}
    for each in sets:
        name = each.metadata.name
        if name not in step.scale and not (scales_all and replicas_of(each)):
            continue
        current = each.metadata.annotations
        changed = {key: value for key, value in wanted.items() if current.get(key) != value}
        if changed:
            annotate.setdefault(name, {}).update(changed)
    return msgspec.structs.replace(step, annotate=annotate)


def _surplus(deployment: Workload, new: Workload | None, old: Sequence[Workload]) -> tuple[str, ...]:
    """Old ReplicaSets beyond the history limit, when the rollout has ended."""
    limit = deployment.spec.get("revisionHistoryLimit", 10)
    status = deployment.status
    is_over = new is not None and all(name in status for name in ("updatedReplicas", "replicas", "availableReplicas"))
    if limit is None or not is_over:
        return ()
    counts = {name: status.get(name) or 0 for name in ("updatedReplicas", "replicas", "availableReplicas")}
    if not is_complete(deployment, {**counts, "observedGeneration": status.get("observedGeneration") or 0}):
        return ()
    idle = [
        each
        for each in old
        if not replicas_of(each)
        and not each.status.get("replicas")
        and not each.metadata.is_terminating
        and (each.status.get("observedGeneration") or 0) >= each.metadata.generation
    ]
    ordered = sorted(in_age_order(idle), key=revision_of)
    count = len(idle) - limit
    return tuple(each.metadata.name for each in ordered[:count]) if count > 0 else ()


def _settled(
    deployment: Workload, sets: Sequence[Workload], now: datetime, *, created: JsonObject | None = None
) -> Step:
    new = new_set(deployment, sets)
    noted = _noted(deployment, new, created, now)
    status, again_s = status_of(noted, new, sets, now)
    return Step(status=None if is_same_status(deployment.status, status) else status, again_s=again_s)


def _noted(deployment: Workload, new: Workload | None, created: JsonObject | None, now: datetime) -> Workload:
    """The Deployment with the condition Progressing for what happens now: paused, resumed, a new ReplicaSet or one that
    was there before.
    """
    if deployment.spec.get("progressDeadlineSeconds", _NO_DEADLINE) == _NO_DEADLINE:
        return deployment
    conditions: list[JsonObject] = list(deployment.status.get("conditions") or ())
    current = find(conditions, "Progressing")
    reason = current.get("reason") if current is not None else ""
    if deployment.spec.get("paused"):
        if reason == "ProgressDeadlineExceeded" or reason == "DeploymentPaused":
            return deployment
        words = ("Unknown", "DeploymentPaused", "Deployment is paused")
    elif reason == "DeploymentPaused":
        words = ("Unknown", "DeploymentResumed", "Deployment is resumed")
    elif created is not None:
        words = ("True", "NewReplicaSetCreated", f'Created new replica set "{created["metadata"]["name"]}"')
    elif new is not None and current is None:
        words = ("True", "FoundNewReplicaSet", f'Found new replica set "{new.metadata.name}"')
    else:
        return deployment
    conditions = with_condition(conditions, "Progressing", *words, now=format_time(now), key="lastUpdateTime")
    return msgspec.structs.replace(deployment, status={**deployment.status, "conditions": conditions})


def refused(deployment: Workload, message: str, now: datetime) -> list[JsonObject] | None:
    """The conditions when the server refuses the new ReplicaSet; None if they stay as they are."""
    if deployment.spec.get("progressDeadlineSeconds", _NO_DEADLINE) == _NO_DEADLINE:
        return None
    former: list[JsonObject] = list(deployment.status.get("conditions") or ())
    found = with_condition(former, "Progressing", "False", REFUSED, message, now=format_time(now), key="lastUpdateTime")
    return found if found != former else None
