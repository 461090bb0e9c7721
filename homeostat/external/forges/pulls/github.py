"""Pull requests of a repository at GitHub."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlencode

from homeostat.external.forges.forge import Forge, read
from homeostat.external.forges.github import Repository
from homeostat.external.forges.pulls.pull import Pull, Pulls
from homeostat.external.forges.pulls.repository import RepositoryPulls, Shown

_NEWEST: Final = 100


def github_pulls(forge: Forge, repository: Repository) -> Pulls:
    async def find(branch: str, base: str) -> list[Pull]:
        asked = {
            "state": "all",
            "head": f"{repository.owner}:{branch}",
            "base": base,
            "sort": "created",
            "direction": "desc",
            "per_page": _NEWEST,
        }
        answer = await forge.ask("GET", f"{repository.path}/pulls?{urlencode(asked)}")
        return [each.pull for each in read(answer, list[Shown])]

    return RepositoryPulls(forge, repository, find)
