from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from homeostat.objects.errors import ApiError, InvalidError
from homeostat.objects.json import JsonObject
from homeostat.objects.yaml.reader import load_all
from homeostat.plane import Plane, Settings, open_plane
from tests.docs.documents import EXAMPLES

# The kinds of these come with a package or a resource type: a tutorial and the readme apply them.
_APART = {"notes", "postgres-cluster", "postgres-roles"}
_FOLDERS = sorted(path.name for path in EXAMPLES.iterdir() if path.is_dir() and path.name not in _APART)


@pytest.fixture
async def plane(data: Path) -> AsyncIterator[Plane]:
    async with open_plane(Settings(data=data, port=0)) as plane:
        yield plane


async def _apply(plane: Plane, obj: JsonObject) -> JsonObject:
    kind = plane.app.backend.registry.by_kind(obj["apiVersion"], obj["kind"])
    assert kind is not None, f"{obj['apiVersion']} {obj['kind']} is not served"
    prefix = f"/apis/{kind.api_version}" if kind.group else f"/api/{kind.version}"
    namespace = f"/namespaces/{obj['metadata'].get('namespace', 'default')}" if kind.namespaced else ""
    path = f"{prefix}{namespace}/{kind.plural}/{obj['metadata']['name']}"
    return await plane.client.apply(path, obj, manager="examples")


async def _apply_folder(plane: Plane, folder: str) -> list[JsonObject]:
    files = sorted((EXAMPLES / folder).glob("*.yaml"))
    return [await _apply(plane, obj) for file in files for obj in load_all(file.read_bytes())]


@pytest.mark.parametrize("folder", _FOLDERS)
async def test_every_example_applies_in_the_order_of_its_files(plane: Plane, folder: str) -> None:
    assert await _apply_folder(plane, folder)


@pytest.mark.parametrize("folder", _FOLDERS)
async def test_an_example_applied_again_changes_nothing(plane: Plane, folder: str) -> None:
    first = await _apply_folder(plane, folder)
    again = await _apply_folder(plane, folder)
    # The operator of sync writes a finalizer and a status meanwhile, which change no generation.
    compared = "generation" if folder == "sync" else "resourceVersion"
    assert [_version(obj, compared) for obj in again] == [_version(obj, compared) for obj in first]


def _version(obj: JsonObject, compared: str) -> object:
    """Objects without a generation have nothing but a version."""
    return obj["metadata"].get(compared) or obj["metadata"]["resourceVersion"]


async def test_the_first_example_shows_a_default_and_a_rule(plane: Plane) -> None:
    await _apply_folder(plane, "first")
    path = "/apis/example.com/v1/namespaces/first/widgets/lamp"
    assert (await plane.client.get(path))["spec"] == {"colour": "green", "size": 1}
    await plane.client.merge(path, {"spec": {"size": 3}})
    with pytest.raises(InvalidError, match="a widget does not shrink"):
        await plane.client.merge(path, {"spec": {"size": 2}})


@pytest.mark.parametrize(
    ("verb", "resource", "namespace", "is_allowed"),
    [
        ("patch", "deployments", "shop", True),
        ("list", "pods", "shop", True),
        ("get", "secrets", "shop", False),
        ("patch", "deployments", "default", False),
    ],
)
async def test_the_rbac_example_allows_what_it_says(
    plane: Plane, verb: str, resource: str, namespace: str, is_allowed: bool
) -> None:
    await _apply_folder(plane, "rbac")
    wanted = {"verb": verb, "resource": resource, "namespace": namespace}
    wanted["group"] = "apps" if resource == "deployments" else ""
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {"user": "ci", "resourceAttributes": wanted},
    }
    answer = await plane.client.create("/apis/authorization.k8s.io/v1/subjectaccessreviews", review)
    assert answer["status"]["allowed"] is is_allowed


async def test_the_policy_example_holds_for_objects_and_their_scale(plane: Plane) -> None:
    await _apply_folder(plane, "first")
    await _apply_folder(plane, "policy")
    web = await plane.client.get("/apis/apps/v1/namespaces/first/deployments/web")
    path = "/apis/apps/v1/namespaces/trials/deployments"
    new = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": web["spec"]}
    await plane.client.create(path, new)
    for refused in (f"{path}/web", f"{path}/web/scale"):
        with pytest.raises(ApiError, match="at most 5 replicas here, not 6"):
            await plane.client.merge(refused, {"spec": {"replicas": 6}})
