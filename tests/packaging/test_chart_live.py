"""The chart on a real kube-apiserver: it accepts what is rendered, and operators run with the chart's permissions."""

from __future__ import annotations

import asyncio
import base64
import http.client
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from homeostat.client.discovery import Discovery
from homeostat.objects import yaml
from homeostat.objects.json import JsonObject, encode
from homeostat.objects.kind import DEPLOYMENT, LEASE, SECRET
from homeostat.operators.catalog import OURS
from homeostat.testing.eventually import eventually
from tests.cli.applying import apply
from tests.cli.operators.test_deploy import monitoring_kind
from tests.cli.running import HOMEOSTAT
from tests.cluster.fixtures import Api
from tests.packaging.charting import CHART, Helm, all_of, open_helm
from tests.packaging.test_chart import MONITORED, SERVED, VALUES
from tests.ports import free_port
from tools.build_kubectl import find_kubectl

pytestmark = pytest.mark.cluster
LATER_KINDS = {
    ("monitoring.coreos.com", "servicemonitors"): "ServiceMonitor",
    ("monitoring.coreos.com", "prometheusrules"): "PrometheusRule",
    ("cert-manager.io", "issuers"): "Issuer",
    ("cert-manager.io", "certificates"): "Certificate",
    ("gateway.networking.k8s.io", "httproutes"): "HTTPRoute",
}
"""Kinds of others, which the cluster of the tests does not have."""

_NOWHERE = "https://127.0.0.1:1/own.git"
UPDATED = {
    "annotations": {
        "gitops.operator.enabled": "true",
        "gitops.operator.app_repository": _NOWHERE,
        "gitops.operator.manifest_repository": _NOWHERE,
        "gitops.operator.deployment_path": "own.yaml",
        "gitops.operator.observe_branch": "main",
        "gitops.operator.image_name": "own",
        "gitops.operator.ssh_key_name": "none",
        "gitops.operator.ssh_key_namespace": "default",
    }
}


def definition(group: str, plural: str, kind: str) -> JsonObject:
    made = monitoring_kind(plural, kind)
    made["metadata"]["name"] = f"{plural}.{group}"
    # A server wants that for a group of Kubernetes.
    made["metadata"]["annotations"] = {"api-approved.kubernetes.io": "unapproved, for tests"}
    made["spec"]["group"] = group
    return made


@pytest.fixture
async def helm(real_api: Api, tmp_path: Path) -> Helm:
    opened = open_helm(tmp_path, real_api.kubeconfig)
    await apply(real_api.client, *(definition(*of, kind) for of, kind in LATER_KINDS.items()))
    return opened


async def kubectl(api: Api, home: Path, documents: list[JsonObject], *arguments: str) -> str:
    command = [
        str(find_kubectl()),
        "--kubeconfig",
        str(api.kubeconfig),
        "--cache-dir",
        str(home),
        *arguments,
        "-f",
        "-",
    ]
    program = await asyncio.create_subprocess_exec(
        *command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    out, _ = await program.communicate(yaml.dump_all([*documents]))
    assert program.returncode == 0, out.decode()
    return out.decode()


async def test_the_server_accepts_every_object_of_the_chart(real_api: Api, helm: Helm, tmp_path: Path) -> None:
    cases = [values for values in VALUES.values() if "watchNamespace" not in values]
    rendered = [each for values in cases for each in helm.template(values, namespace=real_api.namespace)]
    once = {(each["kind"], each["metadata"]["name"], str(each)): each for each in rendered}
    for part in (all_of(rendered, "CustomResourceDefinition")[:3], without_definitions(list(once.values()))):
        told = await kubectl(
            real_api, tmp_path, part, "apply", "--server-side", "--dry-run=server", "--force-conflicts"
        )
        assert len(told.splitlines()) >= len(part)


def without_definitions(documents: list[JsonObject]) -> list[JsonObject]:
    return [each for each in documents if each["kind"] != "CustomResourceDefinition"]


class Release:
    def __init__(self, helm: Helm, api: Api) -> None:
        self._helm, self._api = helm, api
        self._options = ("homeostat", str(CHART), "--namespace", api.namespace)

    async def install(self, values: dict[str, Any]) -> None:
        # Definitions that other tests have put onto the cluster are taken over.
        await asyncio.to_thread(
            self._helm, "upgrade", "--install", "--take-ownership", *self._options, *self._helm.values(values)
        )

    async def uninstall(self) -> None:
        await asyncio.to_thread(self._helm, "uninstall", "homeostat", "--namespace", self._api.namespace)

    async def arguments(self) -> list[str]:
        found = await self._api.client.get(DEPLOYMENT.path(self._api.namespace, "homeostat"))
        arguments: list[str] = found["spec"]["template"]["spec"]["containers"][0]["args"]
        return arguments


async def kubeconfig_of_account(api: Api, folder: Path) -> Path:
    """Of the account that the chart made, with the permissions that the chart grants."""
    path = f"/api/v1/namespaces/{api.namespace}/serviceaccounts/homeostat/token"
    token = (await api.client.create(path, {"spec": {"expirationSeconds": 3600}}))["status"]["token"]
    authority = base64.b64encode(api.endpoint.authority or b"").decode()
    cluster = {"server": api.endpoint.server, "certificate-authority-data": authority}
    written = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": {"token": token}}],
    }
    place = folder / "account"
    place.write_bytes(encode(written))
    return place


