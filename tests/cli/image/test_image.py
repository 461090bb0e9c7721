"""The commands for image updates, with a plane of their own and repositories of this machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from homeostat.cli.console.connection import Connection
from homeostat.cli.console.failure import Failure
from homeostat.cli.image.targets import Known, read_known
from homeostat.cli.image.update import result_since
from homeostat.operators.images.api import ImageUpdateStatus, Result, Written
from homeostat.operators.images.engine.annotations import Settings as ImageSettings
from homeostat.operators.images.engine.annotations import Tracked
from homeostat.plane import Settings, open_plane
from tests.cli.running import Cli, Up, make_cli, running
from tests.external.git_servers import Origin
from tests.operators.images.scenarios import OLD
from tests.operators.images.stage import DEPLOYMENT_FILE, Repository

_PATH = "apps/web.yaml"


@pytest.fixture
def up(tmp_path: Path) -> Iterator[Up]:
    cli = make_cli(tmp_path / "plane" / "data")
    options = ("--open", "--operators", "images", "--images-interval", "0", "--images-allow-file")
    with running(cli, *options) as up:
        yield up


def _repository(path: Path, files: dict[str, str]) -> Repository:
    made = Repository(path)
    made.git("checkout", "-q", "-b", "master")
    made.commit(files)
    return made


def _scene(cli: Cli, folder: Path) -> tuple[Repository, Repository]:
    app = _repository(folder / "app", {"main.go": "package main\n"})
    manifests = _repository(folder / "manifests", {_PATH: DEPLOYMENT_FILE.format(image=f"org/app:{OLD} # ours")})
    _deploy(cli, app, manifests)
    return app, manifests


def _deploy(cli: Cli, app: Repository, manifests: Repository, **more: str) -> None:
    annotations = {
        "enabled": "true",
        "app_repository": app.file_url,
        "manifest_repository": manifests.file_url,
        "deployment_path": _PATH,
        "image_name": "org/app",
        "ssh_key_name": "key",
        "ssh_key_namespace": "default",
        **more,
    }
    noted = {f"gitops.operator.{name}": value for name, value in annotations.items()}
    spec = {
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "app", "image": f"org/app:{OLD}"}]},
        },
    }
    key = {"ssh-privatekey": "-----BEGIN OPENSSH PRIVATE KEY-----\nx\n", "gitea-token": "x"}
    metadata = {"name": "web", "annotations": noted}
    documents = [
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key"}, "stringData": key},
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec},
    ]
    done = cli("apply", "-f", "-", stdin=yaml.safe_dump_all(documents))
    assert done.code == 0, done.err


def test_an_update_is_checked_previewed_pushed_and_pinned(up: Up, tmp_path: Path) -> None:
    app, manifests = _scene(up.cli, tmp_path)
    before = manifests.head()
    checked = up.cli.here("image", "check", "default/web", "--allow-file")
    assert checked.code == 0, checked.err
    assert f"would be updated: org/app {OLD} -> {app.head()}" in checked.out
    assert f"{_PATH}, line 9" in checked.out
    preview = up.cli.here("image", "update", "--dry-run", "--allow-file", "default/web")
    assert f"-          image: org/app:{OLD} # ours\n+          image: org/app:{app.head()} # ours\n" in preview.out
    assert manifests.head() == before
    done = up.cli("image", "update", "default/web")
    assert (done.code, done.out.split(":")[1].strip()) == (0, "patched"), done.err
    assert f"org/app:{app.head()} # ours" in manifests.show(_PATH)
    (row,) = up.cli.here("image", "status", "-o", "json").json["items"]
    assert (row["name"], row["tag"], row["result"], row["pinned"]) == ("web", app.head(), "patched", "")
    pinned = up.cli.here("image", "pin", "default/web", "--reason", "a release")
    assert pinned.out == f"default/web pinned at {app.head()}\n"
    head = app.head()
    newer = app.push({"main.go": "package newer\n"})
    assert (
        f"skipped: Deployment web is pinned at {head} (a release); remove"
        in up.cli.here("image", "update", "default/web").out
    )
    assert app.head() not in manifests.show(_PATH)
    assert up.cli.here("image", "unpin", "default/web").code == 0
    assert "patched" in up.cli.here("image", "update", "default/web").out
    assert newer in manifests.show(_PATH)
    row = up.cli.here("image", "status").rows[1]
    assert (row[:2], row[5]) == (["default", "web"], newer[:10])
    assert up.cli.here("image", "status", "-o", "wide").rows[1][5] == newer
    assert up.cli.here("image", "status", "-o", "name").out == "default/web\n"
    # Delivered by requests from now on; without a token nothing can be proposed.
    app.push({"main.go": "package newest\n"})
    _deploy(up.cli, app, manifests, delivery="pull-request", pull_request_branch="bot", forge="gitea")
    for words in (("check", "--allow-file"), ("update",)):
        done = up.cli.here("image", *words, "default/web")
        assert (done.code, "gitops.operator.pull_request_secret_name" in done.out) == (1, True)
    named = {"gitea_token_secret_name": "key", "gitea_token_secret_namespace": "default"}
    _deploy(up.cli, app, manifests, delivery="pull-request", pull_request_branch="bot", forge="gitea", **named)
    checked = up.cli.here("image", "check", "default/web", "--allow-file")
    assert "  by     a pull request from bot to master\n" in checked.out
    _deploy(up.cli, app, manifests, enabled="false")
    done = up.cli("image", "update", "default/web")
    assert (done.code, done.out.split(":")[1].strip()) == (0, "skipped")
    assert up.cli("annotate", "deployment", "web", "gitops.operator.ssh_key_name-").code == 0
    problem = "default/web is not tracked: the annotation gitops.operator.ssh_key_name is missing; add it\n"
    assert up.cli.here("image", "check", "default/web").err == f"error: {problem}"
    assert up.cli.here("image", "status").err == f"warning: {problem}"


def test_an_update_is_reported_though_a_later_pass_found_nothing_to_do() -> None:
    settings = ImageSettings(
        enabled=True,
        namespace="shop",
        app_repository="https://git.example/org/app",
        manifest_repository="https://git.example/org/manifests",
        image_name="org/app",
        deployment_path="web.yaml",
        observe_branch="main",
        ssh_key_name="key",
        ssh_key_namespace="shop",
    )
    tracked = Tracked("web", settings, "org/app", "1", {})
    old, new = (Written(time=f"2026-01-0{day}T00:00:00Z", old=str(day), new=str(day + 1), commit="") for day in (1, 2))
    found = Result(action="up_to_date", message="Deployment web is up to date at 3", time=new.time)
    before, after = ImageUpdateStatus(history=(old,)), ImageUpdateStatus(history=(new, old), result=found)
    assert result_since(before, after, tracked) == "patched: Deployment web patched successfully to version 3"
    for without in (after, ImageUpdateStatus(result=found)):
        assert result_since(after, without, tracked) == "up_to_date: Deployment web is up to date at 3"


def test_a_deployment_that_is_not_tracked_is_an_error(up: Up) -> None:
    done = up.cli("image", "check", "default/none")
    assert done.code == 1
    assert "default/none is not tracked" in done.err


def test_a_checkout_is_edited_without_a_cluster(cli: Cli, tmp_path: Path) -> None:
    made = Origin(tmp_path / "checkout")
    text = DEPLOYMENT_FILE.format(image="org/app:1 # ours")
    made.write({_PATH: text, "other.yaml": "a: 1\n", "broken.yaml": "a: [\n"})
    words = ("image", "update", "--path", str(made.path), "--image", "org/app", "--tag", "2")
    preview = cli.here(*words, "--dry-run")
    assert preview.code == 0, preview.err
    assert "-          image: org/app:1 # ours\n+          image: org/app:2 # ours\n" in preview.out
    assert (made.path / _PATH).read_text() == text
    assert cli.here(*words).code == 0
    assert (made.path / _PATH).read_text() == text.replace("app:1", "app:2")
    assert cli.here(*words, "--file", "other.yaml").code == 1
    assert cli.here(*words, "--file", "../checkout/other.yaml").code == 1
    assert cli.here("image", "update", "--path", str(made.path)).code == 2
    tagged = cli.here(*words[:4], "--image", "org/app:1", "--tag", "2")
    assert (tagged.code, "give the tag with --tag" in tagged.err) == (2, True)
    # Without --path nothing is updated, least of all everything.
    forgotten = cli.here("image", "update", "--image", "org/app", "--tag", "2")
    assert (forgotten.code, "add --path DIR" in forgotten.err) == (2, True)
    assert cli.here("image", "update", "--allow-file", "default/web").code == 2


async def test_a_server_without_the_operator_has_nothing_remembered(tmp_path: Path) -> None:
    """So that a plan can be seen before anything is installed."""
    async with open_plane(Settings(data=tmp_path / "data", port=0, is_open=True, operators=frozenset())) as plane:
        connection = Connection(plane.client, "default")
        assert isinstance(await read_known(connection), Known)
        with pytest.raises(Failure, match="homeostat deploy --operators images"):
            await read_known(connection, is_required=True)
