"""Pull requests of a repository at GitHub."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from urllib.parse import urlencode

import msgspec

from homeostat.external.forges.forge import Forge, RefusedError, read
from homeostat.external.forges.github import Repository
from homeostat.external.forges.pulls.pull import Draft, Pull, State, open_of

_NEWEST: Final = 100


class _Shown(msgspec.Struct, frozen=True):
    number: int
    html_url: str
    state: str
    title: str = ""
    body: str | None = None
    merged_at: str | None = None


class GitHubPulls:
    def __init__(self, forge: Forge, repository: Repository) -> None:
        self._forge, self._repository = forge, repository

    async def find(self, branch: str, base: str) -> list[Pull]:
        asked = {
            "state": "all",
            "head": f"{self._repository.owner}:{branch}",
            "base": base,
            "sort": "created",
            "direction": "desc",
            "per_page": _NEWEST,
        }
        answer = await self._forge.ask("GET", f"{self._repository.path}/pulls?{urlencode(asked)}")
        return [_pull(each) for each in read(answer, list[_Shown])]

    async def open_pull(self, draft: Draft) -> Pull:
        body = {"title": draft.title, "body": draft.body, "head": draft.branch, "base": draft.base}
        try:
            return _pull(read(await self._forge.ask("POST", f"{self._repository.path}/pulls", body), _Shown))
        except RefusedError as error:
            # GitHub answers 422 for every invalid request, and also where the request exists.
            found = open_of(await self.find(draft.branch, draft.base)) if error.status == 422 else None
            if found is None:
                raise
            return found

    async def edit(self, pull: Pull, *, title: str, body: str) -> Pull:
        path = f"{self._repository.path}/pulls/{pull.number}"
        return _pull(read(await self._forge.ask("PATCH", path, {"title": title, "body": body}), _Shown))

    async def close(self, pull: Pull, *, body: str) -> None:
        await self._forge.ask(
            "PATCH", f"{self._repository.path}/pulls/{pull.number}", {"state": "closed", "body": body}
        )

    async def add_labels(self, pull: Pull, labels: Sequence[str]) -> None:
        path = f"{self._repository.path}/issues/{pull.number}/labels"
        await self._forge.ask("POST", path, {"labels": list(labels)})


def _pull(shown: _Shown) -> Pull:
    state: State = "merged" if shown.merged_at else "open" if shown.state == "open" else "closed"
    return Pull(number=shown.number, url=shown.html_url, state=state, title=shown.title, body=shown.body or "")
