"""Merge requests of a project at GitLab."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from urllib.parse import quote, urlencode

import msgspec

from homeostat.external.forges.forge import Forge, read
from homeostat.external.forges.pulls.opening import new_or_open
from homeostat.external.forges.pulls.pull import Draft, Pull, State

_NEWEST: Final = 100
_STATES: Final[dict[str, State]] = {"opened": "open", "locked": "open", "merged": "merged"}
"""`locked` is one that is being merged."""


class _Shown(msgspec.Struct, frozen=True):
    iid: int
    web_url: str
    state: str
    title: str = ""
    description: str | None = None


class GitLabPulls:
    """`project` is a path such as `acme/manifests`."""

    def __init__(self, forge: Forge, project: str) -> None:
        self._forge, self._path = forge, f"/projects/{quote(project, safe='')}/merge_requests"

    async def find(self, branch: str, base: str) -> list[Pull]:
        asked = {
            "state": "all",
            "source_branch": branch,
            "target_branch": base,
            "order_by": "created_at",
            "sort": "desc",
            "per_page": _NEWEST,
        }
        answer = await self._forge.ask("GET", f"{self._path}?{urlencode(asked)}")
        return [_pull(each) for each in read(answer, list[_Shown])]

    async def open_pull(self, draft: Draft) -> Pull:
        return await new_or_open(self._create(draft), self, draft)

    async def _create(self, draft: Draft) -> Pull:
        body = {
            "source_branch": draft.branch,
            "target_branch": draft.base,
            "title": draft.title,
            "description": draft.body,
            "remove_source_branch": True,
        }
        return _pull(read(await self._forge.ask("POST", self._path, body), _Shown))

    async def edit(self, pull: Pull, *, title: str, body: str) -> Pull:
        answer = await self._forge.ask("PUT", f"{self._path}/{pull.number}", {"title": title, "description": body})
        return _pull(read(answer, _Shown))

    async def close(self, pull: Pull, *, body: str) -> None:
        await self._forge.ask("PUT", f"{self._path}/{pull.number}", {"state_event": "close", "description": body})

    async def comment(self, pull: Pull, text: str) -> None:
        await self._forge.ask("POST", f"{self._path}/{pull.number}/notes", {"body": text})

    async def add_labels(self, pull: Pull, labels: Sequence[str]) -> None:
        await self._forge.ask("PUT", f"{self._path}/{pull.number}", {"add_labels": ",".join(labels)})


def _pull(shown: _Shown) -> Pull:
    state = _STATES.get(shown.state, "closed")
    return Pull(number=shown.iid, url=shown.web_url, state=state, title=shown.title, body=shown.description or "")
