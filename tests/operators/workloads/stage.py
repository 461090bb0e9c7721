"""A plane whose operator acts as a service account with exactly its own rules, and scenes in namespaces."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import dedent
from typing import Any

from homeostat.cli.operators.deploy.access import access_documents
from homeostat.client.base import Client
from homeostat.objects import yaml
from homeostat.objects.errors import NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.operators import workloads
from homeostat.runtime.manager import Manager
from homeostat.testing.eventually import eventually
from homeostat.testing.served import ServedPlane, served_plane
from tests.cli.applying import apply
from tests.cli.permissions import Noting, Used, acting_as
from tests.cluster.fixtures import Api

PATHS = {
    "Deployment": "/apis/apps/v1",
    "StatefulSet": "/apis/apps/v1",
    "ReplicaSet": "/apis/apps/v1",
    "DaemonSet": "/apis/apps/v1",
    "Job": "/apis/batch/v1",
    "ControllerRevision": "/apis/apps/v1",
    "CronJob": "/apis/batch/v1",
    "HorizontalPodAutoscaler": "/apis/autoscaling/v2",
    "PodDisruptionBudget": "/apis/policy/v1",
    "EndpointSlice": "/apis/discovery.k8s.io/v1",
}
PLURALS = {"Endpoints": "endpoints"}
_WITHIN_S = 15.0


class Scene:
    """One namespace, as an administrator sees it."""

    def __init__(self, client: Client, namespace: str) -> None:
        self.client, self.namespace = client, namespace

    def path(self, kind: str, name: str = "", part: str = "") -> str:
        plural = PLURALS.get(kind, f"{kind.lower()}s")
        root = f"{PATHS.get(kind, '/api/v1')}/namespaces/{self.namespace}/{plural}"
        return "/".join(filter(None, (root, name, part)))

    async def apply(self, text: str) -> None:
        for each in yaml.load_all(dedent(text).encode()):
            kind, metadata = each["kind"], each["metadata"]
            await self.client.apply(self.path(kind, metadata["name"]), each, manager="test", force=True)

    async def find(self, kind: str, name: str) -> JsonObject:
        try:
            return await self.client.get(self.path(kind, name))
        except NotFoundError:
            return {}

    async def all(self, kind: str, **query: str) -> list[JsonObject]:
        return (await self.client.list(self.path(kind), **query))[0]

    async def until(self, kind: str, name: str, holds: Callable[[JsonObject], object]) -> JsonObject:
        return await eventually(lambda: self.find(kind, name), holds, within_s=_WITHIN_S)

    async def until_all(self, kind: str, holds: Callable[[list[JsonObject]], object], **query: str) -> list[JsonObject]:
        return await eventually(lambda: self.all(kind, **query), holds, within_s=_WITHIN_S)

    async def until_events(self, name: str, *reasons: str) -> None:
        def has_all(found: list[JsonObject]) -> bool:
            return {each["reason"] for each in found if each["involvedObject"]["name"] == name} >= {*reasons}

        await self.until_all("Event", has_all)


class Stage:
    def __init__(self, plane: ServedPlane, kubeconfig: Path) -> None:
        self.plane, self.used, self.refused = plane, set[tuple[str, str]](), list[str]()
        self._api = Api(plane.client, kubeconfig, "ops")
        self._stop, self._is_on = asyncio.Event(), asyncio.Event()

    def play(self, scene: Callable[[Scene], Coroutine[Any, Any, None]]) -> None:
        with self.plane.namespace() as found:
            self.plane.call(scene(Scene(self.plane.client, found.namespace)))

    async def start(self) -> None:
        given = access_documents({"workloads": workloads.RULES}, namespace="ops", account="sim", has_election=False)
        await apply(self._api.client, *given)
        self._task = asyncio.create_task(self._run())
        waits = asyncio.create_task(self._is_on.wait())
        await asyncio.wait([self._task, waits], return_when=asyncio.FIRST_COMPLETED)

    async def stop(self) -> None:
        self._stop.set()
        await self._task

    async def _run(self) -> None:
        used: Used = self.used
        async with acting_as(self._api, "ops", "sim") as client:
            own = client.over(lambda transport: Noting(transport, used, self.refused))
            manager = Manager(own, environment={})
            manager.add("workloads", workloads.register)
            async with manager.running():
                self._is_on.set()
                await self._stop.wait()


@contextmanager
def open_stage(data: Path) -> Iterator[Stage]:
    with served_plane(data) as plane, plane.namespace() as found:
        stage = Stage(plane, found.kubeconfig)
        plane.call(stage.start())
        try:
            yield stage
        finally:
            plane.call(stage.stop())
