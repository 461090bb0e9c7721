"""Declares objects on a plane and waits for the states that housekeeping should bring about."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from homeostat.client.base import Client
from homeostat.objects.errors import NotFoundError

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
HOLD = "example.com/hold"
_PATIENCE_S = 15.0
_QUIET_S = 0.15


async def eventually(is_so: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(_PATIENCE_S):
        while True:
            if await is_so():
                return
            await asyncio.sleep(0.005)


def owner(obj: dict[str, Any], *, blocks: bool | None = None, **changes: object) -> dict[str, Any]:
    """A reference to an object."""
    metadata = obj["metadata"]
    ref = {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "name": metadata["name"], "uid": metadata["uid"]}
    return {**ref, **({} if blocks is None else {"blockOwnerDeletion": blocks}), **changes}


class World:
    def __init__(self, client: Client) -> None:
        self.client = client

    async def configmap(self, name: str, *owners: dict[str, Any], namespace: str = "default", **metadata: Any) -> Any:
        obj = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name, "ownerReferences": list(owners), **metadata},
        }
        return await self.client.create(f"/api/v1/namespaces/{namespace}/configmaps", obj)

    async def namespace(self, name: str) -> str:
        path = "/api/v1/namespaces"
        await self.client.create(path, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        return f"{path}/{name}"

    async def furnished(self, name: str) -> str:
        """A namespace that has all that housekeeping puts into one."""
        path = await self.namespace(name)

        async def is_furnished() -> bool:
            return await self.find(f"{path}/configmaps/kube-root-ca.crt") is not None

        await eventually(is_furnished)
        return path

    async def definition(self, *, scope: str = "Namespaced") -> str:
        """Of Widgets; answers with the path of it."""
        schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
        names = {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}
        spec = {"group": "example.com", "scope": scope, "names": names, "versions": [version]}
        crd = {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "widgets.example.com"},
            "spec": spec,
        }
        await self.client.create(CRDS, crd)
        return f"{CRDS}/widgets.example.com"

    async def widget(self, name: str, *owners: dict[str, Any], namespace: str = "default", **metadata: Any) -> Any:
        obj = {
            "apiVersion": "example.com/v1",
            "kind": "Widget",
            "metadata": {"name": name, "ownerReferences": list(owners), **metadata},
        }
        scope = f"/namespaces/{namespace}" if namespace else ""
        return await self.client.create(f"/apis/example.com/v1{scope}/widgets", obj)

    async def find(self, path: str) -> Any:
        """The object, or None."""
        try:
            return await self.client.get(path)
        except NotFoundError:
            return None

    async def delete(self, path: str, policy: str = "Background") -> None:
        await self.client.delete(path, {"propagationPolicy": policy})

    async def unhold(self, path: str) -> None:
        await self.client.merge(path, {"metadata": {"finalizers": None}})

    async def gone(self, *paths: str) -> None:
        """Wait until none of them is there."""

        async def are_gone() -> bool:
            return not any([await self.find(path) for path in paths])

        await eventually(are_gone)

    async def terminating(self, path: str) -> None:
        async def is_terminating() -> bool:
            return "deletionTimestamp" in (await self.client.get(path))["metadata"]

        await eventually(is_terminating)

    async def owners(self, path: str, *names: str) -> None:
        """Wait until exactly these own it."""

        async def are_owners() -> bool:
            metadata = (await self.client.get(path))["metadata"]
            return [each["name"] for each in metadata.get("ownerReferences", ())] == list(names)

        await eventually(are_owners)

    async def quiet(self) -> None:
        """Long enough for housekeeping to have done what it would do."""
        await asyncio.sleep(_QUIET_S)


def configmap_path(name: str, namespace: str = "default") -> str:
    return f"/api/v1/namespaces/{namespace}/configmaps/{name}"


def widget_path(name: str, namespace: str = "default") -> str:
    scope = f"/namespaces/{namespace}" if namespace else ""
    return f"/apis/example.com/v1{scope}/widgets/{name}"
