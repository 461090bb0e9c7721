"""Delivers changes by pull request: one branch with one commit on top of the base, and one request for it.

The branch and the request say all that is needed to go on, so that a crash between any two steps leaves one branch and
one request. The branch is replaced only while its head is our own commit for it, and only if nobody pushed meanwhile.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

import msgspec

from homeostat.external.forges.forge import ForgeError, RateLimitedError
from homeostat.external.forges.pulls.pull import Draft, Pull, Pulls, open_of
from homeostat.external.git.branch import Head, delete_branch, read_head, replace_branch
from homeostat.external.git.commit import Change as FileChange
from homeostat.external.git.commit import Identity, Signature, Signing, make_commit
from homeostat.external.git.errors import GitError
from homeostat.external.git.repository import Repository
from homeostat.operators.images.act import Applied, apply, change_of, not_written
from homeostat.operators.images.api import PullRequest
from homeostat.operators.images.decide import Due
from homeostat.operators.images.engine.entry import failed, proposed, skipped
from homeostat.operators.images.pulls.batch import Batch
from homeostat.operators.images.pulls.text import (
    MOST_CHANGES,
    Line,
    Marks,
    body_of,
    branch_message,
    closed_body,
    closing_of,
    is_marked,
    is_replaceable,
    marked_keys,
    marks,
    marks_of,
    title_of,
)
from homeostat.operators.images.settings import ImageSettings
from homeostat.operators.images.sources.forges import Forges, UnknownForgeError
from homeostat.operators.images.sources.repositories import Count, read_files
from homeostat.operators.images.sources.secrets import MissingSecretError, Secrets
from homeostat.operators.images.status import Outcome
from homeostat.operators.images.world import Record

log = logging.getLogger(__name__)
_FORGE_RETRY_S: Final = 60.0
Outcomes = dict[str, Outcome]


class Delivered(msgspec.Struct, frozen=True):
    outcomes: Outcomes
    """By `NAMESPACE/NAME`, for the updates of the batch."""
    is_clear: bool = False
    """Whether the branch has only changes that are wanted, or belongs to somebody else by now."""
    problem: str = ""
    """Why the branch could not be brought up to date."""


class _Seen(msgspec.Struct, frozen=True):
    """The branch and the requests from it, before anything is changed."""

    head: Head | None
    open: Pull | None
    refused: tuple[Pull, ...]
    is_foreign: bool

    @property
    def marks(self) -> Marks:
        return marks_of(self.open.body) if self.open is not None else {}


class Proposer:
    def __init__(
        self,
        forges: Forges,
        settings: ImageSettings,
        count: Count,
        *,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._forges, self._count, self._now = forges, count, now
        self._author = Identity(settings.author_name, settings.author_email)

    async def propose(
        self,
        repository: Repository,
        batch: Batch,
        records: Mapping[str, Record],
        secrets: Secrets,
        signing: Signing = None,
    ) -> Delivered:
        by = Signature(author=self._author, signing=signing)
        try:
            pulls = await self._forges.pulls(batch.repository, batch.rules, secrets)
            return await self._deliver(repository, pulls, batch, records, by)
        except MissingSecretError as error:
            return _failed(batch, str(error), "SecretMissing")
        except UnknownForgeError as error:
            # Without a forge nothing was ever pushed either.
            return msgspec.structs.replace(_failed(batch, str(error), "InvalidAnnotation"), is_clear=True)
        except ForgeError as error:
            retry_s = error.after_s if isinstance(error, RateLimitedError) else _FORGE_RETRY_S
            text = f"pull requests of {batch.repository}: {error}"
            return _failed(batch, text, error.reason, retry_s)
        except GitError as error:
            text = f"cannot push the branch {batch.branch} to manifest_repository {batch.repository}: {error}"
            return _failed(batch, text, error.reason)

    async def _deliver(
        self, repository: Repository, pulls: Pulls, batch: Batch, records: Mapping[str, Record], by: Signature
    ) -> Delivered:
        seen = await self._see(repository, pulls, batch)
        found: Outcomes = {}
        wanted = list[Due]()
        for due in batch.updates:
            refusal = _refusal(due, seen, batch, records[due.tracked.key])
            if refusal is not None:
                found[due.tracked.key] = refusal
            elif seen.is_foreign:
                found[due.tracked.key] = _changed(due, seen, batch)
            elif len(wanted) < MOST_CHANGES:
                wanted.append(due)
            else:
                text = f"waiting: a pull request has at most {MOST_CHANGES} changes, and {batch.branch} has them"
                found[due.tracked.key] = _left(due, text, "PullRequestFull")
        if wanted:
            updated = await self._update(repository, pulls, batch, seen, wanted, by)
            return Delivered(found | updated.outcomes, updated.is_clear)
        return Delivered(found, seen.is_foreign or await self._clear(repository, pulls, batch, seen))

    async def _see(self, repository: Repository, pulls: Pulls, batch: Batch) -> _Seen:
        # The requests first: one that is merged or closed after this is found by the next pass.
        listed = await pulls.find(batch.branch, batch.base)
        head = await read_head(repository, batch.branch)
        is_ours = head is None or (head.is_by(self._author) and is_replaceable(head.message, batch.branch))
        refused = tuple(each for each in listed if each.state == "closed")
        return _Seen(head, open_of(listed), refused, is_foreign=not is_ours)

    async def _update(
        self,
        repository: Repository,
        pulls: Pulls,
        batch: Batch,
        seen: _Seen,
        wanted: Sequence[Due],
        by: Signature,
    ) -> Delivered:
        base = repository.at(await repository.fetch(f"refs/heads/{batch.base}"))
        files = await read_files(base, {each.path for each in wanted})
        applied = await asyncio.to_thread(apply, files, wanted)
        found = {each.tracked.key: left for each in wanted if (left := not_written(each, applied)) is not None}
        ready = [each for each in wanted if each.tracked.key not in found]
        change = change_of(applied, ready)
        if change is None:
            return Delivered(found)
        change = FileChange(change.files, branch_message(change.message, batch.branch))
        tags = marks({each.tracked.key: each.target.tag for each in ready})
        is_kept = _is_kept(seen, tags, batch)
        if not is_kept and not await _is_current(repository, seen.head, change):
            made = await make_commit(repository.git, base, change, by, self._now())
            if made is None:
                return Delivered(found)
            await self._push(repository, batch, made, seen)
        pull, is_new = await self._request(pulls, batch, seen, ready, applied, tags, is_kept=is_kept)
        for each in ready:
            is_known = not is_new and is_marked(seen.marks, each.tracked.key, each.target.tag)
            found[each.tracked.key] = _waiting(each, pull, batch) if is_known else _proposed(each, pull, batch, is_new)
        return Delivered(found, is_clear=True)

    async def _push(self, repository: Repository, batch: Batch, commit: str, seen: _Seen) -> None:
        try:
            await replace_branch(repository, batch.branch, commit, expected=seen.head.commit if seen.head else "")
        except GitError:
            self._count("push", "failure")
            raise
        self._count("push", "success")

    async def _request(
        self,
        pulls: Pulls,
        batch: Batch,
        seen: _Seen,
        ready: Sequence[Due],
        applied: Applied,
        tags: Marks,
        *,
        is_kept: bool,
    ) -> tuple[Pull, bool]:
        """The open request for the branch, and whether it is new."""
        lines = _lines(ready, applied)
        title, body = title_of(lines, batch.base), body_of(lines, tags)
        pull = seen.open
        if pull is None:
            pull = await pulls.open_pull(Draft(branch=batch.branch, base=batch.base, title=title, body=body))
            await self._label(pulls, pull, batch)
        if not is_kept and marks_of(pull.body) != tags:
            pull = await pulls.edit(pull, title=title, body=body)
        return pull, seen.open is None

    async def _label(self, pulls: Pulls, pull: Pull, batch: Batch) -> None:
        if not batch.labels:
            return
        try:
            await pulls.add_labels(pull, batch.labels)
        except ForgeError as error:
            # A request without its labels is still the request.
            log.warning("failed to label pull request", extra={"url": pull.url, "reason": str(error)})

    async def _clear(self, repository: Repository, pulls: Pulls, batch: Batch, seen: _Seen) -> bool:
        """Closes a request whose changes are all on the base branch or no longer due, and deletes its branch. False if
        something of it may still be needed.
        """
        if marked_keys(seen.marks, batch.unknown) or (seen.open is None and seen.head is not None and batch.is_awaited):
            return False
        if seen.open is not None:
            why = closing_of(sorted({each.key for each in batch.unneeded}))
            await pulls.close(seen.open, body=closed_body(seen.open.body, why))
            log.info("closed pull request: none of its updates is due", extra={"url": seen.open.url})
            await self._comment(pulls, seen.open, why)
        if seen.head is not None:
            await delete_branch(repository, batch.branch, expected=seen.head.commit)
        return True

    async def _comment(self, pulls: Pulls, pull: Pull, text: str) -> None:
        """After closing, so that there is at most one; the body says the same."""
        try:
            await pulls.comment(pull, text)
        except ForgeError as error:
            log.warning("failed to comment on pull request", extra={"url": pull.url, "reason": str(error)})


def _is_kept(seen: _Seen, tags: Marks, batch: Batch) -> bool:
    """Whether the request has all that is wanted now, and beside that only changes of which nothing is known now."""
    if seen.open is None or seen.head is None:
        return False
    unknown = {key for key in marks(dict.fromkeys(batch.unknown, "")) if key in seen.marks and key not in tags}
    return bool(unknown) and {key: tag for key, tag in seen.marks.items() if key not in unknown} == tags


async def _is_current(repository: Repository, head: Head | None, change: FileChange) -> bool:
    if head is None or head.message.rstrip() != change.message.rstrip():
        return False
    found = await read_files(repository.at(head.commit), change.files)
    return all(found[path] == data for path, data in change.files.items())


def _lines(ready: Sequence[Due], applied: Applied) -> list[Line]:
    return [
        Line(each.tracked.key, change.image, change.old, change.new, each.path)
        for each in ready
        for change in applied.changes[each.tracked.key]
    ]


def _refusal(due: Due, seen: _Seen, batch: Batch, record: Record) -> Outcome | None:
    key, tag = due.tracked.key, due.target.tag
    if is_marked(seen.marks, key, tag):
        # Reopened, or proposed again by a person.
        return None
    pull = next((each for each in seen.refused if is_marked(marks_of(each.body), key, tag)), None)
    if pull is None and record.refused != tag:
        return None
    named = f"pull request {pull.url}" if pull is not None else "the pull request"
    text = (
        f"{due.tracked.title}: {named} was closed without a merge, so {tag} is not proposed again; "
        "reopen it, or wait for a newer tag"
    )
    refused = PullRequest(url=pull.url if pull else "", branch=batch.branch, state="refused")
    return _left(due, text, "PullRequestRefused", refused)


def _changed(due: Due, seen: _Seen, batch: Batch) -> Outcome:
    assert seen.head is not None
    way = f"merge or close {seen.open.url}" if seen.open is not None else "merge or delete the branch"
    text = (
        f"waiting: the branch {batch.branch} has the commit {seen.head.commit[:12]} by {seen.head.committer[:100]} and "
        f"is no longer updated; {way}"
    )
    url = seen.open.url if seen.open is not None else ""
    return _left(due, text, "BranchChanged", PullRequest(url=url, branch=batch.branch, state="changed"))


def _waiting(due: Due, pull: Pull, batch: Batch) -> Outcome:
    text = f"waiting for pull request {pull.url}: {due.tracked.title} at version {due.target.tag}"
    return _left(due, text, "PullRequestOpen", PullRequest(url=pull.url, branch=batch.branch))


def _proposed(due: Due, pull: Pull, batch: Batch, is_new: bool) -> Outcome:
    return Outcome(
        entry=proposed(due.tracked, old=due.old, new=due.target.tag, url=pull.url),
        reason="PullRequestOpened" if is_new else "PullRequestUpdated",
        tag=due.old,
        wanted=due.target.tag,
        since=due.since,
        pull=PullRequest(url=pull.url, branch=batch.branch),
    )


def _left(due: Due, text: str, reason: str, pull: PullRequest | None = None) -> Outcome:
    return Outcome(
        entry=skipped(due.tracked, text),
        reason=reason,
        tag=due.old,
        wanted=due.target.tag,
        since=due.since,
        pull=pull,
    )


def _failed(batch: Batch, text: str, reason: str, retry_s: float | None = None) -> Delivered:
    outcomes = {
        each.tracked.key: Outcome(
            entry=failed(each.tracked, text), reason=reason, wanted=each.target.tag, since=each.since, retry_s=retry_s
        )
        for each in batch.updates
    }
    return Delivered(outcomes, problem=text)
