"""Proposals on real repositories and a forge that may fail at any step: one branch, one request, nothing lost."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from homeostat.external.git.access import Remote
from homeostat.external.git.branch import read_head, replace_branch
from homeostat.external.git.cache import GitCache
from homeostat.external.git.errors import PushConflictError
from tests.external.fake_pulls import Dialect, FakePulls
from tests.external.git_servers import serving_git
from tests.external.servers import serving
from tests.operators.images.pulls.proposals import Proposals
from tests.operators.images.scenarios import OLD
from tests.operators.images.stage import DEPLOYMENT_FILE, Repository

_REPO = "acme/man"


class World:
    def __init__(self, forge: FakePulls, manifests: Repository, proposals: Proposals) -> None:
        self.forge, self.manifests, self._proposals = forge, manifests, proposals
        self.due, self.propose = proposals.due, proposals.propose

    def branches(self) -> list[str]:
        return [each for each in self.manifests.heads() if each != "master"]


@asynccontextmanager
async def _world(tmp_path: Path, dialect: Dialect) -> AsyncIterator[World]:
    manifests = Repository(tmp_path / "git" / f"{_REPO}.git")
    text = DEPLOYMENT_FILE.format(image=f"org/app:{OLD}")
    manifests.begin(("master", {"web.yaml": text, "api.yaml": text}))
    forge = FakePulls(dialect)
    forge.add(_REPO, manifests)
    async with serving_git(tmp_path / "git") as (_, git), serving(forge) as api:
        proposals = Proposals(dialect, Remote(f"{git}/{_REPO}.git"), api, tmp_path / "cache")
        yield World(forge, manifests, proposals)


@pytest.mark.parametrize("is_carried_out", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("dialect", ["github", "gitlab", "gitea"])
async def test_whatever_step_fails_there_is_one_branch_and_one_request(
    tmp_path: Path, dialect: Dialect, is_carried_out: bool
) -> None:
    async with _world(tmp_path, dialect) as world:
        forge = world.forge
        for step, tag in enumerate(("1.0", "1.1", "1.2", "1.3"), start=1):
            forge.calls.clear()
            forge.ends_at = (step, is_carried_out)
            await world.propose(world.due("web", tag), world.due("api", tag))
            forge.ends_at = None
            found = await world.propose(world.due("web", tag), world.due("api", tag))
            assert {each.entry.action for each in found.values()} <= {"patched", "skipped"}, found
            (request,) = forge.requests[_REPO]
            (branch,) = world.branches()
            assert request.branch == branch
            assert f"org/app:{tag}\n" in world.manifests.show("web.yaml", branch)
            assert f"`{tag}`" in request.body
            assert len(world.manifests.log(branch=branch)) == 2


@pytest.mark.parametrize("dialect", ["github", "gitlab", "gitea"])
async def test_a_request_among_many_others_is_found(tmp_path: Path, dialect: Dialect) -> None:
    async with _world(tmp_path, dialect) as world:
        await world.propose(world.due("web", "1.0"))
        (ours,) = world.forge.requests[_REPO]
        for number in range(2, 130):
            world.forge.requests[_REPO].append(type(ours)(number, f"feature-{number}", "master", "t", "b"))
        found = await world.propose(world.due("web", "1.0"))
        assert found["shop/web"].reason == "PullRequestOpen"
        assert len([each for each in world.forge.requests[_REPO] if each.branch == ours.branch]) == 1


async def test_a_branch_that_moved_after_it_was_seen_is_not_replaced(tmp_path: Path) -> None:
    async with _world(tmp_path, "github") as world:
        await world.propose(world.due("web", "1.0"))
        (branch,) = world.branches()
        url = world.due("web", "x").tracked.settings.manifest_repository
        async with GitCache(tmp_path / "other").open(Remote(url)) as repository:
            seen = await read_head(repository, branch)
            assert seen is not None
            theirs = world.manifests.push({"mine.txt": "x\n"}, branch)
            base = await repository.fetch("master")
            with pytest.raises(PushConflictError):
                await replace_branch(repository, branch, base, expected=seen.commit)
        assert world.manifests.head(branch) == theirs


async def test_a_person_s_commit_and_what_is_unknown_stay(tmp_path: Path) -> None:
    async with _world(tmp_path, "gitlab") as world:
        await world.propose(world.due("web", "1.0"), world.due("api", "2.0"))
        (branch,) = world.branches()
        head = world.manifests.head(branch)
        # One of the two is unknown now: its change stays in the request.
        found = await world.propose(world.due("web", "1.0"), unknown=frozenset({"shop/api"}))
        assert found["shop/web"].reason == "PullRequestOpen"
        await world.propose(unknown=frozenset({"shop/api"}))
        assert world.manifests.head(branch) == head
        # A newer tag of the other has to be proposed all the same.
        found = await world.propose(world.due("web", "1.1"), unknown=frozenset({"shop/api"}))
        assert found["shop/web"].reason == "PullRequestUpdated"
        theirs = world.manifests.push({"mine.txt": "x\n"}, branch)
        world.manifests.git("checkout", "-q", "-f", "master")
        found = await world.propose(world.due("web", "1.2"))
        assert found["shop/web"].reason == "BranchChanged"
        await world.propose()
        assert (world.manifests.head(branch), world.forge.requests[_REPO][0].state) == (theirs, "open")
        world.manifests.git("update-ref", f"refs/heads/{branch}", f"{theirs}^")
        await world.propose()
        assert (world.branches(), world.forge.requests[_REPO][0].state) == ([], "closed")
        # The operator closed it itself, so the same tag may be proposed again.
        found = await world.propose(world.due("web", "1.1"))
        assert found["shop/web"].reason == "PullRequestOpened"
