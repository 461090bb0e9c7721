"""Pull requests of a repository at a forge whose API is that of GitHub, as Gitea's is, but for lists of requests."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import msgspec

from homeostat.external.forges.forge import Forge, read
from homeostat.external.forges.github import Repository
from homeostat.external.forges.pulls.opening import new_or_open
from homeostat.external.forges.pulls.pull import Draft, Pull, State

Find = Callable[[str, str], Awaitable[list[Pull]]]
"""The requests from one branch to another, the newest first."""


class Shown(msgspec.Struct, frozen=True):
    """A request as the API shows it."""

    number: int
    html_url: str
    state: str
    title: str = ""
    body: str | None = None
    merged_at: str | None = None

    @property
    def pull(self) -> Pull:
        state: State = "merged" if self.merged_at else "open" if self.state == "open" else "closed"
        return Pull(number=self.number, url=self.html_url, state=state, title=self.title, body=self.body or "")


class RepositoryPulls:
    def __init__(self, forge: Forge, repository: Repository, find: Find) -> None:
        self._forge, self._path, self._find = forge, repository.path, find

    async def find(self, branch: str, base: str) -> list[Pull]:
        return await self._find(branch, base)

    async def open_pull(self, draft: Draft) -> Pull:
        return await new_or_open(self._create(draft), self, draft)

    async def _create(self, draft: Draft) -> Pull:
        body = {"title": draft.title, "body": draft.body, "head": draft.branch, "base": draft.base}
        return read(await self._forge.ask("POST", f"{self._path}/pulls", body), Shown).pull

    async def edit(self, pull: Pull, *, title: str, body: str) -> Pull:
        answer = await self._forge.ask("PATCH", f"{self._path}/pulls/{pull.number}", {"title": title, "body": body})
        return read(answer, Shown).pull

    async def close(self, pull: Pull, *, body: str) -> None:
        await self._forge.ask("PATCH", f"{self._path}/pulls/{pull.number}", {"state": "closed", "body": body})

    async def comment(self, pull: Pull, text: str) -> None:
        await self._forge.ask("POST", f"{self._path}/issues/{pull.number}/comments", {"body": text})

    async def add_labels(self, pull: Pull, labels: Sequence[str]) -> None:
        """At Gitea those that the repository or its organization has; it ignores others."""
        await self._forge.ask("POST", f"{self._path}/issues/{pull.number}/labels", {"labels": list(labels)})
