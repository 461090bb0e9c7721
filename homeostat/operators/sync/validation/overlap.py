"""Which policies would sync the same objects: two of one namespace with the same server and overlapping paths. Pure.

One directory may feed several servers. Of two policies that overlap, the older one keeps its scope, so that a new
policy cannot stop one that works.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit

import msgspec

from homeostat.operators.sync.api.policy import PolicySpec, SyncPolicy
from homeostat.operators.sync.engine.errors import ValidationError
from homeostat.operators.sync.engine.paths.logical import overlaps, parse
from homeostat.operators.sync.validation.environment import expand


def source_path(spec: PolicySpec) -> str:
    """The normal form; `ValidationError`."""
    return parse(spec.source.path, allows_relative=True).path


def overlapping(policy: SyncPolicy, others: Iterable[SyncPolicy], environment: Mapping[str, str]) -> list[SyncPolicy]:
    """Those of the same namespace that are not being deleted, sorted by age."""
    mine = _scope(policy, environment)
    if mine is None:
        return []
    return sorted((each for each in others if _is_rival(policy, mine, each, _scope(each, environment))), key=age)


def sharing(policy: SyncPolicy, others: Iterable[SyncPolicy], environment: Mapping[str, str]) -> list[SyncPolicy]:
    """Those of other namespaces with an overlapping path; the caller knows that they have the same server."""
    mine = _scope(policy, environment)
    found = (
        (each, _scope(each, environment))
        for each in others
        if each.metadata.namespace != policy.metadata.namespace and not each.is_terminating
    )
    return [each for each, theirs in found if mine and theirs and overlaps(mine[1], theirs[1])]


def server_url(url: str) -> str:
    """The form in which base URLs are compared; an invalid one equals only itself."""
    try:
        parts = urlsplit(url.strip().rstrip("/"))
    except ValueError:
        return url
    return f"{parts.scheme.lower()}://{parts.netloc.rpartition('@')[2].lower()}{parts.path}"


def age(policy: SyncPolicy) -> tuple[str, str]:
    """Sorts older policies first."""
    return policy.metadata.creation_timestamp or "9999", policy.metadata.name


def _scope(policy: SyncPolicy, environment: Mapping[str, str]) -> tuple[str, str] | None:
    """Server and path; None for an invalid policy, which syncs nothing."""
    try:
        spec = expand(policy.spec, environment)
        return spec.managed_server_ref.name, source_path(spec)
    except (ValidationError, msgspec.ValidationError):
        return None


def _is_rival(policy: SyncPolicy, mine: tuple[str, str], other: SyncPolicy, theirs: tuple[str, str] | None) -> bool:
    if other.is_terminating or policy.metadata.namespace != other.metadata.namespace or theirs is None:
        return False
    if policy.metadata.name == other.metadata.name:
        return False
    return mine[0] == theirs[0] and overlaps(mine[1], theirs[1])
