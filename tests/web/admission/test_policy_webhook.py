"""The commands of the webhook, and a real server that asks it."""

from __future__ import annotations

import asyncio
import base64
import json
import re
import signal
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result
from cryptography import x509

from homeostat.cli.policy.webhook import command
from homeostat.operators.policy.api import DEVOPS_POLICY
from homeostat.plane import Plane
from tests.kubectl.kubectl import Kubectl
from tests.served import ServedPlane, serve_plane
from tests.web.reviewing import changed, write_certificates
from tools.build_kubectl import find_kubectl

_PROGRAM = "from homeostat.cli.policy.webhook import command; command()"
_PORT = re.compile(r"https://127\.0\.0\.1:(\d+)/validate")


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(command, [str(each) for each in arguments])


def test_private_files_are_made(tmp_path: Path) -> None:
    made = run("cert-generate", "--output-dir", tmp_path / "tls", "--ip-san", "10.0.0.7", "--namespace", "ops")
    assert made.exit_code == 0, made.output
    files = {each.name: each for each in (tmp_path / "tls").iterdir()}
    assert sorted(files) == ["ca.crt", "ca.key", "tls.crt", "tls.key"]
    assert {each.stat().st_mode & 0o777 for each in files.values()} == {0o600}
    leaf = x509.load_pem_x509_certificate(files["tls.crt"].read_bytes())
    names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName)[0] == "kube-devops-webhook.ops.svc"
    assert [str(each) for each in names.get_values_for_type(x509.IPAddress)] == ["10.0.0.7"]
    ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(files["tls.crt"], files["tls.key"])


def test_the_configuration_names_the_service_or_the_url(tmp_path: Path) -> None:
    run("cert-generate", "--output-dir", tmp_path)
    authority = (tmp_path / "ca.crt").read_bytes()
    (by_service,) = yaml.safe_load(run("install-config", "--ca-bundle-path", tmp_path / "ca.crt").stdout)["webhooks"]
    assert by_service["clientConfig"]["service"]["name"] == "kube-devops-webhook"
    assert base64.b64decode(by_service["clientConfig"]["caBundle"]) == authority
    printed = run("install-config", "--ca-bundle-path", tmp_path / "ca.crt", "--url", "https://hook:1/validate").stdout
    (by_url,) = yaml.safe_load(printed)["webhooks"]
    assert by_url["clientConfig"] == {
        "url": "https://hook:1/validate",
        "caBundle": by_service["clientConfig"]["caBundle"],
    }


def test_a_webhook_that_fails_closed_lets_its_own_pods_start(tmp_path: Path) -> None:
    run("cert-generate", "--output-dir", tmp_path)
    options = ("install-config", "--ca-bundle-path", tmp_path / "ca.crt", "--failure-policy", "Fail")

    def excluded(*more: str) -> tuple[str, list[str]]:
        (hook,) = yaml.safe_load(run(*options, *more).stdout)["webhooks"]
        return hook["failurePolicy"], hook["namespaceSelector"]["matchExpressions"][0]["values"][3:]

    assert excluded("--namespace", "ops") == ("Fail", ["ops"])
    assert excluded("--url", "https://hook:1/validate") == ("Fail", [])


WRONG = {
    "no address": (("cert-generate", "--ip-san", "localhost"), 2, "is not an IP address"),
    "no name": (("cert-generate", "--service-name", "höök"), 2, "--service-name"),
    "no directory": (("cert-generate", "--output-dir", "/dev/null/x"), 1, "/dev/null"),
    "no authority": (("install-config", "--ca-bundle-path", "none.crt"), 1, "CA bundle none.crt: No such file"),
    "no PEM": (
        ("install-config", "--ca-bundle-path", "/dev/null"),
        1,
        "the file holds no certificate; pass the ca.crt of the webhook",
    ),
    "no certificate": (("serve", "--tls-cert", "none.crt"), 1, "certificate none.crt: No such file"),
    "no port": (("serve", "--addr", "here"), 2, "--addr takes ADDR:PORT"),
    "no Secret": (("serve", "--renew-secret", "tls"), 2, "--renew-secret takes NAMESPACE/NAME"),
}


