"""The operator at work on a server, and the objects that its tests declare there."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from prometheus_client.parser import text_string_to_metric_families

from homeostat.client.base import Client
from homeostat.objects.errors import NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import EVENT, POD
from homeostat.operators import policy
from homeostat.operators.policy.api import DEVOPS_POLICY, POLICY_AUDIT_RESULT
from homeostat.runtime.installation import install
from homeostat.runtime.manager import Manager
from homeostat.testing.eventually import eventually
from homeostat.testing.status import check_status, condition_of
from tests.cluster.fixtures import Api
from tests.operators.policy.worlds import container

ALL: JsonObject = {
    "forbidLatestTag": True,
    "requireLivenessProbe": True,
    "requireReadinessProbe": True,
    "maxRestartCount": 3,
    "forbidPendingDuration": 300,
}
GOOD = container()
BARE = container("nginx:latest", liveness=False, readiness=False)
Labels = dict[str, str]


class Live:
    """What a person declares in one namespace, and what comes of it."""

    def __init__(self, client: Client, namespace: str, manager: Manager) -> None:
        self.client, self.namespace, self.manager = client, namespace, manager

    async def declare(self, spec: JsonObject, name: str = "main", **metadata: object) -> JsonObject:
        body = {"metadata": {"name": name, **metadata}, "spec": spec}
        kind = DEVOPS_POLICY.kind
        return await self.client.create(kind.path(self.namespace), {"kind": kind.kind, **_of(kind.api_version), **body})

    async def change(self, spec: JsonObject, name: str = "main") -> JsonObject:
        return await self.client.merge(self.path(name), {"spec": spec})

    async def run_pod(
        self,
        name: str,
        *containers: JsonObject,
        restarts: int = 0,
        phase: str = "Running",
        labels: Labels | None = None,
        owner: JsonObject | None = None,
    ) -> None:
        metadata: JsonObject = {"name": name, "labels": labels or {}, "ownerReferences": [owner] if owner else []}
        spec = {"containers": list(containers or (GOOD,))}
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
        await self.client.create(POD.path(self.namespace), body)
        statuses = [
            {"name": each["name"], "restartCount": restarts, "ready": True, "image": "", "imageID": ""}
            for each in spec["containers"]
        ]
        await self.change_pod(name, {"status": {"phase": phase, "containerStatuses": statuses}}, "status")

    async def change_pod(self, name: str, patch: JsonObject, subresource: str = "") -> None:
        await self.client.merge(POD.path(self.namespace, name, subresource), patch)

    async def change_image(self, name: str, image: str) -> None:
        patch = {"spec": {"containers": [{"name": GOOD["name"], "image": image}]}}
        path = POD.path(self.namespace, name)
        await self.client.request("PATCH", path, body=patch, content_type="application/strategic-merge-patch+json")

    async def remove_pod(self, name: str) -> None:
        await self.client.delete(POD.path(self.namespace, name), {"gracePeriodSeconds": 0})

    async def get(self, name: str = "main") -> JsonObject:
        return await self.client.get(self.path(name))

    async def shows(self, name: str = "main", *, within_s: float = 30.0, **fields: object) -> JsonObject:
        """The status once it has these fields; None is absent. Whatever it says is well formed."""

        def holds(status: JsonObject) -> bool:
            return all(status.get(field) == wanted for field, wanted in fields.items())

        async def see() -> JsonObject:
            obj = await self.get(name)
            check_status(obj)
            status: JsonObject = obj["status"]
            return status

        return await eventually(see, holds, within_s=within_s)

    async def says(self, condition: str, status: str, reason: str, name: str = "main") -> JsonObject:
        def holds(obj: JsonObject) -> bool:
            found = condition_of(obj, condition)
            return (found.get("status"), found.get("reason")) == (status, reason)

        obj = await eventually(lambda: self.get(name), holds)
        check_status(obj)
        return condition_of(obj, condition)

    async def settles(self, name: str = "main") -> JsonObject:
        await self.says("Ready", "True", "Evaluated", name)
        obj = await self.get(name)
        status: JsonObject = obj["status"]
        return status

    async def is_gone(self, name: str = "main") -> None:
        async def see() -> bool:
            try:
                await self.get(name)
            except NotFoundError:
                return True
            return False

        await eventually(see)

    async def results(self, name: str = "main") -> list[JsonObject]:
        """The audit results of a policy, the oldest first."""
        found, _ = await self.client.list(POLICY_AUDIT_RESULT.kind.path(self.namespace))
        ours = (each for each in found if each["spec"]["policyName"] == name)
        return sorted(ours, key=lambda each: (each["spec"]["timestamp"], each["metadata"]["name"]))

    async def events(self, reason: str) -> list[JsonObject]:
        found, _ = await self.client.list(EVENT.path(self.namespace))
        return [each for each in found if each["reason"] == reason]

    def path(self, name: str, subresource: str = "") -> str:
        return DEVOPS_POLICY.kind.path(self.namespace, name, subresource)

    def figures(self) -> dict[str, float]:
        """By name, with the values of the labels behind it: `namespace_health_score|shop`."""
        families = text_string_to_metric_families(self.manager.metrics.text().decode())
        return {
            "|".join((sample.name, *sample.labels.values())): sample.value
            for family in families
            for sample in family.samples
        }

    def figure(self, name: str) -> float:
        return self.figures()[name]

    def series_of(self, name: str) -> set[str]:
        """The names of all series about a policy."""
        return {each for each in self.figures() if each.endswith(f"|{name}") or f"|{name}|" in each}


def _of(api_version: str) -> JsonObject:
    return {"apiVersion": api_version}


@asynccontextmanager
async def operating(api: Api, manager: Manager | None = None) -> AsyncIterator[Live]:
    """In the namespace of the test alone, unless a manager says otherwise; ready for work."""
    await install(api.client, policy.KINDS)
    manager = manager or Manager(api.client, namespace=api.namespace)
    manager.add("policy", policy.register)
    async with manager.running():
        await manager.informers.synced()
        yield Live(api.client, api.namespace, manager)
