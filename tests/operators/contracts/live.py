"""The operator at work on a server, and what its tests declare there."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from homeostat.client.base import Client
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import DEPLOYMENT, EVENT, SERVICE
from homeostat.operators import contracts
from homeostat.operators.contracts.api import PACTO, PACTO_REVISION
from homeostat.runtime.installation import install
from homeostat.runtime.manager import Manager
from homeostat.testing.eventually import eventually
from tests.cluster.fixtures import Api

STATELESS = "{type: stateless, persistence: {scope: local, durability: ephemeral}, dataCriticality: low}"


def contract(version: str = "1.0.0", *, more: str = "", runtime: str = "") -> str:
    section = f"runtime:\n  workload: service\n  state: {STATELESS}\n{runtime}" if runtime else ""
    return (
        f'pactoVersion: "1.2"\nservice: {{name: quay, version: {version}}}\n'
        f"interfaces: [{{name: web, type: http, port: 8080}}]\n{section}{more}"
    )


HEALTH = "  health: {interface: web, path: /healthz}\n"


class Live:
    """What a person declares in one namespace, and what comes of it."""

    def __init__(self, client: Client, namespace: str, manager: Manager) -> None:
        self.client, self.namespace, self.manager = client, namespace, manager

    async def declare(self, name: str = "quay", *, annotations: Mapping[str, str] | None = None, **spec: Any) -> None:
        metadata: JsonObject = {"name": name, "annotations": dict(annotations or {})}
        body = {"apiVersion": PACTO.kind.api_version, "kind": "Pacto", "metadata": metadata, "spec": spec}
        await self.client.create(PACTO.kind.path(self.namespace), body)

    async def run(self, name: str = "quay", *, port: int = 8080, image: str = "quay:1") -> None:
        """A Service and a Deployment."""
        await self.client.create(
            SERVICE.path(self.namespace), {"metadata": {"name": name}, "spec": {"ports": [{"port": port}]}}
        )
        template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "main", "image": image}]}}
        spec = {"selector": {"matchLabels": {"app": name}}, "template": template}
        await self.client.create(DEPLOYMENT.path(self.namespace), {"metadata": {"name": name}, "spec": spec})

    async def change(self, patch: JsonObject, name: str = "quay") -> None:
        await self.client.merge(PACTO.kind.path(self.namespace, name), patch)

    async def get(self, name: str = "quay") -> JsonObject:
        return await self.client.get(PACTO.kind.path(self.namespace, name))

    async def shows(self, name: str = "quay", *, within_s: float = 30.0, **fields: object) -> JsonObject:
        """The object once its status has these fields."""
        return await eventually(
            lambda: self.get(name),
            lambda obj: all(obj.get("status", {}).get(key) == value for key, value in fields.items()),
            within_s=within_s,
        )

    async def says(self, condition: str, status: str, reason: str, name: str = "quay") -> JsonObject:
        def found(obj: JsonObject) -> JsonObject:
            listed = obj.get("status", {}).get("conditions", [])
            return next((each for each in listed if each["type"] == condition), {})

        obj = await eventually(
            lambda: self.get(name),
            lambda obj: (found(obj).get("status"), found(obj).get("reason")) == (status, reason),
        )
        return found(obj)

    async def revisions(self) -> list[JsonObject]:
        found, _ = await self.client.list(PACTO_REVISION.kind.path(self.namespace))
        return sorted(found, key=lambda each: str(each["metadata"]["name"]))

    async def events(self, reason: str) -> list[JsonObject]:
        found, _ = await self.client.list(EVENT.path(self.namespace))
        return [each for each in found if each["reason"] == reason]

    def figures(self) -> dict[str, float]:
        """By name, with the values of the labels but the namespace behind it."""
        found = {}
        for family in text_string_to_metric_families(self.manager.metrics.text().decode()):
            for sample in family.samples:
                if sample.labels.get("namespace") == self.namespace:
                    values = [value for key, value in sorted(sample.labels.items()) if key != "namespace"]
                    found["|".join((sample.name, *values))] = sample.value
        return found


@asynccontextmanager
async def operating(
    api: Api, folder: Path, *, client: Client | None = None, environment: Mapping[str, str] | None = None
) -> AsyncIterator[Live]:
    """In the namespace of the test alone; ready for work."""
    await install(api.client, contracts.KINDS)
    manager = Manager(
        client or api.client, namespace=api.namespace, directory=folder, environment=dict(environment or {})
    )
    manager.add("contracts", contracts.register)
    async with manager.running():
        await manager.informers.synced()
        yield Live(api.client, api.namespace, manager)
