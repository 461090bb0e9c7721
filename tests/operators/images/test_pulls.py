"""Delivery by pull request: one branch and one request, kept up to date, closed when obsolete, and never forced."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web

from homeostat.objects.json import JsonObject
from homeostat.objects.kind import DEPLOYMENT, SECRET
from homeostat.operators.images.api import FINALIZER, IMAGE_UPDATE
from homeostat.testing.eventually import eventually
from homeostat.testing.status import check_status, condition_of
from tests.external.fake_pulls import TOKEN, Dialect, FakePulls, Request
from tests.external.servers import serving
from tests.operators.images.scenarios import OLD
from tests.operators.images.stage import DEPLOYMENT_FILE, NAMESPACE, Repository, Stage, staged

_APP = {"main.go": "package main\n"}
_REPO = "acme/man"
_FILES = {f"apps/{name}.yaml": DEPLOYMENT_FILE.format(image=f"org/app:{OLD}") for name in ("web", "api")}


class Scene:
    def __init__(self, stage: Stage, forge: FakePulls, app: Repository, manifests: Repository) -> None:
        self.stage, self.forge, self.app, self.manifests = stage, forge, app, manifests

    @property
    def requests(self) -> list[Request]:
        return self.forge.requests[_REPO]

    @property
    def open(self) -> Request:
        (found,) = self.forge.open_ones(_REPO)
        return found

    def branches(self) -> list[str]:
        return [each for each in self.manifests.heads() if each != "master"]

    def newer(self) -> str:
        return self.app.push({"main.go": f"package p{len(self.app.log())}\n"})

    async def deploy(self, name: str, **annotations: str | None) -> None:
        given: dict[str, str | None] = {
            "app_repository": f"{self.stage.git_url}/app.git",
            "manifest_repository": f"{self.stage.git_url}/{_REPO}.git",
            "deployment_path": f"apps/{name}.yaml",
            "delivery": "pull-request",
            "pull_request_secret_name": "forge",
            "pull_request_secret_namespace": NAMESPACE,
            **annotations,
        }
        await self.stage.deploy(name, None, **given)

    async def entry(self, name: str = "web") -> JsonObject:
        return (await self.stage.reconcile())[name]

    async def state(self, name: str = "web") -> JsonObject:
        found: JsonObject = (await self.stage.update(name))["status"]
        return found


@asynccontextmanager
async def _scene(data: Path, tmp_path: Path, dialect: Dialect) -> AsyncIterator[Scene]:
    forge = FakePulls(dialect)
    async with (
        serving(forge) as api,
        staged(data, tmp_path / "git", has_registries=False, **{f"{dialect.upper()}_API_URL": api}) as stage,
    ):
        await stage.secret(NAMESPACE, "forge", token=TOKEN)
        app, manifests = stage.repository("app", _APP), stage.repository(_REPO, _FILES)
        forge.add(_REPO, manifests)
        yield Scene(stage, forge, app, manifests)


@pytest.mark.parametrize("dialect", ["github", "gitlab", "gitea"])
async def test_a_request_is_opened_updated_and_closed(data: Path, tmp_path: Path, dialect: Dialect) -> None:
    async with _scene(data, tmp_path, dialect) as scene:
        first = scene.manifests.head()
        await scene.deploy("web", pull_request_labels="images, bot")
        await scene.deploy("api")
        found = await scene.stage.reconcile()
        url = f"https://forge.example/{_REPO}/pulls/1"
        for name in ("web", "api"):
            assert found[name]["action"] == "patched", found[name]
            assert (found[name]["from_sha"], found[name]["to_sha"]) == (OLD, scene.app.head())
            assert url in found[name]["message"]
        assert scene.manifests.head() == first
        (branch,) = scene.branches()
        assert scene.open.branch == branch
        assert sorted(scene.open.labels) == ["bot", "images"]
        assert f"`images/web`: `org/app` `{OLD}` -> `{scene.app.head()}`" in scene.open.body
        assert scene.manifests.show("apps/web.yaml", branch) == _FILES["apps/web.yaml"].replace(OLD, scene.app.head())
        update = await scene.stage.update("web")
        check_status(update)
        assert update["status"]["pullRequest"] == {
            "url": url,
            "branch": branch,
            "proposed": [scene.app.head()],
        }
        assert update["status"]["tag"] == OLD
        assert await eventually(lambda: scene.stage.events("PullRequestOpened"))

        head = scene.manifests.head(branch)
        waiting = await scene.entry()
        assert (waiting["action"], waiting["status"]) == ("skipped", "skipped")
        assert waiting["message"].startswith(f"waiting for pull request {url}")
        assert condition_of(await scene.stage.update("web"), "Ready")["reason"] == "PullRequestOpen"
        assert scene.manifests.head(branch) == head

        newer = scene.newer()
        assert (await scene.entry())["to_sha"] == newer
        assert [each.number for each in scene.requests] == [1]
        assert newer in scene.open.body
        assert scene.manifests.git("rev-list", "--count", f"{first}..refs/heads/{branch}") == "1"

        scene.forge.merge(_REPO, scene.open)
        newest = scene.newer()
        entry = await scene.entry()
        assert (entry["action"], entry["from_sha"], entry["to_sha"]) == ("patched", newer, newest), entry
        assert [each.state for each in scene.requests] == ["merged", "open"]
        assert await eventually(lambda: scene.stage.events("PullRequestMerged"))
        history = (await scene.state())["history"]
        assert [(each["old"], each["new"]) for each in history] == [(OLD, newer)]

        # Somebody sets the tags by hand: the request has nothing left.
        scene.manifests.push({path: text.replace(OLD, newest) for path, text in _FILES.items()})
        assert (await scene.entry())["action"] == "up_to_date"
        assert [each.state for each in scene.requests] == ["merged", "closed"]
        assert scene.branches() == []
        assert "pullRequest" not in await scene.state()
        calls = len(scene.forge.calls)
        await scene.entry()
        assert len(scene.forge.calls) == calls


async def test_what_a_person_closes_or_pushes_is_not_overwritten(data: Path, tmp_path: Path) -> None:
    async with _scene(data, tmp_path, "github") as scene:
        await scene.deploy("web")
        await scene.entry()
        scene.open.state = "closed"
        for _ in range(2):
            entry = await scene.entry()
            assert (entry["action"], len(scene.requests)) == ("skipped", 1)
            assert "/pulls/1 was closed without a merge" in entry["message"]
        assert scene.branches() == []
        assert (await scene.state())["pullRequest"]["state"] == "refused"

        scene.newer()
        assert (await scene.entry())["action"] == "patched"
        assert [each.state for each in scene.requests] == ["closed", "open"]

        # A person pushes to our branch: it stays as it is, whatever comes.
        (branch,) = scene.branches()
        ours = scene.manifests.head(branch)
        theirs = scene.manifests.push({"mine.txt": "x\n"}, branch)
        scene.manifests.git("checkout", "-q", "-f", "master")
        scene.newer()
        for _ in range(2):
            entry = await scene.entry()
            assert entry["action"] == "skipped"
            assert f"has the commit {theirs[:12]} by a" in entry["message"]
            assert scene.manifests.head(branch) == theirs
        assert (await scene.state())["pullRequest"]["state"] == "changed"
        assert await eventually(lambda: scene.stage.events("BranchChanged"))

        # A branch of that name whose last commit is ours, but not for it, is not replaced either.
        scene.manifests.git("update-ref", f"refs/heads/{branch}", ours)
        scene.manifests.git("update-ref", "refs/heads/release", ours)
        await scene.stage.annotate("web", pull_request_branch="release")
        assert "the branch release has the commit" in (await scene.entry())["message"]
        # The request from the branch that is no longer named is closed.
        assert [each.state for each in scene.requests] == ["closed", "closed"]
        await scene.stage.annotate("web", pull_request_branch=None)
        assert (await scene.entry())["action"] == "patched"

        # Back to pushes: the tag is on the branch, and the request is closed.
        await scene.stage.annotate("web", delivery=None)
        assert (await scene.entry())["action"] == "patched"
        assert (await scene.entry())["action"] == "up_to_date"
        assert [each.state for each in scene.requests] == ["closed", "closed", "closed"]
        assert scene.branches() == ["release"]


async def test_a_request_that_no_workload_needs_is_closed_once(data: Path, tmp_path: Path) -> None:
    async with _scene(data, tmp_path, "gitlab") as scene:
        stage = scene.stage

        async def check_closed(number: int) -> None:
            request = scene.requests[number - 1]
            await eventually(lambda: request.state == "closed" and not scene.branches())
            await eventually(lambda: len(request.comments) == 1)
            assert "images/web: already at another tag, pinned, disabled, deleted" in request.comments[0]
            assert request.body.rstrip().endswith(request.comments[0])
            assert (len(scene.requests), scene.forge.open_ones(_REPO)) == (number, [])
            calls = len(scene.forge.calls)
            await scene.stage.reconcile()
            assert len(scene.forge.calls) == calls

        await scene.deploy("web")
        await scene.entry()
        await stage.client.delete(DEPLOYMENT.path(NAMESPACE, "web"))
        await check_closed(1)
        await eventually(stage.updates, lambda found: found == [])

        # Its annotations are gone, or it is disabled: the next pass closes the request.
        await scene.deploy("web")
        for number, (name, value) in enumerate((("image_name", "org/app"), ("enabled", "true")), start=2):
            assert (await scene.entry())["action"] == "patched"
            assert (await stage.update("web"))["metadata"]["finalizers"] == [FINALIZER]
            await stage.annotate("web", **{name: None if name == "image_name" else "false"})
            await stage.reconcile()
            await check_closed(number)
            assert "finalizers" not in (await stage.update("web"))["metadata"]
            await stage.annotate("web", **{name: value})

        # It names another repository and no token: the old ones are remembered.
        assert (await scene.entry())["action"] == "patched"
        stage.repository("other", _FILES)
        moved = {"manifest_repository": f"{stage.git_url}/other.git"}
        await stage.annotate("web", **moved, delivery=None, pull_request_secret_name=None)
        assert (await scene.entry())["action"] == "patched"
        await check_closed(4)

        # Somebody deletes the ImageUpdate only: the request stays, and is known again.
        await stage.annotate(
            "web",
            manifest_repository=f"{stage.git_url}/{_REPO}.git",
            delivery="pull-request",
            pull_request_secret_name="forge",
        )
        assert "is pinned at" in (await scene.entry())["message"]
        await stage.client.merge(IMAGE_UPDATE.kind.path(NAMESPACE, "web"), {"spec": {"pin": None}})
        await eventually(scene.entry, lambda found: found["action"] == "patched")
        deleted = (await stage.update("web"))["metadata"]["uid"]
        await stage.client.delete(IMAGE_UPDATE.kind.path(NAMESPACE, "web"))
        await eventually(stage.updates, lambda found: not found or found[0]["metadata"]["uid"] != deleted)
        assert (await scene.entry())["message"].startswith("waiting for pull request")
        await eventually(lambda: stage.update("web"), lambda each: each["metadata"].get("finalizers") == [FINALIZER])

        # The forge fails, and then the Secret is gone: the ImageUpdate does not stay for ever.
        scene.forge.ends_at = (0, False)
        await stage.client.delete(DEPLOYMENT.path(NAMESPACE, "web"))
        await eventually(lambda: stage.update("web"), lambda each: "deletionTimestamp" in each["metadata"])
        await stage.reconcile()
        assert len(await stage.updates()) == 1
        await stage.client.delete(SECRET.path(NAMESPACE, "forge"))
        await stage.reconcile()
        assert await stage.updates() == []


async def test_what_is_unknown_changes_nothing_of_a_request(data: Path, tmp_path: Path) -> None:
    async with _scene(data, tmp_path, "github") as scene:
        await scene.deploy("web")
        await scene.deploy("api")
        await scene.entry()
        (branch,) = scene.branches()
        head = scene.manifests.head(branch)
        await scene.stage.annotate("web", app_repository=f"{scene.stage.git_url}/none.git")
        found = await scene.stage.reconcile()
        assert (found["web"]["action"], found["api"]["action"]) == ("failed", "skipped")
        await scene.stage.annotate("api", app_repository=f"{scene.stage.git_url}/none.git")
        found = await scene.stage.reconcile()
        assert {each["action"] for each in found.values()} == {"failed"}
        assert (scene.manifests.head(branch), scene.open.state) == (head, "open")


async def test_faults_of_a_forge_leave_one_branch_and_one_request(data: Path, tmp_path: Path) -> None:
    limited = {"message": "You have exceeded a secondary rate limit."}
    async with _scene(data, tmp_path, "github") as scene:
        await scene.deploy("web", pull_request_secret_name="none")
        assert "there is no Secret images/none" in (await scene.entry())["message"]
        await scene.stage.annotate("web", pull_request_secret_name="forge")
        for mood, says in (
            (web.json_response(limited, status=403, headers={"Retry-After": "3600"}), "secondary rate limit"),
            (web.json_response({"message": "Not Found"}, status=404), "HTTP 404"),
            (web.json_response({}, status=502), "HTTP 502"),
        ):
            scene.forge.moods = [mood]
            entry = await scene.entry()
            assert entry["action"] == "failed", entry
            assert says in entry["message"]
            assert TOKEN not in entry["message"]
            assert scene.branches() == []
        # The answer to the opening gets lost, after the request was opened.
        scene.forge.loses = ["POST"]
        assert (await scene.entry())["action"] == "failed"
        assert (await scene.entry())["action"] == "skipped"
        assert len(scene.requests) == 1
        # A person merges while the pass updates the request.
        newer = scene.newer()
        request = scene.open
        scene.forge.moods = [None, lambda: scene.forge.merge(_REPO, request)]
        await scene.entry()
        entry = await scene.entry()
        assert scene.manifests.log("%s").count("Merge " + request.branch) == 1
        assert entry["action"] in ("up_to_date", "patched", "skipped")
        assert newer in scene.manifests.show("apps/web.yaml")
        assert len(scene.forge.open_ones(_REPO)) == 0
        await scene.entry()
        assert scene.branches() == []
