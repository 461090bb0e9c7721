"""A branch that one program owns: what its head is, and replacing or deleting it.

Replacing is a forced push, so it is done only against the head that the caller has seen: if anybody pushed meanwhile,
the server refuses it, and `PushConflictError` says so.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from homeostat.external.git.commit import Identity
from homeostat.external.git.errors import GitError, MissingRefError
from homeostat.external.git.push import branch_ref, push_ref
from homeostat.external.git.repository import Repository

_LARGEST: Final = 1 << 20
_person = re.compile(r"(.*) <([^<>]*)> \d+ [+-]\d+").fullmatch


@dataclass(frozen=True, slots=True)
class Head:
    """The commit that a branch is at."""

    commit: str
    committer: str
    email: str
    message: str

    def is_by(self, identity: Identity) -> bool:
        return (self.committer, self.email) == (identity.name, identity.email)


async def read_head(repository: Repository, branch: str) -> Head | None:
    """None if there is no such branch."""
    try:
        commit = await repository.fetch(branch_ref(branch))
    except MissingRefError:
        return None
    text = (await repository.git.output("cat-file", "commit", commit, largest=_LARGEST)).decode(errors="replace")
    headers, _, message = text.partition("\n\n")
    line = next((each for each in headers.splitlines() if each.startswith("committer ")), "")
    found = _person(line.removeprefix("committer "))
    if found is None:
        raise GitError(f"the commit {commit[:12]} has no committer")
    return Head(commit, found[1], found[2], message)


async def replace_branch(repository: Repository, branch: str, commit: str, *, expected: str) -> None:
    """Moves the branch from the head that was seen, or creates it if `expected` is empty."""
    await push_ref(repository, branch_ref(branch), commit, expected=expected)


async def delete_branch(repository: Repository, branch: str, *, expected: str) -> None:
    await push_ref(repository, branch_ref(branch), "", expected=expected)
