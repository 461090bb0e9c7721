"""APIServices of custom groups: one for each group and version that definitions make the server serve."""

from __future__ import annotations

from homeostat.client.base import Client
from homeostat.objects.errors import AlreadyExistsError, NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.operators.housekeeping.metadata.feed import Feed
from homeostat.operators.housekeeping.metadata.kinds import DEFINITION_KEY
from homeostat.operators.housekeeping.metadata.sweep import Sweep

_COLLECTION = "/apis/apiregistration.k8s.io/v1/apiservices"
_LABEL = "kube-aggregator.kubernetes.io/automanaged"
_SOON_S = 0.1
_GROUP_PRIORITY, _VERSION_PRIORITY = 1000, 100


class ApiServices:
    def __init__(self, client: Client, feed: Feed) -> None:
        self._client = client
        self._sweep = Sweep(feed, DEFINITION_KEY, work=self._compare, name="API services", after_s=_SOON_S)

    async def run(self) -> None:
        await self._sweep.run()

    async def _compare(self) -> None:
        """Create those that are missing, and delete ours of versions that are no longer served."""
        groups = (await self._client.get("/apis"))["groups"]
        served = {
            f"{each['version']}.{group['name']}": (group["name"], each["version"])
            for group in groups
            for each in group["versions"]
        }
        found, _ = await self._client.list(_COLLECTION)
        for name in served.keys() - {each["metadata"]["name"] for each in found} - {"v1.apiregistration.k8s.io"}:
            await self._create(name, *served[name])
        for each in found:
            name = each["metadata"]["name"]
            if (each["metadata"].get("labels") or {}).get(_LABEL) == "true" and name not in served:
                await self._delete(name)

    async def _create(self, name: str, group: str, version: str) -> None:
        spec = {"groupPriorityMinimum": _GROUP_PRIORITY, "versionPriority": _VERSION_PRIORITY}
        service: JsonObject = {
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": "APIService",
            "metadata": {"name": name, "labels": {_LABEL: "true"}},
            "spec": {"group": group, "version": version, **spec},
        }
        try:
            await self._client.create(_COLLECTION, service)
        except AlreadyExistsError:
            return

    async def _delete(self, name: str) -> None:
        try:
            await self._client.delete(f"{_COLLECTION}/{name}")
        except NotFoundError:
            return
