"""A projection as an operator would declare it."""

from __future__ import annotations

import msgspec

from homeostat.runtime.cache.cache import CacheWriter
from homeostat.runtime.cache.decoding import name_of, version_of
from homeostat.runtime.cache.freshness import Deletion
from homeostat.runtime.cache.index import by_label


class OwnerReference(msgspec.Struct, rename="camel", frozen=True, gc=False):
    api_version: str
    kind: str
    name: str
    controller: bool | None = None


class Metadata(msgspec.Struct, rename="camel", frozen=True, gc=False):
    name: str
    namespace: str = ""
    resource_version: str = "0"
    generation: int = 0
    deletion_timestamp: str | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: tuple[OwnerReference, ...] | None = None
    uid: str = ""


class Pod(msgspec.Struct, frozen=True, gc=False):
    metadata: Metadata
    node: str = ""


def nodes_of(pod: Pod) -> tuple[str, ...]:
    return (pod.node,) if pod.node else ()


def pod(
    name: str, version: int = 1, *, namespace: str = "shop", node: str = "", app: str = "", uid: str = "", end: str = ""
) -> Pod:
    labels = {"app": app} if app else None
    return Pod(Metadata(name, namespace, str(version), labels=labels, uid=uid, deletion_timestamp=end or None), node)


def pod_cache() -> CacheWriter[Pod]:
    """Pods by the label `app` and by the node that they run on."""
    indexes = {"app": by_label("app"), "node": nodes_of}
    return CacheWriter(name_of=name_of, version_of=version_of, is_unseen=Deletion.is_unseen_in, indexes=indexes)
