"""The names by which the controller of a Deployment marks it and its ReplicaSets. Pure."""

from __future__ import annotations

from typing import Final

from homeostat.objects.meta import LAST_APPLIED

HASH: Final = "pod-template-hash"
"""The label that tells the Pods of one template from those of another."""
REVISION: Final = "deployment.kubernetes.io/revision"
HISTORY: Final = "deployment.kubernetes.io/revision-history"
DESIRED: Final = "deployment.kubernetes.io/desired-replicas"
MAX: Final = "deployment.kubernetes.io/max-replicas"
NOT_COPIED: Final = frozenset(
    {
        LAST_APPLIED,
        REVISION,
        HISTORY,
        DESIRED,
        MAX,
        "deprecated.deployment.rollback.to",
    }
)
"""Annotations that a Deployment and its ReplicaSets have for themselves; a rollout and a rollback copy the others."""
