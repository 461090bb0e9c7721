"""Follows the annotated workloads of all kinds, and deletes the ImageUpdates of those that are gone.

Argo's Rollouts are followed while the server serves them: their watch begins with the definition and ends with it. An
operator of one namespace does not follow them, because permissions for a namespace do not include definitions.

An ImageUpdate is deleted when its workload is gone, by its owner reference or by us, whoever is first. If the workload
only lost its annotations, the ImageUpdate stays for `keep_s`, and one with a pin for as long as the workload exists: an
annotation that is missing for a moment must not undo what a person decided.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from homeostat.objects.declared import OwnerReference
from homeostat.objects.kind import DEFINITION, DEPLOYMENT, Kind
from homeostat.objects.views.workload import Workload
from homeostat.operators.images.api import FINALIZER, ImageUpdate
from homeostat.operators.images.batching.group import Group, group_of
from homeostat.operators.images.engine.annotations import Tracked, tracked_of, untracked_problem
from homeostat.operators.images.engine.workloads import (
    ALL,
    BY_WORD,
    CRON_JOB,
    KINDS,
    ROLLOUT,
    ROLLOUT_DEFINITION,
    CronJob,
    Definition,
)
from homeostat.operators.images.records import Records
from homeostat.runtime.cache.cache import Cache, Change
from homeostat.runtime.cache.informer import Informer
from homeostat.runtime.control.recorder import About
from homeostat.runtime.setup import Setup

_SETTLE_S: Final = 0.2
_CHECK_EVERY_S: Final = 60.0
_BY_NAME: Final = {(each.group, each.kind): each for each in ALL}


class TrackedWorkloads:
    """The tracked workloads, in the order in which they came."""

    def __init__(self) -> None:
        self._found: dict[tuple[Kind, str, str], Tracked] = {}
        self._records: dict[tuple[str, str], Tracked] = {}
        """By namespace and name of their ImageUpdates."""
        self._groups: dict[Group, dict[tuple[Kind, str, str], Tracked]] = {}
        """Those that are enabled. A pass over one group must not read all the others."""

    def __len__(self) -> int:
        return len(self._found)

    def all(self) -> Sequence[Tracked]:
        return list(self._found.values())

    def groups(self) -> set[Group]:
        return set(self._groups)

    def members(self, group: Group) -> Sequence[Tracked]:
        """Those of a group that are enabled, in the order in which they came to it."""
        return list(self._groups.get(group, {}).values())

    def has(self, namespace: str, record: str, uid: str) -> bool:
        """Whether the owner of an ImageUpdate is tracked."""
        found = self._records.get((namespace, record))
        return found is not None and found.uid == uid

    def of_record(self, namespace: str, record: str) -> Tracked | None:
        return self._records.get((namespace, record))

    def set(self, kind: Kind, namespace: str, name: str, tracked: Tracked | None) -> Tracked | None:
        """Returns what was tracked before."""
        key = (kind, namespace, name)
        before = self._found.get(key)
        self._regroup(key, before, tracked)
        if tracked is not None:
            self._found[key] = tracked
            self._records[namespace, tracked.record] = tracked
        elif before is not None:
            del self._found[key]
            self._records.pop((namespace, before.record), None)
        return before

    def _regroup(self, key: tuple[Kind, str, str], before: Tracked | None, tracked: Tracked | None) -> None:
        old, new = _group(before), _group(tracked)
        if old is not None and old != new:
            members = self._groups[old]
            del members[key]
            if not members:
                del self._groups[old]
        if new is not None and tracked is not None:
            self._groups.setdefault(new, {})[key] = tracked


class Tracking:
    """Fills `tracked`, and notes in `records` whose workload has changed."""

    def __init__(self, setup: Setup, tracked: TrackedWorkloads, records: Records) -> None:
        self._setup, self._tracked, self._records = setup, tracked, records
        self._handlers: list[Callable[[Tracked], None]] = []
        self._followed: dict[Kind, Informer[Any]] = {}
        self._definitions: Informer[Definition] | None = None
        self._rollouts: Informer[Workload] | None = None
        self._problems: dict[tuple[Kind, str, str], str] = {}
        """Why workloads that lack one annotation are not tracked, as their last Event says."""
        self.changed = asyncio.Event()
        for kind in KINDS:
            self._follow(kind)
        jobs = setup.watch(CRON_JOB, CronJob)
        jobs.add_handler(self._note_cron_job)
        self._followed[CRON_JOB] = jobs
        if not setup.namespace:
            self._definitions = setup.watch(DEFINITION, Definition, fields=f"metadata.name={ROLLOUT_DEFINITION}")
            self._definitions.add_handler(self._note_definition)

    def add_handler(self, handler: Callable[[Tracked], None]) -> None:
        """`handler` gets each workload that is tracked, or changed while it is."""
        self._handlers.append(handler)

    def exists(self, owner: OwnerReference, namespace: str) -> bool | None:
        """Whether the owner of an ImageUpdate exists and is not being deleted; None if that is unknown, or it is of
        another kind.
        """
        kind = _BY_NAME.get((owner.api_version.rpartition("/")[0], owner.kind))
        informer = self._followed.get(kind) if kind is not None else None
        if informer is None or not _sees(informer, namespace, owner.name):
            return None
        return _uid(informer.cache.readable(namespace, owner.name)) == owner.uid

    def knows(self, namespace: str, label: str) -> bool:
        """Whether the workload with this label is gone if it is not tracked. It is not while its kind was not listed or
        is not served, nor if it cannot be read.
        """
        word, _, name = label.rpartition("/")
        kind = BY_WORD.get(word) if word else DEPLOYMENT
        informer = self._followed.get(kind) if kind is not None else None
        if informer is not None:
            return _sees(informer, namespace, name)
        return kind == ROLLOUT and self._definitions is not None and _has_none(self._definitions)

    def _follow(self, kind: Kind) -> Informer[Workload]:
        informer = self._setup.watch(kind, Workload)
        informer.add_handler(partial(self._note, kind))
        self._followed[kind] = informer
        return informer

    def _note_cron_job(self, change: Change[CronJob]) -> None:
        self._set(CRON_JOB, change.namespace, change.name, change.new.workload if change.new is not None else None)

    def _note(self, kind: Kind, change: Change[Workload]) -> None:
        self._set(kind, change.namespace, change.name, change.new)

    def _set(self, kind: Kind, namespace: str, name: str, workload: Workload | None) -> None:
        found = tracked_of(workload, kind) if workload is not None else None
        self._report_problem((kind, namespace, name), workload)
        before = self._tracked.set(kind, namespace, name, found)
        if changed := found or before:
            self._records.note_workload(namespace, changed.record)
        if found is not None:
            for handler in self._handlers:
                handler(found)
        elif before is not None or workload is None:
            self.changed.set()

    def _report_problem(self, key: tuple[Kind, str, str], workload: Workload | None) -> None:
        """Once, until the reason is another one."""
        problem = untracked_problem(workload) if workload is not None else ""
        before = self._problems.pop(key, "")
        if workload is None or not problem:
            return
        self._problems[key] = problem
        if problem != before:
            kind, namespace, name = key
            about = About(kind.api_version, kind.kind, namespace, name, workload.metadata.uid)
            self._setup.recorder.record(
                about, "Warning", "AnnotationMissing", f"{kind.kind} {name} is not tracked: {problem}"
            )

    def _note_definition(self, change: Change[Definition]) -> None:
        is_served = change.new is not None and change.new.serves(ROLLOUT)
        if is_served and self._rollouts is None:
            self._rollouts = self._follow(ROLLOUT)
        elif not is_served and self._rollouts is not None:
            gone = [each.metadata for each in self._rollouts.cache]
            self._setup.unwatch(self._rollouts)
            self._rollouts = None
            del self._followed[ROLLOUT]
            for each in gone:
                self._set(ROLLOUT, each.namespace, each.name, None)


class Retirement:
    """Deletes ImageUpdates that no workload needs any more. `clear` triggers a pass over the proposals of a group,
    which a deleted ImageUpdate waits for.
    """

    def __init__(
        self,
        tracking: Tracking,
        tracked: TrackedWorkloads,
        updates: Cache[ImageUpdate],
        records: Records,
        clear: Callable[[Group], None],
        *,
        keep_s: float,
    ) -> None:
        self._tracking, self._tracked, self._updates, self._records = tracking, tracked, updates, records
        self._clear, self._keep_s = clear, keep_s
        self._since: dict[str, float] = {}
        """Since when the workload of an ImageUpdate, by uid, has no annotations."""

    async def run(self) -> None:
        """The job: when a workload is no longer tracked, and now and then."""
        while True:
            self._tracking.changed.clear()
            await self._records.forget(self._retired(asyncio.get_running_loop().time()))
            await self._release()
            try:
                async with asyncio.timeout(min(max(self._keep_s, 1.0), _CHECK_EVERY_S)):
                    await self._tracking.changed.wait()
            except TimeoutError:
                continue
            # A namespace that is deleted loses many workloads at once.
            await asyncio.sleep(_SETTLE_S)

    def note(self, change: Change[ImageUpdate]) -> None:
        """A handler of the changes of ImageUpdates."""
        if change.new is not None and change.new.is_terminating:
            self._tracking.changed.set()

    async def _release(self) -> None:
        proposals = self._records.open_proposals()
        waiting = {each.record for some in proposals.values() for each in some}
        for group, some in proposals.items():
            if any(each.deleted is not None for each in some):
                self._clear(group)
        for update in list(self._updates):
            key = (update.metadata.namespace, update.metadata.name)
            if update.is_terminating and FINALIZER in update.metadata.finalizers and key not in waiting:
                await self._records.settle(key)

    def _retired(self, now: float) -> list[tuple[str, str]]:
        found, known = list[tuple[str, str]](), set[str]()
        for update in self._updates:
            owner = next((each for each in update.metadata.owner_references if each.controller), None)
            metadata = update.metadata
            if owner is None or self._tracked.has(metadata.namespace, metadata.name, owner.uid):
                continue
            known.add(metadata.uid)
            if self._is_due(update, self._tracking.exists(owner, metadata.namespace), now):
                found.append((metadata.namespace, metadata.name))
        self._since = {uid: at for uid, at in self._since.items() if uid in known}
        return found

    def _is_due(self, update: ImageUpdate, exists: bool | None, now: float) -> bool:
        if exists is None or update.is_terminating:
            return False
        since = self._since.setdefault(update.metadata.uid, now)
        return not exists or (update.spec.pin is None and now - since >= self._keep_s)


def _group(tracked: Tracked | None) -> Group | None:
    return group_of(tracked.settings) if tracked is not None and tracked.settings.enabled else None


def _sees(informer: Informer[Any], namespace: str, name: str) -> bool:
    """Whether an object that the cache does not have does not exist."""
    is_unreadable = informer.cache.readable(namespace, name) is None and informer.cache.knows(namespace, name)
    return informer.watcher.synced.is_set() and not is_unreadable


def _has_none(informer: Informer[Any]) -> bool:
    return informer.watcher.synced.is_set() and not len(informer.cache) and not informer.cache.unreadable


def _uid(found: Workload | CronJob | None) -> str | None:
    """None for one that is gone or being deleted."""
    return None if found is None or found.metadata.deletion_timestamp is not None else found.metadata.uid
