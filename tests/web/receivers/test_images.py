"""Webhooks of image updates, from the request to the pushed commit."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from homeostat.objects.json import JsonObject
from homeostat.testing.eventually import eventually
from tests.operators.images.scenarios import OLD
from tests.operators.images.stage import DEPLOYMENT_FILE, Stage, staged

_SECRET = "a secret of webhooks"


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    data = tmp_path / "data"
    async with staged(data, tmp_path / "git", IMAGES_WEBHOOK_SECRET=_SECRET) as stage:
        yield stage


async def _send(stage: Stage, path: str, body: object, secret: str = _SECRET) -> tuple[int, object]:
    data = json.dumps(body).encode()
    signature = hmac.new(secret.encode(), data, hashlib.sha256).hexdigest()
    headers = {
        "X-GitHub-Event": "push",
        "X-Hub-Signature-256": f"sha256={signature}",
        "Authorization": f"Bearer {secret}",
        "Content-Type": "application/json",
    }
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{stage.hooks}{path}", data=data, headers=headers) as answer,
    ):
        return answer.status, await answer.json()


async def test_a_push_to_the_application_updates_its_deployments(stage: Stage) -> None:
    app = stage.repository("app-web", {"a": "b"})
    manifests = stage.repository("man-web", {"apps/web.yaml": DEPLOYMENT_FILE.format(image=f"org/app:{OLD}")})
    await stage.deploy("web")
    await stage.get("/status")
    url = f"{stage.git_url}/app-web.git"
    push = {"ref": "refs/heads/other", "after": app.head(), "repository": {"full_name": "x/app", "clone_url": url}}
    assert await _send(stage, "/hooks/images/git/github", push) == (202, {"pushes": 1, "notified": 0})
    push["ref"] = "refs/heads/master"
    status, answer = await _send(stage, "/hooks/images/git/github", push, secret="a wrong secret of webhooks")
    assert status == 401, answer
    assert await _send(stage, "/hooks/images/git/github", push) == (202, {"pushes": 1, "notified": 1})
    await eventually(lambda: app.head() in manifests.show("apps/web.yaml"))


async def test_a_forge_proves_itself_and_a_repeated_delivery_does_nothing(stage: Stage) -> None:
    await stage.deploy("web", delivery="pull-request")
    await stage.get("/status")
    url = f"{stage.git_url}/man-web.git"
    repository = {"full_name": "x/man", "path_with_namespace": "x/man", "clone_url": url, "git_http_url": url}
    push = {"ref": "refs/heads/master", "after": "a" * 40, "repository": repository, "project": repository}
    push |= {"object_kind": "push", "checkout_sha": "a" * 40}
    data = json.dumps(push).encode()
    signed = hmac.new(_SECRET.encode(), data, hashlib.sha256).hexdigest()
    wrong = {"X-Gitlab-Token": "another secret", "X-Gitea-Signature": "0" * 64}
    async with aiohttp.ClientSession() as session:

        async def send(sender: str, **headers: str) -> tuple[int, JsonObject]:
            given = {each.replace("_", "-"): value for each, value in headers.items()}
            async with session.post(f"{stage.hooks}/hooks/images/git/{sender}", data=data, headers=given) as answer:
                return answer.status, await answer.json()

        gitlab = {"X_Gitlab_Token": _SECRET, "X_Gitlab_Event": "Push Hook", "Idempotency_Key": "one"}
        gitea = {"X_Gitea_Signature": signed, "X_Gitea_Event": "push", "X_Gitea_Delivery": "two"}
        for sender, headers in (("gitlab", gitlab), ("gitea", gitea)):
            # A merge moves the branch of the manifests, which this Deployment follows too.
            assert await send(sender, **headers) == (202, {"pushes": 1, "notified": 1})
            assert (await send(sender, **headers))[1]["repeated"] is True
            refused = {**headers, **{each.replace("-", "_"): value for each, value in wrong.items()}}
            assert (await send(sender, **refused))[0] == 401
            assert (await send(sender))[0] == 401
        assert (await send("gogs", **gitea))[0] == 404


async def test_a_pushed_image_triggers_those_that_have_it(stage: Stage) -> None:
    stage.repository("app-web", {"a": "b"})
    manifests = stage.repository("man-web", {"apps/web.yaml": DEPLOYMENT_FILE.format(image=f"org/app:{OLD}")})
    await stage.deploy("web")
    await stage.get("/status")
    body = {
        "push_data": {"tag": "1"},
        "repository": {"name": "app", "namespace": "org", "repo_name": "org/app"},
    }
    assert (await _send(stage, f"/hooks/images/registry/docker-hub?token={_SECRET.replace(' ', '%20')}", body))[
        0
    ] == 202
    await eventually(lambda: OLD not in manifests.show("apps/web.yaml"))
