"""ReplicaSets as operators see them. Most belong to a Deployment, and of those only the name of the Deployment is kept.

A ReplicaSet without an owner is a workload like any other. A cluster has few of them, and very many old ones of
Deployments: each of these takes a name and a version in memory, and its template is dropped after decoding. Pure.
"""

from __future__ import annotations

import msgspec

from homeostat.objects.kind import REPLICA_SET
from homeostat.objects.views.workload import Workload, WorkloadMetadata, deployment_name


class ReplicaSet(Workload, frozen=True):
    kind: str = REPLICA_SET.kind

    def __post_init__(self) -> None:
        metadata = self.metadata
        if metadata.owner_references:
            kept = WorkloadMetadata(
                metadata.name,
                metadata.namespace,
                resource_version=metadata.resource_version,
                owner_references=metadata.owner_references,
            )
            msgspec.structs.force_setattr(self, "metadata", kept)
            msgspec.structs.force_setattr(self, "spec", None)

    @property
    def is_owned(self) -> bool:
        return bool(self.metadata.owner_references)

    @property
    def deployment(self) -> str:
        """The name of the Deployment that owns it; empty for none."""
        owners = self.metadata.owner_references or ()
        return next((each.name for each in owners if each.kind == "Deployment"), "")


def is_relinked(name: str, old: ReplicaSet | None, new: ReplicaSet | None) -> bool:
    """Whether its Pods belong to another Deployment now. As long as it is not known, its name decides."""
    before, after = (deployment_name(name) if each is None else each.deployment for each in (old, new))
    return before != after


def is_changed_declaration(old: ReplicaSet | None, new: ReplicaSet | None) -> bool:
    """Whether its declaration changed, and not only its status."""
    before, after = (None if each is None or each.is_owned else (each.spec,) for each in (old, new))
    return before != after
