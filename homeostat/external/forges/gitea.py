"""Gitea and Forgejo over their REST API: the statuses of a commit, which their actions and other builds set.

Errors are those of `forge.py`. Gitea itself limits no requests; a proxy before it may, with 429.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from urllib.parse import quote

import msgspec

from homeostat.external.forges.forge import Forge, limit_s, read
from homeostat.external.forges.github import Repository
from homeostat.external.rest.client import RestClient
from homeostat.external.rest.request import Response
from homeostat.objects.json import JsonObject

API = "https://gitea.com/api/v1"
_LIMIT_S = 60.0
_LONGEST_DESCRIPTION = 255


class CommitStatus(msgspec.Struct, frozen=True):
    """`status` is pending, success, error, failure, warning or skipped."""

    context: str = ""
    status: str = ""


class _Combined(msgspec.Struct, frozen=True):
    statuses: tuple[CommitStatus, ...] | None = ()


def gitea_forge(
    http: RestClient, token: str, *, api: str = API, timeout_s: float = 30.0, now_s: Callable[[], float] = time.time
) -> Forge:
    headers = {"Accept": "application/json", **({"Authorization": f"token {token}"} if token else {})}
    return Forge(http, api, headers, limit_s=lambda answer: _limit_s(answer, now_s()), timeout_s=timeout_s)


class Gitea:
    def __init__(self, forge: Forge, repository: Repository) -> None:
        self._forge, self._path = forge, repository.path

    async def statuses(self, commit: str) -> tuple[CommitStatus, ...]:
        """The newest status of each context."""
        answer = await self._forge.ask("GET", f"{self._path}/commits/{quote(commit, safe='')}/status")
        return read(answer, _Combined).statuses or ()

    async def set_status(
        self, commit: str, *, state: str, context: str, description: str = "", target: str = ""
    ) -> None:
        body: JsonObject = {"state": state, "context": context, "description": description[:_LONGEST_DESCRIPTION]}
        if target:
            body["target_url"] = target
        await self._forge.ask("POST", f"{self._path}/statuses/{quote(commit, safe='')}", body)


def _limit_s(answer: Response, now_s: float) -> float | None:
    if answer.status != 429:
        return None
    found = limit_s(answer, now_s, reset="")
    return _LIMIT_S if found is None else found
