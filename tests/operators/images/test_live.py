"""The operator at work: batches, pins, waiting for builds, notifications, triggers, and what it reports."""

from __future__ import annotations

from pathlib import Path

import pytest
from aiohttp import web

from homeostat.objects.errors import NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import DEPLOYMENT
from homeostat.operators.images.api import IMAGE_UPDATE
from homeostat.testing.eventually import eventually
from homeostat.testing.status import check_status, condition_of
from tests.external.git_servers import running_sshd
from tests.external.servers import serving
from tests.operators.images.scenarios import OLD
from tests.operators.images.stage import DEPLOYMENT_FILE, NAMESPACE, SECRETS, Repository, Stage, staged

_APP = {"main.go": "package main\n"}
_PATH = "apps/web.yaml"


def _file(tag: str = OLD, image: str = "org/app") -> str:
    return DEPLOYMENT_FILE.format(image=f"{image}:{tag}")


async def _scene(stage: Stage, name: str = "web", **annotations: str | None) -> tuple[Repository, Repository]:
    app, manifests = stage.repository(f"app-{name}", _APP), stage.repository(f"man-{name}", {_PATH: _file()})
    await stage.deploy(name, None, **annotations)
    return app, manifests


async def test_an_update_is_recorded_with_its_commit(stage: Stage) -> None:
    app, manifests = await _scene(stage)
    entry = (await stage.reconcile())["web"]
    assert entry["from_sha"] == OLD
    assert entry["message"] == f"Deployment web patched successfully to version {app.head()}"
    update = await stage.update("web")
    check_status(update)
    status = update["status"]
    assert (status["tag"], status["commit"], status["result"]["action"]) == (app.head(), manifests.head(), "patched")
    assert [(each.get("old"), each["new"]) for each in status["history"]] == [(OLD, app.head())]
    assert "attempt" not in status
    assert condition_of(update, "Ready")["status"] == "True"
    assert condition_of(update, "Pinned")["status"] == "False"
    assert update["metadata"]["ownerReferences"][0]["name"] == "web"
    events = await eventually(lambda: stage.events("Patched"))
    assert manifests.head() in events[0]["note"]


async def test_all_deployments_of_a_repository_share_one_commit(stage: Stage) -> None:
    names = [f"web-{number}" for number in range(12)]
    app = stage.repository("app", _APP)
    files = {f"apps/{name}.yaml": _file() for name in names}
    manifests = stage.repository("man", files)
    for name in names:
        await stage.deploy(
            name,
            app_repository=f"{stage.git_url}/app.git",
            manifest_repository=f"{stage.git_url}/man.git",
            deployment_path=f"apps/{name}.yaml",
        )
    assert stage.git is not None
    stage.git.requests.clear()
    found = await stage.reconcile()
    assert {each["action"] for each in found.values()} == {"patched"}
    assert len(manifests.log()) == 3
    body = manifests.git("log", "-1", "--format=%b", "master")
    assert body.splitlines() == [f"images/{name}: org/app {OLD} -> {app.head()}" for name in names]
    asked = [each for each in stage.git.requests if each.startswith("/app.git/info/refs")]
    assert len(asked) == 1


async def test_an_idle_pass_asks_each_repository_once(stage: Stage) -> None:
    await _scene(stage)
    await stage.reconcile()
    assert stage.git is not None
    stage.git.requests.clear()
    version = (await stage.update("web"))["metadata"]["resourceVersion"]
    assert (await stage.reconcile())["web"]["action"] == "up_to_date"
    assert sorted(each for each in stage.git.requests if each.endswith("/info/refs")) == [
        "/app-web.git/info/refs",
        "/man-web.git/info/refs",
    ]
    await stage.reconcile()
    settled = (await stage.update("web"))["metadata"]["resourceVersion"]
    await stage.reconcile()
    assert (await stage.update("web"))["metadata"]["resourceVersion"] == settled != version


