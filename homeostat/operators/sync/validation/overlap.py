"""Which policies would sync the same objects: two of one namespace with the same server and overlapping paths. Pure.

One directory may feed several servers. Of two policies that overlap, the older one keeps its scope, so that a new
policy cannot stop one that works.
"""

from __future__ import annotations

from collections.abc import Iterable

from homeostat.operators.sync.api.policy import PolicySpec, SyncPolicy
from homeostat.operators.sync.engine.errors import ValidationError
from homeostat.operators.sync.engine.paths.logical import overlaps, parse


def source_path(spec: PolicySpec) -> str:
    """The normal form; `ValidationError`."""
    return parse(spec.source.path, allows_relative=True).path


def overlapping(policy: SyncPolicy, others: Iterable[SyncPolicy]) -> list[SyncPolicy]:
    """Those of the same namespace that are not being deleted, sorted by age."""
    return sorted((each for each in others if _is_rival(policy, each)), key=age)


def age(policy: SyncPolicy) -> tuple[str, str]:
    """Sorts older policies first."""
    return policy.metadata.creation_timestamp or "9999", policy.metadata.name


def _is_rival(policy: SyncPolicy, other: SyncPolicy) -> bool:
    mine, theirs = policy.metadata, other.metadata
    if other.is_terminating or mine.namespace != theirs.namespace or mine.name == theirs.name:
        return False
    if policy.spec.managed_server_ref.name != other.spec.managed_server_ref.name:
        return False
    try:
        return overlaps(source_path(policy.spec), source_path(other.spec))
    except ValidationError:
        # An invalid policy syncs nothing.
        return False
