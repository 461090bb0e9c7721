"""What is broken is `failed`, names what its author can change, and leaves everything else untouched."""

from __future__ import annotations

from pathlib import Path

from aiohttp import web

from homeostat.objects.kind import SECRET
from tests.external.servers import serving
from tests.operators.images.scenarios import OLD
from tests.operators.images.stage import DEPLOYMENT_FILE, SECRETS, Stage

_FILE = DEPLOYMENT_FILE.format(image=f"org/app:{OLD}")
_APP = {"main.go": "package main\n"}


async def test_each_deployment_fails_for_itself_and_says_why(stage: Stage) -> None:
    app = stage.repository("app", _APP)
    manifests = stage.repository(
        "man",
        {
            "good.yaml": _FILE,
            "broken.yaml": "a: [\n",
            "binary.yaml": b"\xff\xfe\x00\x01",
            "large.yaml": _FILE + "# x\n" * 500_000,
            "empty.yaml": "",
            "alias.yaml": "x: &i org/app:1\nkind: Job\nspec: {template: {spec: {containers: [{image: *i}]}}}\n",
            "dir/inner.yaml": _FILE,
        },
    )
    (manifests.path / "link.yaml").symlink_to("good.yaml")
    (manifests.path / "folder").symlink_to("dir")
    manifests.commit({})
    head = manifests.head()
    places = {"app_repository": f"{stage.git_url}/app.git", "manifest_repository": f"{stage.git_url}/man.git"}
    cases = {
        "broken": ("broken.yaml", "broken.yaml"),
        "binary": ("binary.yaml", "binary.yaml"),
        "large": ("large.yaml", "large.yaml"),
        "empty": ("empty.yaml", "empty.yaml"),
        "alias": ("alias.yaml", "alias"),
        "link": ("link.yaml", "a link"),
        "below": ("folder/inner.yaml", "folder is a link"),
        "dir": ("dir", "a directory"),
        "gone": ("gone.yaml", "gone.yaml does not exist"),
        "outside": ("../etc/passwd", "deployment_path"),
        "git": (".git/config", "deployment_path"),
    }
    for name, (path, _) in cases.items():
        await stage.deploy(name, None, deployment_path=path, **places)
    await stage.deploy("good", None, deployment_path="good.yaml", **places)
    await stage.deploy("nobranch", None, observe_branch="gone", deployment_path="good.yaml", **places)
    await stage.deploy("badbranch", None, observe_branch="--upload-pack=x", deployment_path="good.yaml", **places)
    await stage.deploy("badurl", None, **{**places, "manifest_repository": "ext::sh -c x"})
    await stage.deploy("file", None, **{**places, "manifest_repository": f"file://{manifests.path}"})
    await stage.deploy("refused", None, **{**places, "manifest_repository": "http://127.0.0.1:1/x.git"})
    found = await stage.reconcile()
    for name, (_, says) in cases.items():
        assert found[name]["action"] == "failed", found[name]
        assert says in found[name]["message"], found[name]
    for name, says in (
        ("nobranch", "observe_branch"),
        ("badbranch", ""),
        ("badurl", ""),
        ("file", "--images-allow-file"),
        ("refused", ""),
    ):
        assert found[name]["action"] == "failed", found[name]
        assert says in found[name]["message"]
    assert found["good"]["action"] == "patched"
    assert manifests.git("rev-list", "--count", f"{head}..refs/heads/master") == "1"
    assert manifests.git("diff", "--name-only", head, "refs/heads/master") == "good.yaml"
    assert app.head() in manifests.show("good.yaml")


async def test_two_deployments_that_want_different_tags_of_a_line_push_nothing(stage: Stage) -> None:
    stage.repository("app", _APP)
    manifests = stage.repository("man", {"web.yaml": _FILE})
    places = {"app_repository": f"{stage.git_url}/app.git", "manifest_repository": f"{stage.git_url}/man.git"}
    head = manifests.head()
    await stage.deploy("one", None, deployment_path="web.yaml", **places)
    await stage.deploy("two", None, deployment_path="web.yaml", tag_type="short", **places)
    found = await stage.reconcile()
    assert {each["action"] for each in found.values()} == {"failed"}
    assert all("web.yaml, line 9" in each["message"] for each in found.values())
    assert manifests.head() == head


async def test_a_rewritten_history_is_followed(stage: Stage) -> None:
    app = stage.repository("app-web", _APP)
    manifests = stage.repository("man-web", {"apps/web.yaml": _FILE})
    await stage.deploy("web")
    await stage.reconcile()
    manifests.git("checkout", "-q", "-f", "--orphan", "fresh")
    manifests.commit({"apps/web.yaml": _FILE.replace(OLD, app.head())})
    manifests.git("branch", "-q", "-f", "master", "fresh")
    newer = app.push({"main.go": "package newer\n"})
    assert (await stage.reconcile())["web"]["action"] == "patched"
    assert newer in manifests.show("apps/web.yaml")


