"""Garbage collection by owner references: background, foreground and orphan, as Kubernetes has them.

The graph names the objects to reconcile. A reconciliation reads the live object, decides, and acts with a precondition,
so a decision on a stale object ends in a conflict and is repeated. An owner counts as deleted only after a DELETED
event of its uid or a live read of its name. While a kind has not been listed, nothing is deleted or released, because
dependents may still be unknown.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Iterable

import msgspec

from homeostat.client.base import Client
from homeostat.edge.turn import Turn
from homeostat.objects.declared import OwnerReference
from homeostat.objects.kind import Kind
from homeostat.operators.housekeeping.garbage.decide import Delete, Keep, Release, decide
from homeostat.operators.housekeeping.garbage.graph import (
    FOREGROUND_FINALIZER,
    ORPHAN_FINALIZER,
    Graph,
    Node,
    Phase,
    Ref,
    Standing,
    node_of,
    phase_of,
    refs_of,
)
from homeostat.operators.housekeeping.metadata.client import MetadataClient
from homeostat.operators.housekeeping.metadata.events import Changed, FeedEvent, Gone, Listed, Listing, Lost, Synced
from homeostat.operators.housekeeping.metadata.feed import BACKOFF, Feed
from homeostat.operators.housekeeping.metadata.metadata import Metadata
from homeostat.runtime.control.queue import Priority, WorkQueue
from homeostat.runtime.control.recorder import About, Recorder
from homeostat.runtime.control.workers import Workers

log = logging.getLogger(__name__)

_WORKERS = 64
_ORPHANED_AT_ONCE = 24
_QUEUED_AT_ONCE = 64
_YIELD_EVERY = 64


class Collector:
    def __init__(self, client: Client, feed: Feed) -> None:
        self._client = MetadataClient(client)
        self._recorder = Recorder(client, "garbage-collector-controller")
        self._feed = feed
        self._graph = Graph()
        self._queue: WorkQueue[str] = WorkQueue(backoff=BACKOFF)
        self._workers = Workers(self._queue, self._reconcile, name="garbage collection", count=_WORKERS)
        self._deferred: set[str] = set()
        """Objects to reconcile when every kind is known and listed."""
        self._arriving: deque[str] = deque()
        """Objects that are not in the queue yet, because they were added with many others."""
        self._has_arrived = asyncio.Event()
        self._unlisted: dict[str, set[str]] = {}
        """By kind: known objects that have not appeared in the current list yet."""
        feed.subscribe(self._observe)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._recorder.run())
            tasks.create_task(self._workers.run())
            tasks.create_task(self._queue_the_rest())

    def _observe(self, event: FeedEvent) -> None:
        match event:
            case Changed(key, metadata):
                if self._unlisted and key in self._unlisted:
                    self._unlisted[key].discard(metadata.uid)
                if self._graph.concerns(metadata):
                    self._put(metadata.uid, node_of(key, metadata))
            case Gone(_, metadata):
                self._add(self._graph.remove(metadata.uid, namespace=metadata.namespace))
            case Listing(key):
                self._unlisted[key] = self._graph.seen(key)
            case Listed(key):
                for uid in self._unlisted.pop(key):
                    self._add(self._graph.remove(uid))
            case Lost(key):
                self._unlisted.pop(key, None)
                self._add(self._graph.unsettle(key))
            case Synced():
                for uid in self._deferred:
                    self._queue.add(uid, priority=Priority.RESYNC)
                self._deferred.clear()

    def _put(self, uid: str, node: Node) -> None:
        visits = self._graph.put(uid, node)
        for each in visits:
            self._report_stranger(each, uid)
        self._add(visits)

    def _add(self, uids: Iterable[str]) -> None:
        if not self._feed.is_synced:
            self._deferred.update(uids)
            return
        added = list(uids)
        for uid in added[:_QUEUED_AT_ONCE]:
            self._queue.add(uid)
        self._arriving.extend(added[_QUEUED_AT_ONCE:])
        if self._arriving:
            self._has_arrived.set()

    async def _queue_the_rest(self) -> None:
        """An owner may have thousands of dependents, which one event adds."""
        while True:
            await self._has_arrived.wait()
            self._has_arrived.clear()
            turn = Turn()
            while self._arriving:
                self._queue.add(self._arriving.popleft())
                await turn.pause()

    async def _reconcile(self, uid: str) -> None:
        node = self._graph.get(uid)
        if node is None or node.phase in {Phase.ABSENT, Phase.DELETING}:
            return
        kind = self._feed.kinds.get(node.kind)
        if kind is None or not self._feed.is_synced:
            self._deferred.add(uid)
            return
        match node.phase:
            case Phase.UNVERIFIED:
                await self._verify(uid, node, kind)
            case Phase.ALIVE:
                await self._judge(uid, node, kind)
            case Phase.FOREGROUND:
                await self._finish_foreground(uid, node, kind)
            case Phase.ORPHANING:
                await self._orphan(uid, node, kind)

    async def _verify(self, uid: str, node: Node, kind: Kind) -> None:
        """Look up an owner that is referenced but was never seen."""
        if kind.is_namespaced and not node.namespace:
            return  # Referenced by a cluster-scoped object, which cannot have a namespaced owner.
        found = await self._client.get(kind, node.namespace, node.name)
        if self._graph.get(uid) is not node or node.phase is not Phase.UNVERIFIED:
            return
        if found is not None and found.uid == uid:
            self._put(uid, node_of(node.kind, found))
        else:
            self._add(self._graph.remove(uid, namespace=None if kind.is_namespaced else ""))

    async def _judge(self, uid: str, node: Node, kind: Kind) -> None:
        if all(self._graph.standing(ref, node.namespace) is Standing.SOLID for ref in node.owners):
            return
        live = await self._client.get(kind, node.namespace, node.name)
        if live is None or live.uid != uid:
            self._add(self._graph.remove(uid))
            return
        if phase_of(live) is not Phase.ALIVE:
            return
        standings: dict[Ref, Standing] = {}
        for count, ref in enumerate(refs_of(live), 1):
            standings[ref] = await self._standing(uid, ref, live.namespace)
            self._report_stranger(uid, ref.uid)
            if count % _YIELD_EVERY == 0:
                # The server is in the same process, so a read may never suspend.
                await asyncio.sleep(0)
        verdict = decide(standings, finalizers=live.finalizers or (), dependents=self._phases(uid))
        match verdict:
            case Keep():
                return
            case Release(owners):
                log.debug("removed owner references", extra=_log_fields(kind, live))
                await self._release(kind, live, owners)
            case Delete(policy, unblock):
                log.debug("deleted dependent", extra={**_log_fields(kind, live), "policy": policy})
                if unblock:
                    live = await self._unblock(kind, live)
                if live is not None:
                    await self._client.delete(kind, live, policy)

    def _report_stranger(self, uid: str, owner_uid: str) -> None:
        """Records the Event of Kubernetes if the owner is in another namespace."""
        if not self._graph.is_stranger(uid, owner_uid):
            return
        node, owner = self._graph.get(uid), self._graph.get(owner_uid)
        assert node is not None
        assert owner is not None
        kind, owner_kind = self._feed.kinds.get(node.kind), self._feed.kinds.get(owner.kind)
        if kind is None or owner_kind is None:
            return
        named = f"{owner_kind.api_version}/{owner_kind.kind}, namespace: {node.namespace}, name: {owner.name}"
        self._recorder.record(
            About(kind.api_version, kind.kind, node.namespace, node.name, uid),
            "Warning",
            "OwnerRefInvalidNamespace",
            f'ownerRef [{named}, uid: {owner_uid}] does not exist in namespace "{node.namespace}"',
        )

    def _phases(self, uid: str) -> dict[str, Phase]:
        nodes = ((each, self._graph.get(each)) for each in self._graph.dependents(uid))
        return {each: node.phase for each, node in nodes if node is not None}

    async def _standing(self, uid: str, ref: Ref, namespace: str) -> Standing:
        """From the graph, or else by a live read."""
        standing = self._graph.standing(ref, namespace)
        if standing is not Standing.UNKNOWN:
            return standing
        kind = self._feed.kinds.get(ref.kind)
        if kind is None:
            self._deferred.add(uid)
            return Standing.UNKNOWN
        if kind.is_namespaced and not namespace:
            log.warning(
                "ignoring owner reference: a cluster-scoped object cannot have a namespaced owner",
                extra={"uid": uid, "owner": ref.name},
            )
            return Standing.UNKNOWN
        found = await self._client.get(kind, namespace, ref.name)
        standing = self._graph.standing(ref, namespace)
        if standing is not Standing.UNKNOWN:
            return standing
        if found is None or found.uid != ref.uid:
            return Standing.DANGLING
        self._put(ref.uid, node_of(ref.kind, found))
        return Standing.WAITING if phase_of(found) is Phase.FOREGROUND else Standing.SOLID

    async def _finish_foreground(self, uid: str, node: Node, kind: Kind) -> None:
        """Foreground deletion: remove the finalizer when no dependent blocks it."""
        blockers = self._graph.blockers(uid)
        if blockers:
            phases = self._phases(uid)
            self._add(each for each in blockers if phases.get(each) is Phase.ALIVE)
            return
        await self._drop_finalizer(uid, node, kind, FOREGROUND_FINALIZER)

    async def _orphan(self, uid: str, node: Node, kind: Kind) -> None:
        """Remove the references of all dependents, then the finalizer."""
        waiting = iter(self._graph.dependents(uid))

        async def release() -> None:
            for dependent in waiting:
                await self._release_from(dependent, uid)

        # Not a task for each of them: there may be thousands.
        for outcome in await asyncio.gather(*(release() for _ in range(_ORPHANED_AT_ONCE)), return_exceptions=True):
            if outcome is not None:
                raise outcome
        await self._drop_finalizer(uid, node, kind, ORPHAN_FINALIZER)

    async def _release_from(self, uid: str, owner: str) -> None:
        node = self._graph.get(uid)
        kind = self._feed.kinds.get(node.kind) if node is not None else None
        if node is None or kind is None:
            return
        live = await self._client.get(kind, node.namespace, node.name)
        if live is not None and live.uid == uid:
            await self._release(kind, live, frozenset({owner}))

    async def _release(self, kind: Kind, live: Metadata, owners: frozenset[str]) -> None:
        references = live.owner_references or ()
        left = [each for each in references if each.uid not in owners]
        if len(left) != len(references):
            await self._client.edit(kind, live, {"ownerReferences": _encoded(left)})

    async def _unblock(self, kind: Kind, live: Metadata) -> Metadata | None:
        references = live.owner_references or ()
        if any(each.block_owner_deletion for each in references):
            changed = [msgspec.structs.replace(each, block_owner_deletion=False) for each in references]
            await self._client.edit(kind, live, {"ownerReferences": _encoded(changed)})
            return await self._client.get(kind, live.namespace, live.name)
        return live

    async def _drop_finalizer(self, uid: str, node: Node, kind: Kind, finalizer: str) -> None:
        live = await self._client.get(kind, node.namespace, node.name)
        if live is None or live.uid != uid:
            self._add(self._graph.remove(uid))
        elif finalizer in (live.finalizers or ()):
            await self._client.drop_finalizer(kind, live, finalizer)


def _encoded(references: Iterable[OwnerReference]) -> object:
    return msgspec.to_builtins(list(references)) or None


def _log_fields(kind: Kind, metadata: Metadata) -> dict[str, str]:
    return {"kind": kind.title, "namespace": metadata.namespace, "object": metadata.name}
