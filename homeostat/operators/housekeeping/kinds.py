"""The kinds a server has, as its discovery tells them. Pure.

A kind is known by its group and name (`ReplicaSet.apps`): objects of one kind are one set whatever version they are
asked for in, so an owner reference that names another version, even one no longer served, still finds its owner.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property, lru_cache
from sys import intern
from urllib.parse import quote

import msgspec

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
DEFINITION = "CustomResourceDefinition.apiextensions.k8s.io"
NAMESPACE = "Namespace."
POD = "Pod."
_FOLLOWED_VERBS = frozenset({"list", "watch", "delete"})
# They are many, short-lived and may own nothing; Kubernetes' collector leaves them out too.
_NOT_FOLLOWED = frozenset({"Event.", "Event.events.k8s.io"})


@lru_cache(maxsize=4096)
def kind_key(api_version: str, kind: str) -> str:
    """`apps/v1`, `ReplicaSet` -> `ReplicaSet.apps`; `v1`, `Pod` -> `Pod.`"""
    return intern(f"{kind}.{api_version.rpartition('/')[0]}")


class Kind(msgspec.Struct, frozen=True, dict=True):
    group: str
    version: str
    kind: str
    plural: str
    is_namespaced: bool
    verbs: frozenset[str]

    @cached_property
    def key(self) -> str:
        return kind_key(f"{self.group}/{self.version}", self.kind)

    @cached_property
    def is_followed(self) -> bool:
        return self.verbs >= _FOLLOWED_VERBS and self.key not in _NOT_FOLLOWED

    @cached_property
    def _root(self) -> str:
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    def collection(self, namespace: str = "") -> str:
        """Path of all objects of a namespace, or of all there are."""
        if namespace and self.is_namespaced:
            return f"{self._root}/namespaces/{namespace}/{self.plural}"
        return f"{self._root}/{self.plural}"

    def path(self, namespace: str, name: str) -> str:
        return f"{self.collection(namespace)}/{quote(name, safe=':')}"


class _Named(msgspec.Struct):
    kind: str = ""


class _Resource(msgspec.Struct, rename="camel"):
    resource: str
    scope: str
    verbs: frozenset[str]
    response_kind: _Named = msgspec.field(default_factory=_Named)


class _Version(msgspec.Struct):
    version: str
    resources: list[_Resource] = []


class _GroupMetadata(msgspec.Struct):
    name: str = ""


class _Group(msgspec.Struct):
    metadata: _GroupMetadata = msgspec.field(default_factory=_GroupMetadata)
    versions: list[_Version] = []


class _Groups(msgspec.Struct):
    items: list[_Group]


_documents = msgspec.json.Decoder(_Groups)


def read_discovery(documents: Iterable[bytes]) -> dict[str, Kind]:
    """Every kind by its key, each at the version that the server prefers, from aggregated discovery documents."""
    found: dict[str, Kind] = {}
    for document in documents:
        for group in _documents.decode(document).items:
            for version in group.versions:
                for each in version.resources:
                    kind = Kind(
                        group=group.metadata.name,
                        version=version.version,
                        kind=each.response_kind.kind,
                        plural=each.resource,
                        is_namespaced=each.scope == "Namespaced",
                        verbs=each.verbs,
                    )
                    found.setdefault(kind.key, kind)
    return found