async def test_a_registry_that_limits_requests_is_asked_later(stage: Stage) -> None:
    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response(status=429, headers={"Retry-After": "3600"})

    async with serving(answer) as url:
        host = url.removeprefix("http://")
        stage.repository("app-web", _APP)
        manifests = stage.repository("man-web", {"apps/web.yaml": _FILE.replace("org/app", f"{host}/org/app")})
        await stage.deploy("web", registry_secret_url=url)
        entry = (await stage.reconcile())["web"]
        assert entry["action"] == "failed"
        assert "429" in entry["message"]
        assert len(manifests.log()) == 2


async def test_a_registry_secret_that_is_named_and_missing_is_a_failure(stage: Stage, tmp_path: Path) -> None:
    stage.repository("app-web", _APP)
    stage.repository("man-web", {"apps/web.yaml": _FILE})
    await stage.deploy("web", registry_secret_name="nothing")
    assert "there is no Secret gitops-operator/nothing" in (await stage.reconcile())["web"]["message"]


async def test_no_secret_is_shown(stage: Stage) -> None:
    await stage.client.create(
        SECRET.path(SECRETS), {"metadata": {"name": "token"}, "stringData": {"username": "u", "password": "hunter22"}}
    )
    stage.repository("app-web", _APP)
    await stage.deploy(
        "web", ssh_key_name="token", ssh_key_namespace=SECRETS, manifest_repository="http://127.0.0.1:1/x"
    )
    await stage.reconcile()
    for path in ("/reconcile", "/debug", "/status", "/metrics"):
        assert "hunter22" not in str(await stage.get(path))
    assert "hunter22" not in str(await stage.update("web"))


async def test_a_first_push_that_is_refused_is_no_tag_of_a_person(stage: Stage) -> None:
    stage.repository("app-web", _APP)
    manifests = stage.repository("man-web", {"apps/web.yaml": _FILE})
    hook = manifests.path / ".git" / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\necho closed today; exit 1\n")
    hook.chmod(0o755)
    await stage.deploy("web")
    for _ in range(2):
        entry = (await stage.reconcile())["web"]
        assert entry["action"] == "failed"
        assert "closed today" in entry["message"]
    hook.unlink()
    assert (await stage.reconcile())["web"]["action"] == "patched"


async def test_requests_that_cannot_be_made_say_which_annotation_to_correct(stage: Stage) -> None:
    app, manifests = stage.repository("acme/app", _APP), stage.repository("acme/man", {"web.yaml": _FILE})
    head = manifests.head()
    await stage.secret(SECRETS, "forge", token="hunter24")
    cases: dict[str, tuple[dict[str, str], str]] = {
        "delivery": ({"delivery": "mail"}, "gitops.operator.delivery: expected push or pull-request"),
        "forge": ({"forge": "sourceforge"}, "gitops.operator.forge: expected github, gitlab, gitea"),
        "same": ({"pull_request_branch": "master"}, "another branch than observe_branch"),
        "labels": ({"pull_request_labels": "x" * 51}, "gitops.operator.pull_request_labels"),
        "nowhere": ({}, "set the annotation gitops.operator.forge"),
        "token": ({"forge": "gitlab", "pull_request_secret_name": ""}, "gitops.operator.pull_request_secret_name"),
        "secret": ({"forge": "gitlab", "pull_request_secret_name": "none"}, "there is no Secret gitops-operator/none"),
        "branch": ({"forge": "gitea", "pull_request_branch": "--force"}, "HTTP 40"),
        # What answers there is Git, and no API.
        "api": ({"forge": "github"}, "HTTP 40"),
    }
    for name, (more, _) in cases.items():
        given = {"delivery": "pull-request", "pull_request_secret_name": "forge", **more}
        places = {
            "app_repository": f"{stage.git_url}/acme/app.git",
            "manifest_repository": f"{stage.git_url}/acme/man.git",
        }
        await stage.deploy(name, None, deployment_path="web.yaml", **places, **given)
    found = await stage.reconcile()
    for name, (_, says) in cases.items():
        assert found[name]["action"] == "failed", found[name]
        assert says in found[name]["message"], found[name]
        assert "hunter24" not in str(found[name])
    assert manifests.head() == head
    assert manifests.git("for-each-ref", "--format=%(refname)", "refs/heads").split() == ["refs/heads/master"]
    assert app.head()