@asynccontextmanager
async def running(arguments: list[str], kubeconfig: Path, port: int, log: Path) -> AsyncIterator[None]:
    """The command of the chart's Pods, on this machine."""
    own = [each.replace("0.0.0.0:9090", f"127.0.0.1:{port}") for each in arguments]
    with log.open("wb") as written:
        process = await asyncio.create_subprocess_exec(
            HOMEOSTAT, *own, "--kubeconfig", str(kubeconfig), stdout=written, stderr=written
        )
    try:
        yield
    finally:
        if process.returncode is None:
            process.terminate()
        await asyncio.wait_for(process.wait(), 40)


def readiness(port: int) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", "/readyz?verbose")
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def objects(namespace: str) -> list[JsonObject]:
    """One for each operator, so that each awakes and writes what its reconciliation finds."""

    def one(version: str, kind: str, spec: JsonObject, **metadata: object) -> JsonObject:
        return {"apiVersion": version, "kind": kind, "metadata": {"name": "own", **metadata}, "spec": spec}

    here = {"namespace": namespace}
    store = {
        "file": {"path": "/nowhere/secrets.json", "encryption": {"passphraseRef": {"name": "none", "key": "none"}}}
    }
    types = {"name": "Own", "version": "v1", "schema": {"type": "object"}, "action": {"plugin": "stateful"}}
    contract = "pactoVersion: '1.2'\nservice: {name: own, version: 1.0.0}\n"
    labels = {"app": "own"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "own", "image": "own:1"}]}}
    return [
        one("apps/v1", "Deployment", {"selector": {"matchLabels": labels}, "template": template}, **here, **UPDATED),
        one("devops.stochastic.io/v1", "DevOpsPolicy", {"requireLivenessProbe": True}, **here),
        one("homeostat.dev/v1alpha1", "ResourceType", types, name=f"own-{namespace[-6:]}"),
        one("pacto.trianalab.io/v1alpha1", "Pacto", {"contractRef": {"inline": contract}, "target": {}}, **here),
        one("declarest.io/v1alpha1", "SecretStore", store, **here),
    ]


def reporting(namespace: str) -> list[JsonObject]:
    """Those whose status an operator writes: of a Deployment it is its ImageUpdate's."""
    update = {"apiVersion": "images.homeostat.dev/v1", "kind": "ImageUpdate"}
    return [{**each, **update} if each["kind"] == "Deployment" else each for each in objects(namespace)]


@pytest.mark.parametrize("is_narrow", [True, False], ids=["one namespace", "all namespaces"])
async def test_a_release_is_upgraded_and_its_operators_run_with_its_permissions(
    real_api: Api, helm: Helm, tmp_path: Path, is_narrow: bool
) -> None:
    release, namespace = Release(helm, real_api), real_api.namespace
    narrow: dict[str, Any] = {"arguments": ["--images-interval", "1"]}
    narrow |= {"watchNamespace": namespace} if is_narrow else {}
    try:
        await release.install({**narrow, **SERVED, "monitoring": MONITORED})
        secrets = [SECRET.path(namespace, f"homeostat-{each}-tls") for each in ("faces", "policy-webhook")]
        before = [(await real_api.client.get(each))["data"] for each in secrets]
        # Later values leave out the definitions, which stay, as they do when the release is uninstalled.
        narrow["crds"] = {"install": False}
        await release.install({**narrow, **SERVED, "replicas": 3})
        assert [(await real_api.client.get(each))["data"] for each in secrets] == before, "renewed by processes only"

        await release.install(narrow)
        await apply(real_api.client, *objects(namespace))
        account, port = await kubeconfig_of_account(real_api, tmp_path), free_port()
        async with running(await release.arguments(), account, port, tmp_path / "run.log"):
            status, text = await eventually(
                lambda: asyncio.to_thread(readiness, port), lambda seen: seen[0] == 200, within_s=60
            )
            assert status == 200, text
            await asyncio.gather(*(reported(real_api, each) for each in reporting(namespace)))
            leases = await real_api.client.get(LEASE.path(namespace))
            assert {each["metadata"]["name"] for each in leases["items"]} >= {f"homeostat-{each}" for each in OURS}
        assert "orbidden" not in (tmp_path / "run.log").read_text()
    finally:
        await release.uninstall()
    definitions = await real_api.client.get("/apis/apiextensions.k8s.io/v1/customresourcedefinitions")
    assert "devopspolicies.devops.stochastic.io" in {each["metadata"]["name"] for each in definitions["items"]}


async def reported(api: Api, obj: JsonObject) -> None:
    """Its operator has written a status."""
    kind = await Discovery(api.client).find(obj["apiVersion"], obj["kind"])
    path = kind.path(obj["metadata"].get("namespace", ""), obj["metadata"]["name"])

    async def read() -> JsonObject:
        return await api.client.get(path)

    await eventually(read, lambda found: found.get("status"), within_s=40)
