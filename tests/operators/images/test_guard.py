"""What annotations may reach: hosts that the operator's owner allows, and uses that the owner of a Secret allows."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import pytest
from aiohttp import web

from homeostat.client.base import Client, Response
from homeostat.objects.json import encode
from homeostat.objects.kind import SECRET
from homeostat.operators.images.batching.memory import Memory
from homeostat.operators.images.engine.annotations import PREFIX, Settings, Tracked
from homeostat.operators.images.settings import ImageSettings
from homeostat.operators.images.sources.guard import NAMESPACES, Guard
from homeostat.operators.images.sources.secrets import Secrets
from homeostat.testing.eventually import eventually
from tests.external.servers import serving
from tests.operators.images.scenarios import OLD
from tests.operators.images.stage import DEPLOYMENT_FILE, NAMESPACE, SECRETS, Stage, staged

_APP = {"main.go": "package main\n"}
_FILES = {"apps/web.yaml": DEPLOYMENT_FILE.format(image=f"org/app:{OLD}")}


async def _limit(stage: Stage, namespace: str, name: str, **annotations: str | None) -> None:
    noted = {f"{PREFIX}{key}": value for key, value in annotations.items()}
    await stage.client.merge(SECRET.path(namespace, name), {"metadata": {"annotations": noted}})


async def _refused(stage: Stage, name: str) -> str:
    entry = (await stage.reconcile())[name]
    assert entry["action"] == "failed", entry
    return str(entry["message"])


def _uncleared(caplog: pytest.LogCaptureFixture) -> list[str]:
    found = [each for each in caplog.records if each.getMessage() == "failed to clear pull request"]
    return [str(vars(each)["reason"]) for each in found]


async def test_the_owner_of_a_secret_decides_where_it_is_sent_and_who_may_name_it(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    app, manifests = stage.repository("app-web", _APP), stage.repository("man-web", _FILES)
    asked = list[web.Request]()

    async def steal(request: web.Request) -> web.StreamResponse:
        asked.append(request)
        return web.Response(status=404)

    await stage.client.create(
        SECRET.path(SECRETS),
        {"metadata": {"name": "token"}, "stringData": {"token": "hunter22", "gitea-token": "hunter22"}},
    )
    git = urlsplit(stage.git_url).netloc
    async with serving(steal) as evil:
        # The Secret is for one host, and each of these would send it to another.
        await _limit(stage, SECRETS, "token", hosts=git)
        own: dict[str, str] = {"ssh_key_name": "token", "ssh_key_namespace": SECRETS}
        elsewhere = f"{evil}/org/web.git"
        for annotations in (
            own | {"app_repository": elsewhere},
            own | {"manifest_repository": elsewhere},
            {
                "app_repository": elsewhere,
                "gitea_token_secret_name": "token",
                "commit_status": "true",
                "update_policy": "semver:*",
            },
            {
                "manifest_repository": elsewhere,
                "pull_request_secret_name": "token",
                "delivery": "pull-request",
                "forge": "gitea",
            },
        ):
            await stage.deploy("web", None, **annotations)
            message = await _refused(stage, "web")
            assert f"the Secret {SECRETS}/token may not be used for" in message
            assert "gitops.operator.hosts" in message
            await stage.client.delete(f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/web")
            await eventually(lambda: _is_untracked(stage))
        # So would clearing a proposal that somebody wrote into a status; the reason is logged once.
        await stage.propose("stolen", "gone", manifest_repository=elsewhere, **own)
        await eventually(stage.reconcile, lambda _: _uncleared(caplog) != [])
        await stage.reconcile()
        assert not asked
        (reason,) = _uncleared(caplog)
        assert f"the Secret {SECRETS}/token may not be used for" in reason
        await _limit(stage, SECRETS, "token", namespaces="shop")
        await stage.reconcile()
        assert len(_uncleared(caplog)) == 2
        await _limit(stage, SECRETS, "token", namespaces=None)
    assert not asked

    await _limit(stage, SECRETS, "token", hosts=None, namespaces="shop, team-*")
    await stage.deploy("web", None, **own)
    message = await _refused(stage, "web")
    assert f"the Secret {SECRETS}/token may not be used by workloads of the namespace {NAMESPACE}" in message
    await _limit(stage, SECRETS, "token", namespaces="not a namespace!")
    assert "annotation gitops.operator.namespaces is invalid" in await _refused(stage, "web")
    await _limit(stage, SECRETS, "token", namespaces="im*", hosts="https://x")
    assert "annotation gitops.operator.hosts is invalid" in await _refused(stage, "web")
    await _limit(stage, SECRETS, "hook", namespaces="shop")
    await _limit(stage, SECRETS, "token", hosts=f"{git}/man-web, {git}/app-web")
    await stage.annotate("web", notifications_secret_name="hook")
    assert f"the Secret {SECRETS}/hook may not be used by" in await _refused(stage, "web")
    assert manifests.raw("apps/web.yaml").decode() == _FILES["apps/web.yaml"]
    await _limit(stage, SECRETS, "hook", namespaces="*", hosts="hooks.example.org")
    assert "the webhook at 127.0.0.1" in await _refused(stage, "web")
    assert not stage.said
    await _limit(stage, SECRETS, "hook", hosts=urlsplit(stage.webhook).netloc)
    assert (await stage.reconcile())["web"]["action"] == "patched"
    assert app.head() in manifests.show("apps/web.yaml")
    await eventually(lambda: len(stage.said) == 1)


@pytest.mark.parametrize(
    ("settings", "allowed"),
    [
        (ImageSettings(), {NAMESPACE, "gitops-operator"}),
        (ImageSettings(own_secrets=True), {NAMESPACE}),
        (ImageSettings(any_secrets=True), {NAMESPACE, "gitops-operator", "other"}),
        (ImageSettings(own_secrets=True, any_secrets=True), {NAMESPACE}),
    ],
    ids=["by default", "own", "any", "own comes before any"],
)
async def test_a_secret_of_another_namespace_has_to_allow_it(settings: ImageSettings, allowed: set[str]) -> None:
    guard, found = Guard(settings), set[str]()
    for namespace in (NAMESPACE, "gitops-operator", "other"):
        tracked = _tracked(namespace)
        if await guard.refusal(tracked, _secrets({})) is None:
            found.add(namespace)
        assert await guard.refusal(tracked, _secrets({NAMESPACES: f"x,{NAMESPACE}"})) is None
        assert await guard.refusal(tracked, _secrets({NAMESPACES: "x"})) is not None
    assert found == allowed


def _tracked(namespace: str) -> Tracked:
    """A workload whose Secrets are all in this namespace."""
    settings = Settings(
        enabled=True,
        namespace=NAMESPACE,
        app_repository="https://git.example/app",
        manifest_repository="https://git.example/manifests",
        image_name="app",
        deployment_path="apps/web.yaml",
        ssh_key_name="key",
        ssh_key_namespace=namespace,
        registry_secret_name="key",
        registry_secret_namespace=namespace,
    )
    return Tracked("web", settings, "app", "1", {})


class _OneSecret:
    """A server on which every Secret has these annotations."""

    def __init__(self, annotations: dict[str, str]) -> None:
        self._annotations = annotations

    async def send(
        self, method: str, path: str, *, query: str = "", body: bytes = b"", content_type: str = "", accept: str = ""
    ) -> Response:
        return Response(200, encode({"metadata": {"annotations": self._annotations}}))

    async def stream(self, path: str, *, query: str = "", accept: str = "") -> Response:
        raise AssertionError(path)


def _secrets(annotations: dict[str, str]) -> Secrets:
    return Secrets(Client(_OneSecret(annotations)), Memory())


async def _is_untracked(stage: Stage) -> bool:
    return "tracked deployments: 0" in await stage.get("/status")


async def test_the_owner_of_the_operator_decides_which_hosts_and_secrets_are_used(data: Path, tmp_path: Path) -> None:
    hosts = "127.0.0.1:*/app-web, 127.0.0.1:*/man-web, docker.io/org, *.example.org"
    async with staged(
        data, tmp_path / "git", HOMEOSTAT_IMAGES_HOSTS=hosts, HOMEOSTAT_IMAGES_OWN_SECRETS="true"
    ) as stage:
        stage.repository("app-web", _APP)
        manifests = stage.repository("man-web", _FILES)
        stage.repository("man-other", _FILES)
        await stage.deploy("web", manifest_repository=f"{stage.git_url}/man-other.git")
        message = await _refused(stage, "web")
        assert f"manifest_repository {stage.git_url.removeprefix('http://')}/man-other is not allowed" in message
        assert "--images-allow-hosts" in message
        repository = f"{stage.git_url}/man-web.git"
        await stage.annotate("web", manifest_repository=repository, app_repository=f"{stage.git_url}/other.git")
        assert "app_repository" in await _refused(stage, "web")
        await stage.annotate(
            "web", app_repository=f"{stage.git_url}/app-web.git", registry_secret_url="https://evil.example"
        )
        assert "the image evil.example/org/app is not allowed" in await _refused(stage, "web")
        await stage.annotate("web", registry_secret_url=None, notifications_secret_name="hook")
        # A Secret of another namespace has to allow it, and then its webhook is still on no allowed host.
        assert f"the Secret {SECRETS}/hook may not be used by workloads" in await _refused(stage, "web")
        await _limit(stage, SECRETS, "hook", namespaces=NAMESPACE)
        assert "the webhook at 127.0.0.1 is not allowed" in await _refused(stage, "web")
        assert len(manifests.log()) == 2
        await stage.annotate("web", notifications_secret_name=None)
        assert (await stage.reconcile())["web"]["action"] == "patched"
