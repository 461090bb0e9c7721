"""kr8s: an asynchronous client in the manner of kubectl."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import kr8s
import pytest
from kr8s.asyncio.objects import ConfigMap, Deployment, new_class

from tests.served import ServedPlane

pytestmark = pytest.mark.filterwarnings("ignore")

DEPLOYMENT: dict[str, Any] = {
    "metadata": {"name": "web", "labels": {"app": "web"}},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "web", "image": "web:1"}]},
        },
    },
}


@pytest.fixture
async def api(plane: ServedPlane, namespace: str) -> AsyncIterator[Any]:
    api = await kr8s.asyncio.api(kubeconfig=str(plane.kubeconfig), namespace=namespace)
    yield api
    # kr8s has no way to close its connections.
    await api._session.aclose()


@pytest.fixture
async def settings(api: Any, namespace: str) -> Any:
    made = await ConfigMap(
        {"metadata": {"name": "settings", "namespace": namespace}, "data": {"mode": "fast"}}, api=api
    )
    await made.create()
    return made


@pytest.fixture
async def web(api: Any, namespace: str) -> Any:
    made = await Deployment({**DEPLOYMENT, "metadata": {**DEPLOYMENT["metadata"], "namespace": namespace}}, api=api)
    await made.create()
    return made


async def test_an_object_is_made_found_and_deleted(api: Any, settings: Any, namespace: str) -> None:
    assert await settings.exists()
    found = await ConfigMap.get("settings", namespace=namespace, api=api)
    assert found.data.mode == "fast"
    await settings.delete()
    with pytest.raises(kr8s.NotFoundError):
        await ConfigMap.get("settings", namespace=namespace, api=api, timeout=0.1)


async def test_objects_are_listed_by_selectors(api: Any, settings: Any, namespace: str) -> None:
    await settings.label({"app": "web"})
    by_label = [each.name async for each in api.get("configmaps", label_selector="app=web", namespace=namespace)]
    by_field = [each.name async for each in api.get("cm", field_selector="metadata.name=settings", namespace=namespace)]
    assert by_label == by_field == ["settings"]


async def test_a_patch_label_and_annotation_are_seen_by_the_object(settings: Any) -> None:
    await settings.patch({"data": {"mode": "slow"}})
    await settings.label({"app": "web"})
    await settings.annotate({"owner": "team-a"})
    await settings.refresh()
    assert settings.data.mode == "slow"
    assert dict(settings.labels) == {"app": "web"}
    assert settings.annotations["owner"] == "team-a"
    await settings.patch([{"op": "replace", "path": "/data/mode", "value": "slower"}], type="json")
    assert settings.data.mode == "slower"


async def test_a_deployment_is_scaled(api: Any, web: Any) -> None:
    async def follow() -> None:
        """What a cluster's controller would do."""
        await web.patch({"status": {"replicas": 5}}, subresource="status")

    await asyncio.gather(asyncio.wait_for(web.scale(5), 30), follow())
    await web.refresh()
    assert (web.replicas, web.status.replicas) == (5, 5)


async def test_wait_ends_when_the_condition_holds(web: Any) -> None:
    async def become_available() -> None:
        await asyncio.sleep(0.1)
        status = {"conditions": [{"type": "Available", "status": "True"}]}
        await web.patch({"status": status}, subresource="status")

    await asyncio.gather(web.wait("condition=Available", timeout=30), become_available())


async def test_a_watch_sees_each_change(api: Any, settings: Any, namespace: str) -> None:
    seen = []

    async def follow() -> None:
        async for event, found in api.watch("configmaps", namespace=namespace, field_selector="metadata.name=settings"):
            seen.append((event, found.data.mode))
            if len(seen) == 1:
                await settings.patch({"data": {"mode": "slow"}})
            elif event == "MODIFIED":
                await settings.delete()
            else:
                return

    await asyncio.wait_for(follow(), 30)
    assert seen == [("ADDED", "fast"), ("MODIFIED", "slow"), ("DELETED", "slow")]


async def test_a_custom_kind_is_a_class_of_its_own(api: Any, gardens: str, namespace: str) -> None:
    garden_class = new_class("Garden", version=f"{gardens}/v1", namespaced=True, asyncio=True, scalable=True)
    garden = await garden_class({"metadata": {"name": "g", "namespace": namespace}, "spec": {"replicas": 1}}, api=api)
    await garden.create()
    await garden.patch({"spec": {"soil": "loam"}})
    await garden.refresh()
    assert dict(garden.spec) == {"replicas": 1, "soil": "loam"}
    await garden.delete()


async def test_the_server_reports_who_one_is_and_what_it_serves(api: Any) -> None:
    assert await api.whoami() == "admin"
    assert (await api.version())["major"] == "1"
    kinds = {found["name"] for found in await api.api_resources()}
    assert {"pods", "deployments", "customresourcedefinitions"} <= kinds
