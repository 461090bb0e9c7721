"""ControllerRevisions: the history of the templates of StatefulSets and DaemonSets.

A template that comes back, as by `kubectl rollout undo`, gets its old revision back with a new number.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import msgspec

from homeostat.client.base import Client
from homeostat.objects.declared import owner_reference
from homeostat.objects.errors import AlreadyExistsError, ConflictError, NotFoundError
from homeostat.objects.json import JsonObject, ordered_by_name
from homeostat.objects.kind import Kind
from homeostat.objects.selectors import selector_of
from homeostat.operators.workloads.api import CONTROLLER_REVISION, Revision, Workload
from homeostat.operators.workloads.family import BY_OWNER, ORPHANS, check_owner
from homeostat.operators.workloads.naming import hash_of, hashed
from homeostat.operators.workloads.ownership import adoption, claim
from homeostat.runtime.cache.cache import Cache

LABEL = "controller.kubernetes.io/hash"
_LABELS = {"DaemonSet": "controller-revision-hash"}
"""Of the hash, where it is not `LABEL`."""


class Named(NamedTuple):
    """A revision: its name, and the label of Pods that were made from it."""

    name: str
    hash: str


class Revisions:
    def __init__(self, client: Client, revisions: Cache[Revision]) -> None:
        self._client, self._revisions = client, revisions

    def of(self, workload: Workload) -> list[Revision]:
        """Oldest first."""
        found = self._revisions.indexed(BY_OWNER, workload.metadata.uid)
        return sorted(found, key=lambda each: (each.revision, each.metadata.name))

    async def current(self, kind: Kind, workload: Workload, used: Collection[str]) -> Named:
        """The revision of the current template, created or renumbered if need be. Deletes old ones beyond the limit,
        except those that Pods use, by hash or name.
        """
        await self._adopt_orphans(kind, workload)
        history = self.of(workload)
        data = snapshot(workload)
        newest = history[-1].revision if history else 0
        match = next((each for each in history if each.data == data), None)
        if match is None:
            return await self._create(kind, workload, data, newest + 1)
        if match.revision != newest:
            path = CONTROLLER_REVISION.path(match.metadata.namespace, match.metadata.name)
            await self._client.merge(path, {"revision": newest + 1})
        else:
            await self._truncate(workload, history, {match.metadata.name, *used})
        return Named(match.metadata.name, _hash_of(match))

    async def _adopt_orphans(self, kind: Kind, workload: Workload) -> None:
        """As of a StatefulSet that was deleted without its Pods and created again."""
        meta = workload.metadata
        orphans = self._revisions.indexed(ORPHANS, meta.namespace)
        found = claim(meta, selector_of(workload.spec.get("selector")), orphans).adopted
        if found:
            await check_owner(self._client, kind, meta)
        for each in found:
            path = CONTROLLER_REVISION.path(meta.namespace, each.metadata.name)
            await self._client.merge(path, adoption(kind, meta, each.metadata))
        if found:
            raise ConflictError(f'{kind.kind} "{meta.name}" has adopted {len(found)} revisions; the cache follows')

    async def _create(self, kind: Kind, workload: Workload, data: JsonObject, number: int) -> Named:
        meta = workload.metadata
        digest = hash_of(data, workload.status.get("collisionCount") or 0)
        labels = ((workload.spec.get("template") or {}).get("metadata") or {}).get("labels") or {}
        new: JsonObject = {
            "apiVersion": "apps/v1",
            "kind": "ControllerRevision",
            "metadata": {
                "name": hashed(meta.name, digest),
                "namespace": meta.namespace,
                "labels": {**labels, _LABELS.get(kind.kind, LABEL): digest},
                **({"annotations": dict(meta.annotations)} if meta.annotations else {}),
                "ownerReferences": [owner_reference(kind, meta)],
            },
            "data": data,
            "revision": number,
        }
        try:
            await self._client.create(CONTROLLER_REVISION.path(meta.namespace), new)
        except AlreadyExistsError:
            path = CONTROLLER_REVISION.path(meta.namespace, new["metadata"]["name"])
            found = msgspec.convert(await self._client.get(path), Revision)
            owner = found.metadata.controller
            if found.data != data or owner is None or owner.uid != meta.uid:
                # Another template has this hash, or somebody else's revision the name: the next hash is another.
                count = (workload.status.get("collisionCount") or 0) + 1
                await self._client.merge(
                    kind.path(meta.namespace, meta.name, "status"), {"status": {"collisionCount": count}}
                )
                raise ConflictError(f'ControllerRevision "{new["metadata"]["name"]}" exists already') from None
        return Named(new["metadata"]["name"], digest)

    async def _truncate(self, workload: Workload, history: list[Revision], used: Collection[str]) -> None:
        limit = workload.spec.get("revisionHistoryLimit", 10)
        idle = [each for each in history if each.metadata.name not in used and _hash_of(each) not in used]
        for each in idle[: max(len(idle) - limit, 0)] if limit is not None else ():
            try:
                await self._client.delete(CONTROLLER_REVISION.path(each.metadata.namespace, each.metadata.name))
            except NotFoundError:
                continue


def _hash_of(revision: Revision) -> str:
    labels = revision.metadata.labels
    return next((labels[each] for each in (LABEL, *_LABELS.values()) if each in labels), "")


def snapshot(workload: Workload) -> JsonObject:
    """What a revision holds: a patch that brings the template back. Its members are in the order of their names, as Go
    writes them: clients compare the bytes.
    """
    template = workload.spec.get("template") or {}
    return {"spec": {"template": ordered_by_name({**template, "$patch": "replace"})}}