async def test_a_rollback_by_hand_is_pinned_until_it_is_unpinned(stage: Stage) -> None:
    app, manifests = await _scene(stage)
    await stage.reconcile()
    manifests.push({_PATH: _file()})
    entry = (await stage.reconcile())["web"]
    assert (entry["action"], entry["status"]) == ("skipped", "skipped")
    assert "pinned" in entry["message"]
    assert "homeostat image unpin images/web" in entry["message"]
    update = await stage.update("web")
    assert update["spec"]["pin"]["tag"] == OLD
    assert condition_of(update, "Pinned")["status"] == "True"
    assert await eventually(lambda: stage.events("Pinned"))
    app.push({"main.go": "package newer\n"})
    assert (await stage.reconcile())["web"]["action"] == "skipped"
    assert manifests.show(_PATH) == _file()
    await stage.client.merge(IMAGE_UPDATE.kind.path(NAMESPACE, "web"), {"spec": {"pin": None}})
    assert (await stage.reconcile())["web"]["action"] == "patched"
    assert manifests.show(_PATH) == _file(app.head())


async def test_a_tag_that_a_person_advances_to_the_newest_is_no_rollback(stage: Stage) -> None:
    app, manifests = await _scene(stage)
    await stage.reconcile()
    newer = app.push({"main.go": "package newer\n"})
    manifests.push({_PATH: _file(newer)})
    assert (await stage.reconcile())["web"]["action"] == "up_to_date"
    newest = app.push({"main.go": "package newest\n"})
    assert (await stage.reconcile())["web"]["to_sha"] == newest


async def test_an_annotation_triggers_a_pass(stage: Stage) -> None:
    app, manifests = await _scene(stage)
    await stage.annotate("web", reconcile_requested_at="one")
    await eventually(lambda: manifests.show(_PATH) == _file(app.head()))
    update = await eventually(lambda: stage.update("web"), lambda each: each["status"].get("handledRequest") == "one")
    assert update["status"]["result"]["action"] == "patched"


async def test_a_pass_runs_at_the_interval(data: Path, tmp_path: Path) -> None:
    async with staged(data, tmp_path / "git", HOMEOSTAT_IMAGES_INTERVAL="0.5") as stage:
        app, manifests = await _scene(stage)
        await eventually(lambda: manifests.show(_PATH) == _file(app.head()))
        newer = app.push({"main.go": "package newer\n"})
        await eventually(lambda: manifests.show(_PATH) == _file(newer))


async def test_an_image_that_is_being_built_is_waited_for_outside_the_pass(data: Path, tmp_path: Path) -> None:
    runs: list[JsonObject] = [{"id": 1, "status": "in_progress", "conclusion": None}]
    asked: list[str] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        asked.append(str(request.rel_url))
        return web.json_response({"total_count": len(runs), "workflow_runs": runs})

    async with (
        serving(answer) as api,
        staged(data, tmp_path / "git", has_registries=True, GITHUB_API_URL=api) as stage,
    ):
        app = stage.repository("owner/app", _APP)
        stage.repository("man-web", {_PATH: _file(image=f"{stage.registry}/org/app")})
        await stage.secret(SECRETS, "github", github_token="t")
        await stage.deploy(
            "web",
            app_repository=f"{stage.git_url}/owner/app.git",
            registry_secret_url=f"http://{stage.registry}",
            registry_secret_name="regcred",
            github_token_secret_name="github",
            tag_type="short",
        )
        entry = (await stage.reconcile())["web"]
        assert (entry["action"], entry["status"]) == ("skipped", "skipped")
        assert entry["message"].startswith("waiting")
        assert asked[0].startswith(f"/repos/owner/app/actions/runs?head_sha={app.head()}")
        runs[0] |= {"status": "completed", "conclusion": "failure"}
        entry = (await stage.reconcile())["web"]
        assert entry["action"] == "failed"
        assert "the build of" in entry["message"]
        runs[0] |= {"conclusion": "success"}
        entry = (await stage.reconcile())["web"]
        assert "not found" in entry["message"]
        await stage.push_image(stage.registry, "org/app", app.head()[:7], is_index=True)
        assert (await stage.reconcile())["web"]["to_sha"] == app.head()[:7]


