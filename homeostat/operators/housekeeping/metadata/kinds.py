"""The kinds of a server by key. Pure.

A key is name and group without a version (`ReplicaSet.apps`), so an owner reference with another version, even one that
is no longer served, still finds its owner.
"""

from __future__ import annotations

from collections.abc import Iterable
from sys import intern

from homeostat.objects.kind import CONFIG_MAP, DEFINITION, EVENT, NAMESPACE, POD, Kind
from homeostat.objects.memory.cache import cached

_FOLLOWED_VERBS = frozenset({"list", "watch", "delete"})


@cached(4096)
def kind_key(api_version: str, kind: str) -> str:
    """`apps/v1`, `ReplicaSet` -> `ReplicaSet.apps`; `v1`, `Pod` -> `Pod.`"""
    return intern(f"{kind}.{api_version.rpartition('/')[0]}")


def key_of(kind: Kind) -> str:
    return kind_key(kind.api_version, kind.kind)


DEFINITION_KEY = key_of(DEFINITION)
NAMESPACE_KEY = key_of(NAMESPACE)
POD_KEY = key_of(POD)
CONFIG_MAP_KEY = key_of(CONFIG_MAP)
SERVICE_ACCOUNT_KEY = kind_key("v1", "ServiceAccount")
CLUSTER_ROLE_KEY = kind_key("rbac.authorization.k8s.io/v1", "ClusterRole")
# They are many and short-lived, and own nothing; the collector of Kubernetes ignores them, too.
_NOT_FOLLOWED = frozenset({kind_key("v1", "Event"), key_of(EVENT)})


def by_key(kinds: Iterable[Kind]) -> dict[str, Kind]:
    """The kinds by key, each in the version that comes first."""
    found: dict[str, Kind] = {}
    for kind in kinds:
        found.setdefault(key_of(kind), kind)
    return found


def is_followed(kind: Kind) -> bool:
    return kind.verbs >= _FOLLOWED_VERBS and key_of(kind) not in _NOT_FOLLOWED
