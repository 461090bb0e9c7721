"""Pull requests of a repository at Gitea or Forgejo, whose lists cannot be filtered by the branch."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlencode

import msgspec

from homeostat.external.forges.forge import Forge, UnknownOutcomeError, read
from homeostat.external.forges.github import Repository
from homeostat.external.forges.pulls.pull import Pull, Pulls
from homeostat.external.forges.pulls.repository import RepositoryPulls, Shown

_PAGE: Final = 50
_MOST_OPEN_PAGES: Final = 20
_CLOSED_PAGES: Final = 2


class _Branch(msgspec.Struct, frozen=True):
    label: str = ""
    ref: str = ""
    repo_id: int = 0


class _Listed(Shown, frozen=True):
    head: _Branch = _Branch()
    base: _Branch = _Branch()


def gitea_pulls(forge: Forge, repository: Repository) -> Pulls:
    async def find(branch: str, base: str) -> list[Pull]:
        """Of the closed ones, those among the repository's last hundred."""
        listed = await _listed(forge, repository, "open", "", _MOST_OPEN_PAGES)
        listed += await _listed(forge, repository, "closed", "recentupdate", _CLOSED_PAGES)
        found = [each for each in listed if _is_between(each, branch, base)]
        return [each.pull for each in sorted(found, key=lambda each: -each.number)]

    return RepositoryPulls(forge, repository, find)


async def _listed(forge: Forge, repository: Repository, state: str, sort: str, pages: int) -> list[_Listed]:
    found: list[_Listed] = []
    for page in range(1, pages + 1):
        asked = {"state": state, "limit": _PAGE, "page": page, **({"sort": sort} if sort else {})}
        some = read(await forge.ask("GET", f"{repository.path}/pulls?{urlencode(asked)}"), list[_Listed])
        found += some
        # A server may have a smaller limit of its own, so only an empty page is surely the last.
        if not some:
            return found
    if state == "open":
        raise UnknownOutcomeError(f"the repository has more than {len(found)} open pull requests")
    return found


def _is_between(listed: _Listed, branch: str, base: str) -> bool:
    """A request from a fork has another repository. Once its branch is deleted, `ref` is one of the request itself and
    `label` keeps the name.
    """
    is_ours = listed.head.repo_id == listed.base.repo_id
    return is_ours and branch in (listed.head.ref, listed.head.label) and listed.base.ref == base
