"""`homeostat run` beside a server, as its users run it: a process of its own with the permissions of its manifest."""

from __future__ import annotations

import asyncio
import base64
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path

import pytest

from homeostat.cli.console.failure import Failure
from homeostat.cli.operators.hosted import refuse_cluster
from homeostat.client.base import Client
from homeostat.client.discovery import Discovery
from homeostat.objects import yaml
from homeostat.objects.errors import NotFoundError
from homeostat.objects.json import JsonObject, encode
from homeostat.objects.kind import CONFIG_MAP, LEASE
from homeostat.operators.catalog import find_operator
from homeostat.testing.eventually import eventually
from tests.cluster.fixtures import Api

HOMEOSTAT = str(Path(sys.executable).with_name("homeostat"))
GREETER = Path(__file__).parents[2] / "examples" / "greeter"
MANIFESTS = [(GREETER / name).read_bytes() for name in ("crd.yaml", "rbac.yaml")]
GREETINGS = "/apis/example.dev/v1"
MORNING = {
    "apiVersion": "example.dev/v1",
    "kind": "Greeting",
    "metadata": {"name": "morning"},
    "spec": {"text": "hello"},
}
ACCOUNT = "/api/v1/namespaces/default/serviceaccounts/greeter"


async def apply_manifest(client: Client, manifest: bytes) -> None:
    discovery = Discovery(client)
    for obj in yaml.load_all(manifest):
        kind = await discovery.find(obj["apiVersion"], obj["kind"])
        one = kind.path(obj["metadata"].get("namespace", ""), obj["metadata"]["name"])
        await client.apply(one, obj, manager="test", force=True)


async def is_served(client: Client) -> bool:
    try:
        await client.list(f"{GREETINGS}/greetings")
    except NotFoundError:
        return False
    return True


async def kubeconfig_of_account(api: Api) -> JsonObject:
    token = await api.client.create(f"{ACCOUNT}/token", {"spec": {"expirationSeconds": 3600}})
    endpoint = api.endpoint
    authority = base64.b64encode(endpoint.authority or b"").decode()
    cluster = {"server": endpoint.server, "certificate-authority-data": authority}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": {"token": token["status"]["token"]}}],
    }


@pytest.fixture
async def kubeconfig(api: Api, tmp_path: Path) -> Path:
    """Of an account that may do what the manifest says and no more."""
    for manifest in MANIFESTS:
        await apply_manifest(api.client, manifest)
    await eventually(lambda: is_served(api.client), within_s=30)
    path = tmp_path / "account"
    path.write_bytes(encode(await kubeconfig_of_account(api)))
    return path


@asynccontextmanager
async def running(*options: str) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(HOMEOSTAT, "run", *options, stderr=asyncio.subprocess.PIPE)
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def test_an_operator_runs_with_the_permissions_of_its_manifest_and_ends_when_asked(
    api: Api, kubeconfig: Path
) -> None:
    where = ["--kubeconfig", str(kubeconfig), "--namespace", api.namespace, "--operators", str(GREETER / "greeter.py")]
    election = ["--leader-elect", "--lease-namespace", "default", "--health", "none"]
    greetings = f"{GREETINGS}/namespaces/{api.namespace}/greetings"
    async with running(*where, *election) as process:
        await api.client.create(greetings, MORNING)
        note = await eventually(lambda: api.client.get(CONFIG_MAP.path(api.namespace, "morning")), within_s=30)
        assert note["data"] == {"text": "hello"}
        await eventually(lambda: api.client.get(f"{greetings}/morning"), is_ready)
        process.send_signal(signal.SIGTERM)
        _, told = await asyncio.wait_for(process.communicate(), 30)
    assert (process.returncode, "Traceback" in told.decode()) == (0, False), told.decode()
    leases, _ = await api.client.list(LEASE.path("default"))
    ours = [each["spec"] for each in leases if each["metadata"]["name"].startswith("homeostat-")]
    assert [each.get("holderIdentity") for each in ours] == [None]
    events, _ = await api.client.list(f"/api/v1/namespaces/{api.namespace}/events")
    assert [each["reason"] for each in events] == ["Writing"]


def is_ready(obj: JsonObject) -> bool:
    found = (obj.get("status") or {}).get("conditions") or []
    return ("Ready", "True") in {(each["type"], each["status"]) for each in found}


@pytest.mark.cluster
async def test_simulated_workloads_are_refused_on_a_cluster(real_api: Api) -> None:
    before, _ = await real_api.client.list("/api/v1/nodes")
    where = ["--kubeconfig", str(real_api.kubeconfig), "--operators", "homeostat.operators.workloads"]
    async with running(*where, "--health", "none") as process:
        _, told = await asyncio.wait_for(process.communicate(), 30)
    assert process.returncode == 1
    assert told.startswith(b"error: workloads would overwrite what the nodes and controllers of a cluster report")
    assert (await real_api.client.list("/api/v1/nodes"))[0] == before


async def test_a_plane_is_not_refused_for_them(api: Api) -> None:
    operators = {"workloads": find_operator("homeostat.operators.workloads")}
    is_plane = "homeostat" in await api.client.get("/version")
    with nullcontext() if is_plane else pytest.raises(Failure, match="got version v1"):
        await refuse_cluster(api.client, operators)
