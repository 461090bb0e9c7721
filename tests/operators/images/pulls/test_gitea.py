"""The same against a real Gitea: requests are opened, updated, merged, refused and closed, and statuses are set."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from homeostat.external.forges.gitea import Gitea, gitea_forge
from homeostat.external.forges.github import Repository
from homeostat.external.git.access import Remote
from homeostat.external.rest.client import RestClient
from homeostat.external.secrets.credentials import BasicAuth
from tests.external.giteas import PASSWORD, USER, RealGitea, running_gitea
from tests.operators.images.pulls.proposals import Proposals
from tests.operators.images.scenarios import OLD
from tests.operators.images.stage import DEPLOYMENT_FILE
from tools.build_gitea import PROGRAM

pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason="no gitea: make gitea")


class Api:
    def __init__(self, gitea: RealGitea, session: aiohttp.ClientSession) -> None:
        self._gitea, self._session = gitea, session

    async def __call__(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        headers = {"Authorization": f"token {self._gitea.token}"}
        async with self._session.request(method, f"{self._gitea.api}{path}", json=body, headers=headers) as answer:
            text = await answer.text()
            assert answer.status < 300, text
            return await answer.json() if text else None

    async def pulls(self) -> list[tuple[int, str, bool]]:
        found = await self("GET", f"/repos/{USER}/man/pulls?state=all&sort=oldest")
        return [(each["number"], each["state"], each["merged"]) for each in found]

    async def branches(self) -> list[str]:
        return [each["name"] for each in await self("GET", f"/repos/{USER}/man/branches") if each["name"] != "master"]

    async def file(self, name: str, branch: str) -> str:
        found = await self("GET", f"/repos/{USER}/man/contents/{name}?ref={branch}")
        return base64.b64decode(found["content"]).decode()

    async def merge(self, number: int) -> None:
        # Gitea checks in the background whether a request can be merged.
        for _ in range(100):
            if (await self("GET", f"/repos/{USER}/man/pulls/{number}"))["mergeable"]:
                break
            await asyncio.sleep(0.1)
        await self("POST", f"/repos/{USER}/man/pulls/{number}/merge", {"Do": "merge"})


async def test_a_real_gitea_has_one_branch_and_one_request(tmp_path: Path) -> None:
    with running_gitea(tmp_path) as gitea:
        async with aiohttp.ClientSession() as session, RestClient() as rest:
            api = Api(gitea, session)
            await api("POST", "/user/repos", {"name": "man", "auto_init": True, "default_branch": "master"})
            await api("POST", f"/repos/{USER}/man/labels", {"name": "images", "color": "#00aabb"})
            content = base64.b64encode(DEPLOYMENT_FILE.format(image=f"org/app:{OLD}").encode()).decode()
            made = await api("POST", f"/repos/{USER}/man/contents/web.yaml", {"content": content, "branch": "master"})
            remote = Remote(f"{gitea.url}/{USER}/man.git", BasicAuth(USER, PASSWORD))
            given = {"token": gitea.token, "labels": ("images",)}
            proposals = Proposals("gitea", remote, gitea.api, tmp_path / "cache", **given)  # type: ignore[arg-type]

            async def reason(tag: str, old: str = OLD) -> str:
                return (await proposals.propose(proposals.due("web", tag, old)))["shop/web"].reason

            assert await reason("1.0") == "PullRequestOpened"
            assert await reason("1.0") == "PullRequestOpen"
            assert await reason("1.1") == "PullRequestUpdated"
            assert await api.pulls() == [(1, "open", False)]
            assert await api.branches() == [proposals.branch]
            assert "org/app:1.1" in await api.file("web.yaml", proposals.branch)
            labels = (await api("GET", f"/repos/{USER}/man/pulls/1"))["labels"]
            assert [each["name"] for each in labels] == ["images"]

            await api("PATCH", f"/repos/{USER}/man/pulls/1", {"state": "closed"})
            assert await reason("1.1") == "PullRequestRefused"
            assert await api.branches() == []
            # Gitea still says which branch it was of.
            assert await reason("1.1") == "PullRequestRefused"
            assert await reason("1.2") == "PullRequestOpened"
            await api.merge(2)
            assert "org/app:1.2" in await api.file("web.yaml", "master")
            assert await reason("1.3", "1.2") == "PullRequestOpened"
            assert [each[1:] for each in await api.pulls()] == [("closed", False), ("closed", True), ("open", False)]
            await proposals.propose()
            assert [each[1:] for each in await api.pulls()][-1] == ("closed", False)
            assert await api.branches() == []
            comments = await api("GET", f"/repos/{USER}/man/issues/3/comments")
            assert [each["body"] for each in comments] == [
                "Closed by the operator: none of these changes is needed any more."
            ]
            assert await reason("1.3", "1.2") == "PullRequestOpened"

            commit = made["commit"]["sha"]
            client = Gitea(gitea_forge(rest, gitea.token, api=gitea.api), Repository(USER, "man"))
            assert await client.statuses(commit) == ()
            for state in ("pending", "success"):
                await client.set_status(commit, state=state, context="homeostat/images", target="https://x.example")
            assert [(each.context, each.status) for each in await client.statuses(commit)] == [
                ("homeostat/images", "success")
            ]
