"""ReplicaSets as operators see them. Most belong to a Deployment, and of those only to which one is kept.

One without an owner is a workload like any other; a cluster has few of them, and a great many old ones of Deployments:
each of these takes a name and a version in memory, and its template is let go as soon as it is read. Pure.
"""

from __future__ import annotations

import msgspec

from homeostat.objects.kind import REPLICA_SET
from homeostat.objects.views.workload import Workload, WorkloadMetadata, deployment_name


class ReplicaSet(Workload, frozen=True):
    kind: str = REPLICA_SET.kind

    def __post_init__(self) -> None:
        told = self.metadata
        if told.owner_references:
            kept = WorkloadMetadata(
                told.name,
                told.namespace,
                resource_version=told.resource_version,
                owner_references=told.owner_references,
            )
            msgspec.structs.force_setattr(self, "metadata", kept)
            msgspec.structs.force_setattr(self, "spec", None)

    @property
    def is_owned(self) -> bool:
        return bool(self.metadata.owner_references)

    @property
    def deployment(self) -> str:
        """The name of the one it belongs to; empty for none."""
        owners = self.metadata.owner_references or ()
        return next((each.name for each in owners if each.kind == "Deployment"), "")


def is_relinked(name: str, old: ReplicaSet | None, new: ReplicaSet | None) -> bool:
    """Whether its Pods belong to another Deployment now; while it is not known they go by its name."""
    before, after = (deployment_name(name) if each is None else each.deployment for each in (old, new))
    return before != after


def is_changed_declaration(old: ReplicaSet | None, new: ReplicaSet | None) -> bool:
    """Whether it declares something else: not where it only reports how far it has come."""
    before, after = (None if each is None or each.is_owned else (each.spec,) for each in (old, new))
    return before != after
