"""What the operator remembers of Deployments, as `ImageUpdate` objects: read from the cache, written when it changes.

The cache may lag behind our own writes, and a tag that we wrote must never look like one that a person has set. So the
last status that was written goes before the one in the cache, until the object is deleted.

An object with proposals has a finalizer, so that a pass can clear them before the object is gone.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Final

import msgspec

from homeostat.client.base import Client, UnreachableError
from homeostat.objects.declared import readable_status
from homeostat.objects.errors import AlreadyExistsError, ApiError, ConflictError, NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.operators.images.api import (
    FINALIZER,
    IMAGE_UPDATE,
    ImageUpdate,
    ImageUpdateStatus,
    Notice,
    Pin,
    owned,
)
from homeostat.operators.images.batching.group import Group
from homeostat.operators.images.engine.annotations import Tracked
from homeostat.operators.images.pulls.index import ProposalIndex
from homeostat.operators.images.pulls.proposal import (
    OpenProposal,
    open_proposals,
    proposal_of,
    with_proposal,
    without_proposal,
)
from homeostat.operators.images.status import LONGEST, PINNED_BY_US, Outcome, new_status, record_of
from homeostat.operators.images.world import Record
from homeostat.runtime.cache.cache import Cache, Change

log = logging.getLogger(__name__)
_ATTEMPTS: Final = 5
_KIND: Final = IMAGE_UPDATE.kind
Key = tuple[str, str]


class Records:
    """`current` finds the workload of an ImageUpdate, if it is tracked."""

    def __init__(
        self, client: Client, cache: Cache[ImageUpdate], current: Callable[[str, str], Tracked | None]
    ) -> None:
        self._client, self._cache = client, cache
        self._proposed = ProposalIndex(lambda *key: self._open_proposals(key, current(*key)))
        self._written: dict[Key, ImageUpdateStatus] = {}
        self._pins: dict[Key, Pin] = {}
        self._turns: dict[Key, asyncio.Lock] = {}

    def note(self, change: Change[ImageUpdate]) -> None:
        """A handler of the cache's changes."""
        key, new, old = (change.namespace, change.name), change.new, change.old
        if new is None:
            self._written.pop(key, None)
            self._turns.pop(key, None)
        if new is None or new.spec.pin is not None or (old is not None and old.spec.pin is not None):
            # Until then the cache may still lag behind a pin of ours.
            self._pins.pop(key, None)
        self._proposed.mark(*key)

    def note_workload(self, namespace: str, record: str) -> None:
        """The workload of this ImageUpdate has changed."""
        self._proposed.mark(namespace, record)

    def of(self, tracked: Tracked) -> Record:
        return record_of(self.status(tracked), self._pin(tracked))

    def status(self, tracked: Tracked) -> ImageUpdateStatus:
        key = (tracked.namespace, tracked.record)
        return self._written.get(key) or self._stored(key)

    def handled(self, tracked: Tracked) -> str:
        """The last trigger that was handled."""
        key = (tracked.namespace, tracked.record)
        return (self._written.get(key) or self._stored(key)).handled_request or ""

    def _stored(self, key: Key) -> ImageUpdateStatus:
        found = self._cache.get(*key)
        return ImageUpdateStatus() if found is None else readable_status(found, ImageUpdateStatus)

    def _pin(self, tracked: Tracked) -> Pin | None:
        key = (tracked.namespace, tracked.record)
        if key in self._pins:
            return self._pins[key]
        found = self._cache.get(*key)
        return None if found is None else found.spec.pin

    def open_proposals(self) -> dict[Group, list[OpenProposal]]:
        """All proposals. What has not changed since the last call is not read again."""
        return self._proposed.by_group()

    def _open_proposals(self, key: Key, current: Tracked | None) -> list[OpenProposal]:
        update = self._cache.readable(*key)
        if update is None or (FINALIZER not in update.metadata.finalizers and key not in self._written):
            return []
        return open_proposals(update, self._written.get(key) or self._stored(key), current)

    def _remember(self, key: Key, status: ImageUpdateStatus) -> None:
        self._written[key] = status
        self._proposed.mark(*key)

    async def attempt(self, tracked: Tracked, tag: str, *, old: str, branch: str = "") -> None:
        """Before a tag is pushed, so that after a crash it is known to be ours, and `old` to be what was there.
        `branch` is that of the request, where the tag is proposed; `TooManyProposalsError` if it is one too many.
        """
        before = self.status(tracked)
        if branch:
            proposals = with_proposal(before.proposals, proposal_of(tracked, branch))
            before = msgspec.structs.replace(before, proposals=proposals)
        status = msgspec.structs.replace(
            before,
            attempt=tag[:LONGEST],
            tag=before.tag or old[:LONGEST],
            image=tracked.settings.image[:LONGEST],
        )
        await self._write(tracked, status)

    async def keep(self, tracked: Tracked, outcome: Outcome, now: datetime) -> None:
        if outcome.pin is not None:
            await self._set_pin(tracked, outcome.pin)
        before = self.status(tracked)
        await self._write(tracked, new_status(before, tracked, outcome, now, is_pinned=self._pin(tracked) is not None))

    def outbox(self, key: Key) -> tuple[Notice, ...]:
        return (self._written.get(key) or self._stored(key)).outbox

    async def sent(self, key: Key, identity: str) -> None:
        """Removes a notification that was sent or dropped."""
        status = self._written.get(key) or self._stored(key)
        kept = tuple(each for each in status.outbox if each.id != identity)
        if kept == status.outbox:
            return
        await self._replace(key, msgspec.structs.replace(status, outbox=kept))

    async def release(self, proposal: OpenProposal) -> None:
        """Forgets a proposal that was cleared, or that nobody can clear."""
        status = self._written.get(proposal.record) or self._stored(proposal.record)
        kept = without_proposal(status.proposals, proposal)
        await self._replace(proposal.record, msgspec.structs.replace(status, proposals=kept))

    async def settle(self, key: Key) -> None:
        """Removes the finalizer of an object without proposals that can be read."""
        status = self._written.get(key) or self._stored(key)
        await self._replace(key, msgspec.structs.replace(status, proposals=()))

    async def reported(self, tracked: Tracked, identity: str) -> None:
        """Keeps that the status of a commit was set. Until then a pass sets it again, also after a crash."""
        key = (tracked.namespace, tracked.record)
        if key in self._written or self._cache.get(*key) is not None:
            status = self._written.get(key) or self._stored(key)
            await self._replace(key, msgspec.structs.replace(status, reported=identity))

    async def _replace(self, key: Key, status: ImageUpdateStatus) -> None:
        self._remember(key, status)
        try:
            await self._send(key)
        except NotFoundError:
            # A workload that is created under the name of a deleted one has no history.
            if self._written.get(key) is status:
                del self._written[key]
                self._proposed.mark(*key)
        except (ApiError, UnreachableError) as error:
            # The next status of the workload has it.
            log.warning("failed to write image update", extra={"update": "/".join(key), "reason": str(error)})

    async def _set_pin(self, tracked: Tracked, tag: str) -> None:
        patch: JsonObject = {"spec": {"pin": {"tag": tag[:LONGEST], "reason": PINNED_BY_US}}}
        key = (tracked.namespace, tracked.record)
        self._pins[key] = Pin(tag=tag[:LONGEST], reason=PINNED_BY_US)
        await self._create(tracked)
        await self._client.merge(_KIND.path(*key), patch)

    async def _write(self, tracked: Tracked, status: ImageUpdateStatus) -> None:
        key = (tracked.namespace, tracked.record)
        if self._stored(key) == status and self._is_settled(key, status):
            self._remember(key, status)
            return
        self._remember(key, status)
        await self._create(tracked)
        await self._send(key)

    async def _send(self, key: Key) -> None:
        """Writes the newest status, one write after another: an older one must not come last."""
        async with self._turns.setdefault(key, asyncio.Lock()):
            status = self._written.get(key)
            if status is None:
                return
            # A merge patch removes a field by null, and the struct leaves out those that are empty.
            body = dict.fromkeys(
                (
                    "tag",
                    "wanted",
                    "since",
                    "attempt",
                    "commit",
                    "pullRequest",
                    "proposals",
                    "result",
                    "history",
                    "notified",
                    "reported",
                    "outbox",
                )
            )
            patch: JsonObject = {"status": {**body, **msgspec.to_builtins(status)}}
            for _ in range(_ATTEMPTS):
                written = await self._client.merge(_KIND.path(*key, "status"), patch)
                if await self._set_finalizer(key, written["metadata"], is_wanted=bool(status.proposals)):
                    return

    async def _set_finalizer(self, key: Key, metadata: JsonObject, *, is_wanted: bool) -> bool:
        """False if the object was changed meanwhile: finalizers of others must not get lost."""
        found = metadata.get("finalizers", [])
        if (FINALIZER in found) == is_wanted or (is_wanted and "deletionTimestamp" in metadata):
            return True
        kept = [*found, FINALIZER] if is_wanted else [each for each in found if each != FINALIZER]
        patch: JsonObject = {"metadata": {"resourceVersion": metadata["resourceVersion"], "finalizers": kept}}
        try:
            await self._client.merge(_KIND.path(*key), patch)
        except ConflictError:
            return False
        return True

    def _is_settled(self, key: Key, status: ImageUpdateStatus) -> bool:
        """Whether the stored object has the finalizer that its status needs."""
        found = self._cache.get(*key)
        return found is not None and (FINALIZER in found.metadata.finalizers) == bool(status.proposals)

    async def _create(self, tracked: Tracked) -> None:
        if self._cache.get(tracked.namespace, tracked.record) is not None:
            return
        try:
            await self._client.create(_KIND.path(tracked.namespace), owned(tracked))
        except AlreadyExistsError:
            return

    async def forget(self, keys: Iterable[Key]) -> None:
        """Deletes the objects of workloads that are no longer tracked."""
        for key in keys:
            try:
                await self._client.delete(_KIND.path(*key))
            except NotFoundError:
                continue
            except (ApiError, UnreachableError) as error:
                log.warning("failed to delete image update", extra={"name": "/".join(key), "reason": str(error)})
