"""Pushes a change to a branch, never by force: if the branch moved meanwhile, the change is applied to its new head.

    async def propose(head: Snapshot) -> Change | None:
        text = await head.file("deploy/web.yaml")
        return Change({"deploy/web.yaml": edit(text)}, "web: 1.4 -> 1.5")

    pushed = await push_change(repository, "main", propose, by=Signature(author=Identity("bot", "bot@example.org")))

Promises, each with a test: commits of others are never lost, because the server replaces exactly the head that the
change is based on; a change without effect creates no commit; a push whose response was lost is not repeated if it
arrived; after the last attempt it fails with `PushConflictError`. A refusal for another reason is not retried.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from homeostat.external.git.access import ORIGIN
from homeostat.external.git.commit import Change, Signature, make_commit
from homeostat.external.git.errors import (
    GitAddressError,
    GitError,
    MissingRefError,
    PushConflictError,
    UnreachableError,
    rejection,
)
from homeostat.external.git.repository import Repository, check_ref
from homeostat.external.git.snapshot import Snapshot
from homeostat.external.process import Finished
from homeostat.objects.time.backoff import Backoff

Propose = Callable[[Snapshot], Awaitable[Change | None]]
_BACKOFF: Final = Backoff(first_s=0.2, cap_s=5.0, spread=1.0)
_MOVED: Final = (
    "stale info",
    "fetch first",
    "non-fast-forward",
    "failed to update ref",
    "cannot lock ref",
    "incorrect old",
)


@dataclass(frozen=True, slots=True)
class Pushed:
    """`commit` is None if the last head needed no change."""

    commit: str | None
    base: str
    attempts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempts:
    """At most `most` attempts, with random pauses, so that concurrent writers of one branch spread out."""

    most: int = 5
    backoff: Backoff = _BACKOFF
    chance: Callable[[], float] = random.random
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    async def pause(self, failures: int) -> None:
        await self.sleep(self.backoff.delay_s(failures, self.chance()))


async def push_change(
    repository: Repository,
    branch: str,
    propose: Propose,
    *,
    by: Signature,
    start: str = "",
    attempts: Attempts | None = None,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> Pushed:
    """`start` is the ref from which a missing branch is created; without it, a missing branch is an error."""
    name, policy = branch_ref(branch), attempts or Attempts()
    sent, failed = "", GitError("")
    for attempt in range(1, policy.most + 1):
        if attempt > 1:
            await policy.pause(attempt - 1)
        base, expected = await _head(repository, name, start)
        if sent and expected == sent:
            return Pushed(sent, base, attempt - 1)
        snapshot = repository.at(base)
        change = await propose(snapshot)
        made = change and await make_commit(repository.git, snapshot, change, by, now())
        if not made:
            return Pushed(None, base, attempt)
        try:
            await push_ref(repository, name, made, expected=expected)
        except (PushConflictError, UnreachableError) as error:
            sent, failed = made, error
            continue
        return Pushed(made, base, attempt)
    if isinstance(failed, PushConflictError):
        raise PushConflictError(f'the branch "{branch}" moved during each of {policy.most} attempts; retrying later')
    raise failed


def branch_ref(branch: str) -> str:
    """The full name of a branch; `GitAddressError` for another ref."""
    check_ref(branch)
    if branch == "HEAD" or (branch.startswith("refs/") and not branch.startswith("refs/heads/")):
        raise GitAddressError(f'"{branch}" is not a branch; give its name, such as main')
    return branch if branch.startswith("refs/heads/") else f"refs/heads/{branch}"


async def _head(repository: Repository, name: str, start: str) -> tuple[str, str]:
    """The commit to build on, and the current head of the branch on the server: empty if it does not exist yet."""
    try:
        base = await repository.fetch(name)
    except MissingRefError:
        if not start:
            raise
        return await repository.fetch(start), ""
    return base, base


async def push_ref(repository: Repository, name: str, commit: str, *, expected: str) -> None:
    """Moves a ref of the server from the commit that is expected there; an empty `commit` deletes it.

    A child of that commit forces nothing. Another one replaces what the caller has seen and nothing else: a `+` before
    it would override the lease.
    """
    words = ("push", "--porcelain", "--no-verify", "--no-signed", f"--force-with-lease={name}:{expected}")
    git = repository.git
    if commit:
        await repository.complete(commit)
    done = await git.call(*words, ORIGIN, f"{commit}:{name}")
    if not done.code:
        return
    row = _row(done)
    if not row:
        raise git.failure("push", done)
    if any(each in row for each in _MOVED):
        raise PushConflictError(f'the branch "{name}" moved')
    raise rejection(done, row, git.remote.secrets)


def _row(done: Finished) -> str:
    """`! TAB from:to TAB [rejected] (reason)` of `push --porcelain`."""
    lines = done.stdout.decode(errors="replace").splitlines()
    return next((each.split("\t")[-1] for each in lines if each.startswith("!\t")), "")
