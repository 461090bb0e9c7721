"""A registry with very many tags: choosing one does not hold the event loop, whatever the policy is."""

from __future__ import annotations

import msgspec
import pytest
from aiohttp import web

from homeostat.external.rest.client import RestClient
from homeostat.objects.views.workload import Workload
from homeostat.operators.images.batching.memory import Memory
from homeostat.operators.images.engine.annotations import PREFIX, tracked_of
from homeostat.operators.images.engine.policy import CommitPolicy, parse_policy
from homeostat.operators.images.sources.images import Images
from homeostat.operators.images.sources.secrets import Secrets
from homeostat.operators.images.world import Problem
from tests.cluster.fixtures import Api
from tests.external.servers import serving
from tests.holds import measured_turns

_MANY = 20_000
_ANNOTATIONS = {
    "enabled": "true",
    "app_repository": "https://git.example.org/shop.git",
    "manifest_repository": "https://git.example.org/manifests.git",
    "deployment_path": "web.yaml",
    "ssh_key_name": "key",
    "ssh_key_namespace": "default",
}


@pytest.mark.parametrize(
    ("policy", "chosen"),
    [("semver:*", f"1.0.{_MANY - 1}"), ("regex:(?:[1.0]{0,50}){0,9}[0-9]", "too many to order")],
    ids=["versions", "a heavy pattern"],
)
async def test_choosing_among_many_tags_does_not_hold_the_event_loop(plane: Api, policy: str, chosen: str) -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        return web.json_response({"tags": [f"1.0.{number}" for number in range(_MANY)]})

    wanted = parse_policy(policy)
    assert not isinstance(wanted, CommitPolicy)
    async with serving(answer) as url, RestClient() as client:
        image = f"{url.removeprefix('http://')}/acme/web"
        annotations = {f"{PREFIX}{key}": value for key, value in {**_ANNOTATIONS, "image_name": image}.items()}
        spec = {"template": {"spec": {"containers": [{"name": "web", "image": f"{image}:1"}]}}}
        metadata = {"name": "web", "namespace": "default", "annotations": annotations}
        tracked = tracked_of(msgspec.convert({"metadata": metadata, "spec": spec}, Workload))
        assert tracked is not None
        memory, images = Memory(), Images(client, lambda word: None)
        async with measured_turns() as turns:
            found = await images.tag(tracked.settings, wanted, Secrets(plane.client, memory), memory)
    assert chosen in (found.text if isinstance(found, Problem) else found)
    assert turns.longest_s < 0.15
