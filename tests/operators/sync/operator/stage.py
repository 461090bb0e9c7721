"""The operator on a server, with a repository behind HTTP, a REST server, and the five objects that connect them."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from homeostat.client.base import Client
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import EVENT, SECRET
from homeostat.operators import sync
from homeostat.operators.sync.api.policy import SYNC_POLICY
from homeostat.operators.sync.api.record import SYNC_RECORD
from homeostat.operators.sync.api.repository import RESOURCE_REPOSITORY
from homeostat.operators.sync.api.server import MANAGED_SERVER
from homeostat.operators.sync.api.store import SECRET_STORE
from homeostat.operators.sync.api.webhook import REPOSITORY_WEBHOOK
from homeostat.runtime.installation import install
from homeostat.runtime.manager import Manager
from tests.cluster.fixtures import Api
from tests.external.git_servers import Origin, serving_git
from tests.operators.sync.cases import Rest

KINDS = {
    each.kind.kind: each.kind
    for each in (RESOURCE_REPOSITORY, MANAGED_SERVER, SECRET_STORE, SYNC_POLICY, REPOSITORY_WEBHOOK)
}
TOKEN, PASSWORD = "token-of-the-server", "password-of-git"
WITHIN_S = 20.0


class Stage:
    def __init__(self, client: Client, namespace: str, rest: Rest, root: Path, git: str) -> None:
        self.client, self.namespace, self.rest, self.root, self.git = client, namespace, rest, root, git
        self.origin = Origin(root / "declared.git")
        self.manager: Manager | None = None

    async def secret(self, name: str, **data: str) -> None:
        encoded = {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}
        body: JsonObject = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "data": encoded}
        await self.client.apply(SECRET.path(self.namespace, name), body, manager="test", force=True)

    async def apply(self, kind: str, name: str, spec: JsonObject) -> JsonObject:
        found = KINDS[kind]
        body: JsonObject = {**found.new(name, spec=spec)}
        return await self.client.apply(found.path(self.namespace, name), body, manager="test", force=True)

    async def declare(self, **policy: Any) -> None:
        """A repository, a server, a store and a policy."""
        await self.secret("git", token=PASSWORD)
        await self.secret("server", token=TOKEN)
        await self.secret("store", passphrase="passphrase-of-the-store")
        await self.apply("ResourceRepository", "declared", self.repository())
        await self.apply("ManagedServer", "api", self.server())
        file = {"path": str(self.root / "secrets.json"), "encryption": {"passphraseRef": _key("store", "passphrase")}}
        await self.apply("SecretStore", "store", {"file": file})
        await self.apply("SyncPolicy", "customers", self.policy(**policy))

    def repository(self, **over: Any) -> JsonObject:
        git = {"url": f"{self.git}/declared.git", "auth": {"tokenRef": _key("git", "token")}}
        storage = {"existingPVC": {"name": "any"}}
        return {"type": "git", "pollInterval": "1h", "git": git, "storage": storage, **over}

    def server(self, **over: Any) -> JsonObject:
        headers = [{"header": "Authorization", "prefix": "Bearer", "valueRef": _key("server", "token")}]
        return {"http": {"baseURL": self.rest.url, "auth": {"customHeaders": headers}, **over}}

    def policy(self, **over: Any) -> JsonObject:
        return {
            "resourceRepositoryRef": {"name": "declared"},
            "managedServerRef": {"name": "api"},
            "secretStoreRef": {"name": "store"},
            "source": {"path": "customers"},
            "sync": {"prune": True},
            "syncInterval": "1h",
            **over,
        }

    async def get(self, kind: str, name: str) -> JsonObject:
        return await self.client.get(KINDS[kind].path(self.namespace, name))

    async def push(self, files: Mapping[str, str], *gone: str) -> str:
        """A commit, of which the operator hears as by a webhook."""
        revision = self.origin.commit(files, *gone)
        await self.annotate("ResourceRepository", "declared", **{"declarest.io/webhook-last-received-at": revision})
        return revision

    async def annotate(self, kind: str, name: str, **annotations: str) -> None:
        patch: JsonObject = {"metadata": {"annotations": annotations}}
        await self.client.merge(KINDS[kind].path(self.namespace, name), patch)

    async def until(
        self, check: Callable[[JsonObject], bool], kind: str = "SyncPolicy", name: str = "customers"
    ) -> JsonObject:
        """The status of an object, once it is so."""
        deadline = asyncio.get_running_loop().time() + WITHIN_S
        while True:
            found = await self.get(kind, name)
            status: JsonObject = found.get("status", {})
            if check(status):
                return status
            assert asyncio.get_running_loop().time() < deadline, status
            await asyncio.sleep(0.05)

    async def synced(self, revision: str) -> JsonObject:
        return await self.until(
            lambda status: status.get("lastAppliedRepoRevision") == revision and ready_of(status)[0] == "True"
        )

    async def objects(self) -> dict[str, JsonObject]:
        found = await asyncio.to_thread(self.rest.call, "GET", "/_/state")
        objects: dict[str, JsonObject] = found["objects"]
        return objects

    async def stored(self, path: str, value: JsonObject) -> None:
        """Waits until the server has this object."""
        deadline = asyncio.get_running_loop().time() + WITHIN_S
        while (found := (await self.objects()).get(path)) != value:
            assert asyncio.get_running_loop().time() < deadline, found
            await asyncio.sleep(0.05)

    async def call(self, method: str, path: str, value: Any = None) -> Any:
        return await asyncio.to_thread(self.rest.call, method, path, value)

    async def events(self) -> list[tuple[str, str]]:
        found, _ = await self.client.list(EVENT.path(self.namespace))
        return [(each["reason"], each.get("note") or each.get("message", "")) for each in found]

    async def records(self) -> list[JsonObject]:
        found, _ = await self.client.list(SYNC_RECORD.kind.path(self.namespace))
        return found

    def metrics(self) -> str:
        assert self.manager is not None
        return self.manager.metrics.text().decode()


def _key(name: str, key: str) -> JsonObject:
    return {"name": name, "key": key}


def ready_of(status: JsonObject) -> tuple[str, str, str]:
    found: JsonObject = next((each for each in status.get("conditions", ()) if each["type"] == "Ready"), {})
    return found.get("status", ""), found.get("reason", ""), found.get("message", "")


@asynccontextmanager
async def operating(stage: Stage, client: Client | None = None) -> AsyncIterator[Manager]:
    """The operator runs; within one stage it may run several times, one after the other."""
    manager = Manager(
        client or stage.client,
        directory=stage.root / "cache",
        environment={"REGION": "/customers", "SYNC_VARIABLES": "REGION", "SYNC_SECRET_FILES": str(stage.root)},
    )
    manager.add("sync", sync.register)
    async with manager.running():
        stage.manager = manager
        yield manager


@asynccontextmanager
async def staged(api: Api, rest: Rest, root: Path) -> AsyncIterator[Stage]:
    await asyncio.to_thread(
        rest.call,
        "PUT",
        "/_/state",
        {"collections": {"/customers": {}, "/customers/*/orders": {}}, "auth": {"bearer": TOKEN}},
    )
    await install(api.client, sync.KINDS)
    async with serving_git(root, PASSWORD) as (_, url):
        yield Stage(api.client, api.namespace, rest, root, url)
