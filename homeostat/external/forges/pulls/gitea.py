"""Pull requests of a repository at Gitea or Forgejo, whose lists cannot be filtered by the branch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from urllib.parse import urlencode

import msgspec

from homeostat.external.forges.forge import Forge, RefusedError, UncertainError, read
from homeostat.external.forges.github import Repository
from homeostat.external.forges.pulls.pull import Draft, Pull, State, open_of

_PAGE: Final = 50
_MOST_OPEN_PAGES: Final = 20
_CLOSED_PAGES: Final = 2


class _Branch(msgspec.Struct, frozen=True):
    label: str = ""
    ref: str = ""
    repo_id: int = 0


class _Shown(msgspec.Struct, frozen=True):
    number: int
    html_url: str
    state: str
    title: str = ""
    body: str | None = None
    merged: bool = False
    head: _Branch = _Branch()
    base: _Branch = _Branch()


class GiteaPulls:
    def __init__(self, forge: Forge, repository: Repository) -> None:
        self._forge, self._repository = forge, repository

    async def find(self, branch: str, base: str) -> list[Pull]:
        """Of the closed ones, those among the repository's last hundred."""
        shown = await self._listed("open", "", _MOST_OPEN_PAGES) + await self._listed(
            "closed", "recentupdate", _CLOSED_PAGES
        )
        found = [each for each in shown if _is_between(each, branch, base)]
        return [_pull(each) for each in sorted(found, key=lambda each: -each.number)]

    async def _listed(self, state: str, sort: str, pages: int) -> list[_Shown]:
        found: list[_Shown] = []
        for page in range(1, pages + 1):
            asked = {"state": state, "limit": _PAGE, "page": page, **({"sort": sort} if sort else {})}
            some = read(await self._forge.ask("GET", f"{self._repository.path}/pulls?{urlencode(asked)}"), list[_Shown])
            found += some
            # A server may have a smaller limit of its own, so only an empty page is surely the last.
            if not some:
                return found
        if state == "open":
            raise UncertainError(f"the repository has more than {len(found)} open pull requests")
        return found

    async def open_pull(self, draft: Draft) -> Pull:
        body = {"title": draft.title, "body": draft.body, "head": draft.branch, "base": draft.base}
        try:
            return _pull(read(await self._forge.ask("POST", f"{self._repository.path}/pulls", body), _Shown))
        except RefusedError as error:
            found = open_of(await self.find(draft.branch, draft.base)) if error.status in (409, 422) else None
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
        """Those that the repository or its organization has; Gitea ignores others."""
        path = f"{self._repository.path}/issues/{pull.number}/labels"
        await self._forge.ask("POST", path, {"labels": list(labels)})


def _is_between(shown: _Shown, branch: str, base: str) -> bool:
    """A request from a fork has another repository. Once its branch is deleted, `ref` is one of the request itself and
    `label` keeps the name.
    """
    is_ours = shown.head.repo_id == shown.base.repo_id
    return is_ours and branch in (shown.head.ref, shown.head.label) and shown.base.ref == base


def _pull(shown: _Shown) -> Pull:
    state: State = "merged" if shown.merged else "open" if shown.state == "open" else "closed"
    return Pull(number=shown.number, url=shown.html_url, state=state, title=shown.title, body=shown.body or "")
