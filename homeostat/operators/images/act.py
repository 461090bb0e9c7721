"""Writes the tags of a plan: one commit for all of them, pushed without force, and the outcome of each.

If the branch moved meanwhile, the tags are set in the files of its new head. A file whose tag has changed since it was
compared is not touched: the next pass decides again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

import msgspec

from homeostat.external.git.access import Remote
from homeostat.external.git.commit import Change as FileChange
from homeostat.external.git.commit import Identity, Signature, Signing
from homeostat.external.git.errors import GitError, PushConflictError, UnreachableError
from homeostat.external.git.push import Attempts, push_change
from homeostat.external.git.repository import Repository
from homeostat.external.git.snapshot import Snapshot
from homeostat.operators.images.decide import Due
from homeostat.operators.images.engine.entry import failed, patched, skipped, up_to_date
from homeostat.operators.images.engine.manifest import Change, Manifest
from homeostat.operators.images.engine.message import commit_message
from homeostat.operators.images.engine.places import ManifestError
from homeostat.operators.images.settings import ImageSettings
from homeostat.operators.images.sources.repositories import Count, read_files
from homeostat.operators.images.status import Outcome
from homeostat.operators.images.world import Problem

_ATTEMPTS: Final = 10
_PUSH_RETRY_S: Final = 15.0


class Applied(msgspec.Struct, frozen=True):
    """What setting the tags in one version of the files gives."""

    files: Mapping[str, bytes]
    changes: Mapping[str, tuple[Change, ...]]
    """By `NAMESPACE/NAME`; empty where the file has the tag already."""
    problems: Mapping[str, str]
    moved: frozenset[str]
    """Those whose files have changed since they were compared."""


class Actor:
    def __init__(
        self,
        settings: ImageSettings,
        count: Count,
        *,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._author = Identity(settings.author_name, settings.author_email)
        self._count, self._now = count, now

    async def push(
        self, repository: Repository, branch: str, updates: Sequence[Due], signing: Signing = None
    ) -> dict[str, Outcome]:
        """By `NAMESPACE/NAME`."""
        by = Signature(author=self._author, signing=signing)
        last = Applied({}, {}, {}, frozenset())

        async def propose(head: Snapshot) -> FileChange | None:
            nonlocal last
            files = await read_files(head, {each.path for each in updates})
            last = await asyncio.to_thread(apply, files, updates)
            return change_of(last, updates)

        try:
            attempts = Attempts(most=_ATTEMPTS)
            pushed = await push_change(repository, branch, propose, by=by, attempts=attempts, now=self._now)
        except GitError as error:
            self._count("push", "failure")
            return {each.tracked.key: _refused(each, error, repository.git.remote) for each in updates}
        if pushed.commit:
            self._count("push", "success")
        return {each.tracked.key: _outcome(each, last, pushed.commit or "") for each in updates}


def apply(files: Mapping[str, bytes | Problem], updates: Sequence[Due]) -> Applied:
    """Pure. Sets all tags, file by file."""
    by_path: dict[str, list[Due]] = {}
    for each in updates:
        by_path.setdefault(each.path, []).append(each)
    edited: dict[str, bytes] = {}
    changes: dict[str, tuple[Change, ...]] = {}
    problems: dict[str, str] = {}
    moved = set[str]()
    for path, some in by_path.items():
        data = files[path]
        try:
            if isinstance(data, Problem):
                raise ManifestError(data.text)
            manifest = Manifest(data, path)
            still = [each for each in some if _is_as_seen(manifest.tags(each.target), each)]
        except ManifestError as error:
            problems |= {each.tracked.key: str(error) for each in some}
            continue
        moved |= {each.tracked.key for each in some if each not in still}
        written, outcomes = manifest.set_tags([each.target for each in still])
        if written != data:
            edited[path] = written
        for each, outcome in zip(still, outcomes, strict=True):
            if isinstance(outcome, ManifestError):
                problems[each.tracked.key] = str(outcome)
            else:
                changes[each.tracked.key] = outcome
    return Applied(edited, changes, problems, frozenset(moved))


def _is_as_seen(tags: tuple[str, ...], due: Due) -> bool:
    """Also where somebody else has written what we were about to write."""
    return tags == due.seen or all(each == due.target.tag for each in tags)


def change_of(applied: Applied, updates: Sequence[Due]) -> FileChange | None:
    if not applied.files:
        return None
    named = (
        (each.tracked.key, change.image, change.old, change.new)
        for each in updates
        for change in applied.changes.get(each.tracked.key, ())
    )
    return FileChange(dict(applied.files), commit_message(named))


def _outcome(due: Due, applied: Applied, commit: str) -> Outcome:
    tracked, tag = due.tracked, due.target.tag
    if (left := not_written(due, applied)) is not None:
        return left
    changes = applied.changes.get(tracked.key, ())
    if not commit:
        return Outcome(entry=up_to_date(tracked, new=tag), reason="UpToDate", tag=tag, wanted=tag)
    old = changes[0].old
    return Outcome(
        entry=patched(tracked, old=old, new=tag), reason="Patched", tag=tag, wanted=tag, old=old, commit=commit
    )


def not_written(due: Due, applied: Applied) -> Outcome | None:
    """The outcome of an update that is not among the changes; None for one that is."""
    tracked, tag = due.tracked, due.target.tag
    if problem := applied.problems.get(tracked.key):
        return Outcome(entry=failed(tracked, problem), reason="InvalidManifest", wanted=tag)
    if tracked.key in applied.moved:
        text = f"{due.path} changed while {tracked.title} was updated; it is reconciled again"
        return Outcome(entry=skipped(tracked, text), reason="Changed", wanted=tag)
    if not applied.changes.get(tracked.key):
        return Outcome(entry=up_to_date(tracked, new=tag), reason="UpToDate", tag=tag, wanted=tag)
    return None


def _refused(due: Due, error: GitError, remote: Remote) -> Outcome:
    text = f"cannot push to manifest_repository {remote.url}: {error}"
    return Outcome(entry=failed(due.tracked, text), reason=error.reason, wanted=due.target.tag, since=due.since)


def retry_after_s(outcome: Outcome) -> float | None:
    """When to try again; None for the next interval."""
    passing = {PushConflictError.reason, UnreachableError.reason, "Changed"}
    return _PUSH_RETRY_S if outcome.reason in passing else None
