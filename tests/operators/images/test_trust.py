"""Whom the operator trusts, and who trusts it: tokens, host keys, signatures, and the builds and statuses of forges."""

from __future__ import annotations

import subprocess
from pathlib import Path

from aiohttp import web
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from homeostat.external.oci.auth import OneCredential
from homeostat.external.oci.registry import Registry
from homeostat.external.rest.client import RestClient
from homeostat.external.secrets.credentials import BasicAuth
from homeostat.external.secrets.docker_config import RegistryCredential
from homeostat.objects.kind import SECRET
from homeostat.testing.eventually import eventually
from tests.external.fake_pulls import TOKEN, FakePulls
from tests.external.git_servers import running_sshd, serving_git
from tests.external.oci.signing import Signed
from tests.external.registries import PASSWORD, USER
from tests.external.servers import serving
from tests.operators.images.scenarios import OLD
from tests.operators.images.stage import DEPLOYMENT_FILE, NAMESPACE, SECRETS, Stage, staged

_APP = {"main.go": "package main\n"}
_PATH = "apps/web.yaml"


def _make_key(path: Path) -> None:
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "x", "-f", str(path)]
    subprocess.run(command, check=True, timeout=30)


def _limited(after: str = "1") -> web.Response:
    return web.json_response({"message": "later"}, status=429, headers={"Retry-After": after})


async def _sign(stage: Stage, digest: str, key: ec.EllipticCurvePrivateKey) -> None:
    async with RestClient() as rest:
        registry = Registry(rest, keychain=OneCredential(RegistryCredential(basic=BasicAuth(USER, PASSWORD))))
        await Signed(registry, f"{stage.registry}/org/app", digest).tag(key)


async def test_images_must_be_signed_and_commits_are_over_http_with_a_token(registries: Stage, tmp_path: Path) -> None:
    stage, host = registries, registries.registry
    app = stage.repository("app-web", _APP)
    manifests = stage.repository("man-web", {_PATH: DEPLOYMENT_FILE.format(image=f"{host}/org/app:{OLD}")})
    _make_key(tmp_path / "signing")
    ours, theirs = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    pem = ours.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    for name, data in (
        ("good", {"username": "bot", "password": "hunter22", "signing-key": (tmp_path / "signing").read_text()}),
        ("bad", {"token": "hunter23"}),
        ("cosign", {"cosign.pub": pem.decode()}),
    ):
        await stage.client.create(SECRET.path(SECRETS), {"metadata": {"name": name}, "stringData": data})
    digest = await stage.push_image(host, "org/app", app.head(), is_index=True)
    async with serving_git(stage.root, "hunter22") as (_, url):
        await stage.deploy(
            "web",
            app_repository=f"{url}/app-web.git",
            manifest_repository=f"{url}/man-web.git",
            ssh_key_name="bad",
            ssh_key_namespace=SECRETS,
            registry_secret_url=f"http://{host}",
            cosign_secret_name="cosign",
        )

        async def says() -> str:
            entry = (await stage.reconcile())["web"]
            assert entry["action"] == "failed", entry
            return str(entry["message"])

        refused = await says()
        assert "check the token" in refused
        assert "hunter" not in refused
        await stage.annotate("web", ssh_key_name="good")
        assert (
            f"image {host}/org/app:{app.head()}@{digest}: {digest} is not trusted: it has no signature" in await says()
        )
        await _sign(stage, digest, theirs)
        assert "none of its 1 signatures matches the key" in await says()
        assert len(manifests.log()) == 2
        await _sign(stage, digest, ours)
        assert (await stage.reconcile())["web"]["action"] == "patched"
    (tmp_path / "allowed").write_text(f"gitops-operator@homeostat.dev {(tmp_path / 'signing.pub').read_text()}")
    manifests.git("-c", f"gpg.ssh.allowedSignersFile={tmp_path / 'allowed'}", "verify-commit", manifests.head())


