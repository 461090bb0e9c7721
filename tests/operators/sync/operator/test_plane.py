"""The operator inside of a plane: webhooks of forges, checks of writes, and a process that is killed."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import io
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from homeostat.objects.errors import ApiError
from homeostat.objects.json import JsonObject
from homeostat.operators import sync
from homeostat.operators.sync.admission.check import Admission
from homeostat.operators.sync.api.policy import SYNC_POLICY as POLICY
from homeostat.plane import Settings, open_plane
from homeostat.runtime.faces.listeners import FaceChoice, Place
from homeostat.runtime.installation import install
from tests.cluster.fixtures import Api, create_namespace
from tests.external.git_servers import serving_git
from tests.external.servers import serving
from tests.operators.sync.cases import Rest
from tests.operators.sync.operator.stage import PASSWORD, TOKEN, Stage

SECRET = "secret-of-the-webhook"
HOOKS = "/hooks/v1/repositorywebhooks"


class Served(Stage):
    hooks = admission = ""


@pytest.fixture
async def served(data: Path, rest: Rest, tmp_path: Path) -> AsyncIterator[Served]:
    root = tmp_path / "stage"
    settings = Settings(
        data=data,
        port=0,
        operators=frozenset({"sync"}),
        environment={"SYNC_ADMISSION": "true"},
        is_open=True,
        faces=FaceChoice(
            own={name: Place("127.0.0.1", 0) for name in ("sync-hooks", "sync-admission")},
            without=frozenset({"dashboard"}),
        ),
    )
    await asyncio.to_thread(
        rest.call, "PUT", "/_/state", {"collections": {"/customers": {}}, "auth": {"bearer": TOKEN}}
    )
    async with open_plane(settings) as plane, serving_git(root, PASSWORD) as (_, git):
        stage = Served(plane.client, await create_namespace(plane.client), rest, root, git)
        urls = {each.face.name: each.url for each in plane.faces}
        stage.hooks, stage.admission = urls["sync-hooks"], urls["sync-admission"]
        yield stage


def push(delivery: str, ref: str = "refs/heads/main", secret: str = SECRET, event: str = "push") -> dict[str, Any]:
    body = json.dumps({"ref": ref}).encode()
    proof = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    headers = {"X-Gitea-Signature": proof, "X-Gitea-Event": event, "X-Gitea-Delivery": delivery}
    return {"data": body, "headers": headers}


def signed(body: bytes, secret: str) -> str:
    return hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


SIGNED: dict[str, Callable[[bytes, str], dict[str, str]]] = {
    "github": lambda body, secret: {
        "X-GitHub-Event": "push",
        "X-GitHub-Delivery": "1",
        "X-Hub-Signature-256": f"sha256={signed(body, secret)}",
    },
    "gitlab": lambda _, secret: {"X-Gitlab-Event": "Push Hook", "X-Gitlab-Token": secret},
    "generic-hmac": lambda body, secret: {"X-Event-Type": "push", "X-Signature": signed(body, secret)},
}


async def test_a_push_webhook_converges_and_bad_ones_change_nothing(served: Served) -> None:
    served.origin.commit({"customers/acme/resource.json": '{"id": "acme"}'})
    await served.declare()
    await served.secret("hook", secret=SECRET)
    spec: Any = {
        "repositoryRef": {"name": "declared"},
        "provider": "gitea",
        "secretRef": {"name": "hook", "key": "secret"},
    }
    spec["branchFilter"] = {"include": ["main", "release-*"], "exclude": ["release-0"]}
    await served.apply("RepositoryWebhook", "hook", spec)
    path = f"{HOOKS}/{served.namespace}/hook"
    await served.until(lambda status: status.get("webhookPath") == path, "RepositoryWebhook", "hook")
    await served.until(lambda status: bool(status.get("lastAppliedRepoRevision")))
    revision = served.origin.commit({"customers/acme/resource.json": '{"id": "acme", "tier": "gold"}'})
    async with aiohttp.ClientSession(served.hooks) as session:

        async def post(where: str, **what: Any) -> tuple[int, str]:
            async with session.post(where, **what) as answer:
                return answer.status, (await answer.text()).strip()

        async with session.get(path) as answer:
            assert answer.status == 405
        async with session.get("/healthz") as answer:
            assert answer.status == 200
        for bad in ("hook", f"{served.namespace}", f"{served.namespace}/hook/more", "UPPER/hook"):
            assert (await post(f"{HOOKS}/{bad}", **push("0")))[0] == 400
        assert (await post(f"{HOOKS}/{served.namespace}/none", **push("0")))[0] == 404
        assert (await post(path, **push("1", secret="wrong-secret")))[0] == 401
        assert (await post(path, **push("2", event="issues"))) == (202, "ignored")
        assert (await post(path, **push("3", "refs/heads/feature"))) == (202, "filtered")
        assert (await post(path, **push("4", "refs/heads/release-0"))) == (202, "filtered")
        assert (await post(path, data=io.BytesIO(b"x" * ((1 << 20) + 1))))[0] == 413
        annotations = (await served.get("ResourceRepository", "declared"))["metadata"].get("annotations", {})
        assert "declarest.io/webhook-last-received-at" not in annotations
        assert (await post(f"{path}/", **push("5"))) == (202, "accepted")
        assert (await post(path, **push("5"))) == (202, "duplicate")
        await served.synced(revision)
        hook = await served.get("RepositoryWebhook", "hook")
        assert hook["status"]["lastDeliveryID"] == "5"
        for provider, make in SIGNED.items():
            await served.apply("RepositoryWebhook", provider, {**spec, "provider": provider})
            where, body = f"{HOOKS}/{served.namespace}/{provider}", b'{"ref": "refs/heads/main"}'
            assert (await post(where, data=body, headers=make(body, "wrong-secret")))[0] == 401
            assert (await post(where, data=body, headers=make(body, SECRET))) == (202, "accepted")
        await served.apply("RepositoryWebhook", "hook", {**spec, "suspend": True})
        assert (await post(path, **push("6"))) == (202, "suspended")
    await served.until(
        lambda status: [each["reason"] for each in status["conditions"]] == ["Suspended"], "RepositoryWebhook", "hook"
    )
    assert "WebhookReceived" in [reason for reason, _ in await served.events()]


async def test_many_policies_are_compared_in_several_turns(data: Path) -> None:
    """A plane answers its own operators without waiting, so that nobody else has a turn in between."""
    async with open_plane(Settings(data=data, port=0, operators=frozenset(), is_open=True)) as plane:
        await install(plane.client, sync.KINDS)
        refs = {f"{each}Ref": {"name": "any"} for each in ("resourceRepository", "managedServer", "secretStore")}

        def policy(path: str) -> JsonObject:
            return POLICY.kind.new(path, spec={**refs, "source": {"path": path}})

        for number in range(210):
            await plane.client.create(POLICY.kind.path("default"), policy(f"a{number:03}"))
        admission, turns = Admission(plane.client, {}), 0

        async def count() -> None:
            nonlocal turns
            while True:
                await asyncio.sleep(0)
                turns += 1

        counting = asyncio.create_task(count())
        await asyncio.sleep(0)  # Its first turn only begins to count.
        new = policy("new")
        assert await admission.check(POLICY, None, {**new, "metadata": {"name": "new", "namespace": "default"}}) == []
        counting.cancel()
        assert turns >= 2
        taken = policy("a209")
        with pytest.raises(ApiError, match='overlaps the path of SyncPolicy "a209"'):
            await admission.check(POLICY, None, {**taken, "metadata": {"name": "new", "namespace": "default"}})


async def test_writes_are_checked_in_process_and_by_the_webhook(served: Served) -> None:
    served.origin.commit({"customers/acme/resource.json": '{"id": "acme"}'})
    await served.declare()
    refused: list[tuple[str, str, Any]] = [
        ("ResourceRepository", "pollInterval", served.repository(pollInterval="29s")),
        ("SyncPolicy", "overlaps", served.policy(source={"path": "/customers/acme"})),
        (
            "RepositoryWebhook",
            "does not exist",
            {"repositoryRef": {"name": "none"}, "provider": "gitea", "secretRef": {"name": "git", "key": "token"}},
        ),
    ]
    async with aiohttp.ClientSession(served.admission) as session:
        for kind, words, spec in refused:
            with pytest.raises(ApiError, match=words):
                await served.apply(kind, "refused", spec)
            body = {"metadata": {"name": "refused", "namespace": served.namespace}, "spec": spec}
            review = {"request": {"uid": "u", "operation": "CREATE", "object": body}}
            async with session.post(f"/validate-declarest-io-v1alpha1-{kind.lower()}", json=review) as answer:
                response = (await answer.json())["response"]
            assert not response["allowed"]
            assert words in response["status"]["message"]
        valid = {"metadata": {"name": "more", "namespace": served.namespace}, "spec": served.server()}
        review = {"request": {"uid": "u", "operation": "CREATE", "object": valid}}
        async with session.post("/validate-declarest-io-v1alpha1-managedserver", json=review) as answer:
            response = (await answer.json())["response"]
        assert response["allowed"]
        assert response["warnings"] == ["spec.http.baseURL is plain http: credentials and data are sent unencrypted"]
    await served.apply("ManagedServer", "prod", served.server())
    await served.apply("SyncPolicy", "prod", served.policy(managedServerRef={"name": "prod"}))
    path = sync.KINDS[0].kind.path(served.namespace, "declared")
    with pytest.raises(ApiError, match="refers to it"):
        await served.client.delete(path)
    for name in ("customers", "prod"):
        await served.client.delete(sync.KINDS[3].kind.path(served.namespace, name))
    for _ in range(100):
        found, _next = await served.client.list(sync.KINDS[3].kind.path(served.namespace))
        if not found:
            break
        await asyncio.sleep(0.05)
    await served.client.delete(path)


class Slow:
    """A REST server that keeps what it is sent, and whose answer to one request never comes."""

    def __init__(self) -> None:
        self.objects: dict[str, Any] = {}
        self.arrived, self.is_slow = asyncio.Event(), True

    async def answer(self, request: web.Request) -> web.StreamResponse:
        name = request.path.removeprefix("/customers").strip("/")
        match request.method:
            case "POST":
                body = await request.json()
                self.objects[body["id"]] = body
                if self.is_slow:
                    self.arrived.set()
                    await asyncio.sleep(60)
                return web.json_response(body, status=201)
            case "DELETE":
                return web.Response(status=204 if self.objects.pop(name, None) else 404)
            case _ if name:
                return web.json_response(self.objects[name]) if name in self.objects else web.Response(status=404)
        return web.json_response(list(self.objects.values()))


async def _run_operator(stage: Stage, api: Api) -> asyncio.subprocess.Process:
    words = ("run", "--operators", "sync", "--kubeconfig", str(api.kubeconfig), "--no-faces", "--health", "none")
    return await asyncio.create_subprocess_exec(
        *(str(Path(sys.executable).with_name("homeostat")), *words),
        env={**os.environ, "HOME": str(stage.root), "HOMEOSTAT_DATA": str(stage.root / "data")},
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )


async def test_a_process_killed_in_a_sync_leaves_nothing_that_the_next_one_does_not_own(
    api: Api, rest: Rest, tmp_path: Path
) -> None:
    root, slow = tmp_path / "stage", Slow()
    await install(api.client, sync.KINDS)
    async with serving_git(root, PASSWORD) as (_, git), serving(slow.answer) as url:
        stage = Stage(api.client, api.namespace, Rest(url), root, git)
        first = stage.origin.commit(
            {f"customers/{each}/resource.json": json.dumps({"id": each}) for each in ("a", "b", "c")}
        )
        await stage.declare()
        operator = await _run_operator(stage, api)
        try:
            await asyncio.wait_for(slow.arrived.wait(), 30)
            os.kill(operator.pid, signal.SIGKILL)
            await operator.wait()
            assert (await stage.get("SyncPolicy", "customers"))["status"]["attempt"]["mode"] == "full"
            slow.is_slow = False
            operator = await _run_operator(stage, api)
            await stage.synced(first)
            assert set(slow.objects) == {"a", "b", "c"}
            last = await stage.push({}, *(f"customers/{each}/resource.json" for each in ("a", "b", "c")))
            await stage.synced(last)
            assert slow.objects == {}
            assert len(await stage.records()) == 1
        finally:
            if operator.returncode is None:
                operator.terminate()
            await operator.wait()
