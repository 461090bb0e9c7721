"""`homeostat deploy` prints how an API server asks `homeostat run` about writes, and a real one does so over TLS."""

from __future__ import annotations

import asyncio
import subprocess
from base64 import b64encode
from datetime import timedelta
from pathlib import Path

import pytest

from homeostat.objects import yaml
from homeostat.objects.json import JsonObject, encode
from homeostat.objects.kind import SECRET
from homeostat.operators import sync
from homeostat.runtime.installation import install
from homeostat.testing.eventually import eventually
from tests.cli.operators.test_run_rest import started
from tests.cli.running import make_cli
from tests.cluster.fixtures import Api
from tests.operators.sync.operator.stage import KINDS
from tests.web.reviewing import write_certificates
from tools.build_kubectl import find_kubectl

HOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"


def policy(name: str, path: str) -> JsonObject:
    refs = {f"{each}Ref": {"name": "any"} for each in ("resourceRepository", "managedServer", "secretStore")}
    spec = {**refs, "source": {"path": path}, "syncInterval": "1h", "suspend": True}
    return {**KINDS["SyncPolicy"].new(name, spec=spec)}


@pytest.mark.cluster
async def test_a_real_api_server_refuses_what_the_deployed_webhook_refuses(real_api: Api, tmp_path: Path) -> None:
    await install(real_api.client, sync.KINDS)
    cli, tls, namespace = make_cli(tmp_path / "data"), tmp_path / "tls", real_api.namespace
    made = cli.here(
        *("webhook", "cert-generate", "--service-name", "homeostat", "--namespace", "homeostat"),
        *("--ip-san", "127.0.0.1", "--output-dir", tls),
    )
    assert made.code == 0, made.err
    printed = cli.here("deploy", "--operators", "sync", "--faces-tls", tls, "--within", namespace)
    found = list(yaml.load_all(printed.out.encode()))
    (container,) = next(
        each["spec"]["template"]["spec"]["containers"] for each in found if each["kind"] == "Deployment"
    )
    assert {"name": "SYNC_ADMISSION", "value": "true"} in container["env"]
    assert "0.0.0.0:8000" in container["args"]
    assert "homeostat/homeostat-faces-tls" in container["args"]
    secret, role = (
        next(each for each in found if each["metadata"]["name"] == name)
        for name in ("homeostat-faces-tls", "homeostat-faces-certificate")
    )
    assert {*secret["data"]} == {"ca.crt", "ca.key", "tls.crt", "tls.key"}
    assert role["rules"][0]["resourceNames"] == ["homeostat-faces-tls"]
    due = tmp_path / "due"
    write_certificates(due, age=timedelta(hours=20))
    secret["data"] = {each.name: b64encode(each.read_bytes()).decode() for each in due.iterdir()}
    secret["metadata"]["namespace"] = namespace
    await real_api.client.create(SECRET.path(namespace), secret)
    configuration = found[-1]
    assert (configuration["kind"], len(configuration["webhooks"])) == ("ValidatingWebhookConfiguration", 5)

    async def apply(body: JsonObject) -> str:
        """What kubectl says."""
        command = [str(find_kubectl()), "--kubeconfig", str(real_api.kubeconfig), "-n", namespace, "apply", "-f", "-"]
        text = encode(body).decode()
        done = await asyncio.to_thread(
            lambda: subprocess.run(command, input=text, capture_output=True, text=True, timeout=60)
        )
        return done.stdout + done.stderr

    run = ["run", "--operators", "sync", "--kubeconfig", str(real_api.kubeconfig), "-n", namespace, "--health", "none"]
    serve = ["--sync-enable-admission", "--sync-admission-port", "127.0.0.1:0"]
    files = ["--faces-cert", str(tls / "tls.crt"), "--faces-key", str(tls / "tls.key")]
    renew = ["--faces-renew-secret", f"{namespace}/homeostat-faces-tls"]
    with started([*run, *serve, *files, *renew], r"(https://127\.0\.0\.1:\d+)/validate") as address:
        for each in configuration["webhooks"]:
            client = each["clientConfig"]
            each["clientConfig"] = {
                "url": address[1] + client["service"]["path"],
                "caBundle": client["caBundle"],
            }
        configuration["metadata"]["name"] = namespace
        await real_api.client.create(HOOKS, configuration)
        try:
            before = secret["data"]["tls.crt"]
            await eventually(lambda: is_renewed(real_api, before))
            assert "created" in await apply(policy("older", "customers"))
            for number in range(100):
                # An API server learns of a configuration a moment later.
                if "created" not in (told := await apply(policy(f"narrow-{number}", "customers/acme"))):
                    break
            assert 'is invalid: spec.source.path: Forbidden: overlaps the path of SyncPolicy "' in told

            store: JsonObject = {"file": {"path": "relative", "encryption": {"keyRef": {"name": "a", "key": "b"}}}}
            told = await apply({**KINDS["SecretStore"].new("store", spec=store)})
            assert "must be an absolute path on the operator's machine" in told
            key = {"secretRef": {"name": "a", "key": "b"}}
            store = {**store, "vault": {"address": "https://vault.example.com", "auth": {"token": key}}}
            told = await apply({**KINDS["SecretStore"].new("store", spec=store)})
            assert "exactly one of" in told
        finally:
            await real_api.client.delete(f"{HOOKS}/{namespace}")


async def is_renewed(api: Api, before: str) -> bool:
    found = await api.client.get(SECRET.path(api.namespace, "homeostat-faces-tls"))
    return bool(found["data"]["tls.crt"] != before)