async def test_policies_digests_and_platforms_are_read_from_the_registry(registries: Stage) -> None:
    host = registries.registry
    for tag, created in (("1.2.0", "2026-03-01"), ("1.10.0", "2026-01-01"), ("2.0.0", "2026-02-01")):
        await registries.push_image(host, "org/app", tag, is_index=True, created=f"{created}T00:00:00Z")
    digest = await registries.push_image(host, "org/app", "1.10.0", is_index=True, created="2026-01-02T00:00:00Z")
    common = {"registry_secret_url": f"http://{host}", "registry_secret_name": "regcred"}
    for name, more in (
        ("range", {"update_policy": "semver:^1", "pin_digest": "true", "platforms": "linux/amd64"}),
        ("built", {"update_policy": "newest"}),
        ("arm", {"update_policy": "semver:^1", "platforms": "linux/amd64,linux/arm64"}),
        ("bad", {"update_policy": "sometimes"}),
        # Without a URL the registry is Docker Hub: the default Secret's credentials for others start no check.
        ("unasked", {"registry_secret_url": None, "registry_secret_name": None, "image_name": f"{host}/org/app"}),
    ):
        registries.repository(f"man-{name}", {_PATH: _file("0.1", f"{host}/org/app")})
        registries.repository(f"app-{name}", _APP)
        app = {} if name == "unasked" else {"app_repository": "none:at/all"}
        await registries.deploy(name, None, **{**common, **app, **more})
    found = await registries.reconcile()
    assert found["range"]["action"] == "patched", found["range"]
    assert found["built"]["to_sha"] == "1.2.0"
    assert found["unasked"]["action"] == "patched", found["unasked"]
    assert (found["arm"]["action"], found["bad"]["action"]) == ("failed", "failed")
    assert "linux/arm64" in found["arm"]["message"]
    assert "gitops.operator.update_policy" in found["bad"]["message"]
    written = (registries.root / "man-range.git", f"image: {host}/org/app:1.10.0@{digest}")
    shown = Repository.__new__(Repository)
    shown.path = written[0]
    assert written[1] in shown.show(_PATH)
    assert (await registries.reconcile())["range"]["action"] == "up_to_date"


async def test_a_frozen_deployment_is_left_until_the_window_ends(stage: Stage) -> None:
    _, manifests = await _scene(stage, freeze="daily 00:00-00:00")
    entry = (await stage.reconcile())["web"]
    assert entry["action"] == "skipped"
    assert "frozen until" in entry["message"]
    await stage.annotate("web", freeze=None, minimum_age="1h")
    entry = (await stage.reconcile())["web"]
    assert entry["message"].startswith("waiting until")
    assert manifests.show(_PATH) == _file()


async def test_a_repository_over_ssh_is_updated_with_strict_host_keys(stage: Stage, tmp_path: Path) -> None:
    (tmp_path / "sshd").mkdir()
    with running_sshd(tmp_path / "sshd") as sshd:
        app, manifests = stage.repository("app-ssh", _APP), stage.repository("man-ssh", {_PATH: _file()})
        await stage.client.create(
            "/api/v1/namespaces/images/secrets",
            {
                "metadata": {"name": "known"},
                "stringData": {"ssh-privatekey": sshd.private_key, "known_hosts": sshd.known_hosts},
            },
        )
        await stage.secret(NAMESPACE, "strange", ssh_privatekey=sshd.private_key)
        places = {
            "app_repository": sshd.remote(app.path).url,
            "manifest_repository": sshd.remote(manifests.path).url,
        }
        await stage.deploy("ssh", None, ssh_key_name="strange", **places)
        entry = (await stage.reconcile())["ssh"]
        assert entry["action"] == "failed"
        assert "known hosts" in entry["message"].lower() or "host key" in entry["message"].lower()
        await stage.annotate("ssh", ssh_key_name="known")
        assert (await stage.reconcile())["ssh"]["action"] == "patched"
        assert manifests.show(_PATH) == _file(app.head())


async def test_what_is_no_longer_tracked_is_not_listed(stage: Stage) -> None:
    await _scene(stage)
    await stage.reconcile()
    await stage.annotate("web", image_name=None)
    await eventually(lambda: stage.get("/health"), lambda each: each["tracked_deployments"] == 0)
    assert await stage.reconcile() == {}
    await stage.client.delete(DEPLOYMENT.path(NAMESPACE, "web"))


@pytest.mark.parametrize("path", ["/reconcile", "/debug"])
async def test_without_deployments_the_lists_are_empty(stage: Stage, path: str) -> None:
    assert await stage.get(path) == []
    with pytest.raises(NotFoundError):
        await stage.update("web")