@pytest.mark.parametrize(("arguments", "code", "told"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_done_is_reported_in_a_line(
    arguments: tuple[str, ...], code: int, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run(*arguments)
    assert (done.exit_code, told in done.output) == (code, True), done.output


def test_a_missing_key_is_named(tmp_path: Path) -> None:
    run("cert-generate", "--output-dir", tmp_path)
    done = run("serve", "--tls-cert", tmp_path / "tls.crt", "--tls-key", tmp_path / "none.key")
    assert (done.exit_code, f"key {tmp_path}/none.key: No such file" in done.output) == (1, True)


@dataclass
class Serving:
    process: subprocess.Popen[str]
    port: int

    def end(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(30)


@contextmanager
def serving(files: Path, kubeconfig: Path, *more: str) -> Iterator[Serving]:
    """`homeostat policy webhook serve` in a process of its own."""
    options = ["--addr", "127.0.0.1:0", "--tls-cert", str(files / "tls.crt"), "--tls-key", str(files / "tls.key")]
    process = subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, "serve", *options, "--kubeconfig", str(kubeconfig), *more],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        line = process.stdout.readline()
        found = _PORT.search(line)
        assert found, line + process.stderr.read()
        yield Serving(process, int(found[1]))
    finally:
        process.kill()
        process.communicate()


@pytest.fixture
def files(tmp_path: Path) -> Path:
    assert run("cert-generate", "--output-dir", tmp_path / "tls", "--ip-san", "127.0.0.1").exit_code == 0
    return tmp_path / "tls"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedPlane]:
    with serve_plane(tmp_path_factory.mktemp("served") / "data") as plane:
        yield plane


@pytest.fixture
def kubectl(served: ServedPlane, tmp_path: Path) -> Kubectl:
    return Kubectl(find_kubectl(), tmp_path, served.kubeconfig, "default")


def pod(name: str, image: str) -> str:
    spec = {"containers": [{"name": "a", "image": image}]}
    return json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec})


def policy(mode: str) -> str:
    kind = DEVOPS_POLICY.kind
    spec = {"forbidLatestTag": True, "enforcementMode": mode, "admission": {"mode": "auto"}}
    body = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": "tags"}, "spec": spec}
    return json.dumps(body)


def eventually(kubectl: Kubectl, manifest: str, holds: Callable[[str, int], bool]) -> None:
    """A watch takes a moment to deliver a policy to the webhook."""
    for _ in range(100):
        done = kubectl.run("create", "--dry-run=server", "-f", "-", stdin=manifest)
        if holds(done.err, done.code):
            return
    raise AssertionError(done)


def test_files_whose_certificate_is_due_are_renewed(served: ServedPlane, tmp_path: Path) -> None:
    write_certificates(tmp_path, age=timedelta(hours=20))
    before = (tmp_path / "tls.crt").read_bytes()
    with serving(tmp_path, served.kubeconfig) as webhook:
        changed((tmp_path / "tls.crt").read_bytes, before)
        assert webhook.end() == 0


@pytest.mark.kubectl
def test_a_secret_whose_certificate_is_due_is_renewed(served: ServedPlane, kubectl: Kubectl, tmp_path: Path) -> None:
    write_certificates(tmp_path, age=timedelta(hours=20))
    kubectl("create", "secret", "generic", "hook-tls", f"--from-file={tmp_path}")

    def stored() -> bytes:
        return kubectl("get", "secret", "hook-tls", "-o", r"jsonpath={.data.tls\.crt}").encode()

    before = stored()
    with serving(tmp_path, served.kubeconfig, "--renew-secret", "default/hook-tls") as webhook:
        changed(stored, before)
        assert webhook.end() == 0
    assert (tmp_path / "tls.crt").read_bytes() == base64.b64decode(before)


@pytest.mark.kubectl
def test_a_server_asks_the_webhook_and_kubectl_shows_its_answer(
    served: ServedPlane, kubectl: Kubectl, files: Path
) -> None:
    with serving(files, served.kubeconfig) as webhook:
        url = f"https://127.0.0.1:{webhook.port}/validate"
        configuration = run("install-config", "--ca-bundle-path", files / "ca.crt", "--url", url).stdout
        kubectl("apply", "-f", "-", stdin=configuration)
        kubectl("apply", "-f", "-", stdin=policy("enforce"))
        denied = "Denied by DevOpsPolicy: container 'a' uses :latest tag"
        eventually(kubectl, pod("web", "nginx:latest"), lambda err, code: code == 1 and denied in err)
        assert 'admission webhook "validate.devops.stochastic.io" denied the request' in kubectl.fails(
            "create", "-f", "-", stdin=pod("web", "nginx:latest")
        )
        kubectl("create", "-f", "-", stdin=pod("good", "nginx:1.25"))
        kubectl("apply", "-f", "-", stdin=policy("audit"))
        warned = "Warning: DevOpsPolicy: container 'a' uses :latest tag"
        eventually(kubectl, pod("web", "nginx:latest"), lambda err, code: code == 0 and warned in err)
        kubectl("apply", "-f", "-", stdin=policy("enforce"))
        eventually(kubectl, pod("web", "nginx:latest"), lambda err, code: code == 1)
        assert webhook.end() == 0
    kubectl("create", "-f", "-", stdin=pod("web", "nginx:latest"))


async def test_a_server_without_the_kinds_is_reported_with_how_to_add_them(plane: Plane, files: Path) -> None:
    options = ["serve", "--kubeconfig", plane.kubeconfig_path, "--tls-cert", files / "tls.crt"]
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _PROGRAM, *map(str, options), "--tls-key", str(files / "tls.key"), stderr=subprocess.PIPE
    )
    async with asyncio.timeout(30):
        _, told = await process.communicate()
    assert (process.returncode, b"homeostat crds --operators policy" in told) == (1, True), told