async def test_builds_and_statuses_of_forges(data: Path, tmp_path: Path) -> None:
    gitea, gitlab, github = FakePulls("gitea"), FakePulls("gitlab"), FakePulls("github")
    async with (
        serving(gitea) as gitea_api,
        serving(gitlab) as gitlab_api,
        serving(github) as github_api,
        staged(
            data,
            tmp_path / "git",
            has_registries=True,
            GITEA_API_URL=gitea_api,
            GITLAB_API_URL=gitlab_api,
            GITHUB_API_URL=github_api,
        ) as stage,
    ):
        app = stage.repository("acme/app", _APP)
        for name, forge in (("gitea", gitea), ("gitlab", gitlab), ("github", github)):
            forge.add("acme/app", app)
            await stage.secret(SECRETS, name, **{f"{name}_token": TOKEN})
            stage.repository(f"man-{name}", {_PATH: DEPLOYMENT_FILE.format(image=f"{stage.registry}/org/app:{OLD}")})
            await stage.deploy(
                name,
                None,
                app_repository=f"{stage.git_url}/acme/app.git",
                registry_secret_url=f"http://{stage.registry}",
                commit_status="true",
                **{f"{name}_token_secret_name": name},
            )

        await stage.secret(SECRETS, "other", gitlab_token="wrong")
        stage.repository("man-other", {_PATH: DEPLOYMENT_FILE.format(image=f"{stage.registry}/org/app:{OLD}")})
        await stage.deploy(
            "other",
            app_repository=f"{stage.git_url}/acme/app.git",
            registry_secret_url=f"http://{stage.registry}",
            gitlab_token_secret_name="other",
        )

        async def both() -> tuple[tuple[str, str], tuple[str, str]]:
            found = await stage.reconcile()
            return tuple((found[each]["action"], found[each]["message"]) for each in ("gitea", "gitlab"))  # type: ignore[return-value]

        gitea.builds = [{"context": "ci / build", "status": "pending"}, {"context": "lint", "status": "success"}]
        gitlab.builds = [{"id": 1, "status": "running"}, {"id": 2, "status": "success"}]
        for action, message in await both():
            assert action == "skipped"
            assert message.startswith("waiting for the build")
        # Another token does not get the answer that this one got.
        assert "not found" in (await stage.reconcile())["other"]["message"]
        gitea.builds = [{"context": "ci / build", "status": "failure"}]
        gitlab.builds = [{"id": 1, "status": "failed"}]
        assert all(action == "failed" and "the build of" in message for action, message in await both())
        gitea.builds, gitlab.builds = [{"context": "homeostat/images", "status": "pending"}], []
        assert all("not found" in message for _, message in await both())
        gitlab.moods, gitea.moods = [_limited("60")], [web.json_response({"message": "Not Found"}, status=404)]
        (_, unknown), (action, message) = await both()
        assert "not found" in unknown
        assert (action, "HTTP 429" in message) == ("failed", True)
        assert not gitea.statuses + gitlab.statuses + github.statuses

        # The first attempt to set the status fails.
        gitea.moods, gitlab.moods = [web.json_response({}, status=503)], [_limited()]
        github.moods = [web.json_response({"message": "Resource not accessible"}, status=403)]
        await stage.push_image(stage.registry, "org/app", app.head())
        # A pass that asks again about the builds may have been first.
        assert {action for action, _ in await both()} <= {"patched", "up_to_date"}
        await eventually(lambda: len(gitea.statuses) == len(gitlab.statuses) == 1)
        assert (gitea.statuses[0]["state"], gitea.statuses[0]["context"]) == ("success", "homeostat/images")
        assert (gitlab.statuses[0]["state"], gitlab.statuses[0]["name"]) == ("success", "homeostat/images")
        assert {each["commit"] for each in (*gitea.statuses, *gitlab.statuses)} == {app.head()}
        for name in ("gitea", "gitlab"):
            await eventually(lambda: _is_reported(stage, name))  # noqa: B023
        calls = len(gitea.calls) + len(gitlab.calls)
        assert [action for action, _ in await both()] == ["up_to_date", "up_to_date"]
        assert len(gitea.calls) + len(gitlab.calls) == calls
        # What a forge refused is set by the next pass, as after a crash, and then not again.
        await eventually(lambda: _is_reported(stage, "github"))
        assert (await stage.reconcile())["github"]["action"] == "up_to_date"
        (status,) = github.statuses
        assert (status["commit"], status["state"], status["context"]) == (app.head(), "success", "homeostat/images")


async def _is_reported(stage: Stage, name: str) -> bool:
    return bool((await stage.update(name))["status"].get("reported"))


async def test_a_wrong_host_key_is_refused_and_says_what_to_do(stage: Stage, tmp_path: Path) -> None:
    (tmp_path / "sshd").mkdir()
    with running_sshd(tmp_path / "sshd") as sshd:
        app, manifests = stage.repository("app-ssh", _APP), stage.repository("man-ssh", {_PATH: "x"})
        key = sshd.known_hosts.split()[2]
        wrong = sshd.known_hosts.replace(key, "AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl")
        await stage.client.create(
            SECRET.path(NAMESPACE),
            {
                "metadata": {"name": "wrong"},
                "stringData": {"ssh-privatekey": sshd.private_key, "known_hosts": wrong},
            },
        )
        await stage.deploy(
            "ssh",
            ssh_key_name="wrong",
            app_repository=sshd.remote(app.path).url,
            manifest_repository=sshd.remote(manifests.path).url,
        )
        entry = (await stage.reconcile())["ssh"]
        assert entry["action"] == "failed"
        assert "Host key verification failed" in entry["message"]
        assert "known hosts" in entry["message"]
        assert len(manifests.log()) == 2
