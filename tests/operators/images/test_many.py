"""Thousands of Deployments: questions about them, and the groups in which passes take them."""

from __future__ import annotations

import asyncio
from pathlib import Path

from homeostat.edge.reply import Reply
from homeostat.edge.request import Headers, Peer, Request
from homeostat.objects.kind import DEPLOYMENT
from homeostat.operators.images.batching.group import group_of, grouped
from homeostat.operators.images.engine.annotations import Settings, Tracked
from homeostat.operators.images.tracking import TrackedWorkloads
from homeostat.testing.eventually import eventually
from homeostat.web.images.app import Pages
from homeostat.web.images.metrics import HttpFigures
from homeostat.web.kit.gate import OpenGate
from homeostat.web.receivers.images import Pushes
from homeostat.web.receivers.push import GitPush
from tests.cluster.fixtures import Api
from tests.holds import measured_turns
from tests.operators.images.stage import managed


def _tracked(name: str, repository: str, *, enabled: bool = True) -> Tracked:
    settings = Settings(
        enabled=enabled,
        namespace="shop",
        app_repository="https://git.example/org/app",
        manifest_repository=repository,
        image_name="org/app",
        deployment_path="web.yaml",
        ssh_key_name="key",
        ssh_key_namespace="shop",
    )
    return Tracked(name, settings, "org/app", "1", {})


def test_groups_follow_what_workloads_declare() -> None:
    found = TrackedWorkloads()
    steps = [
        ("a", "x", True),
        ("b", "x", True),
        ("c", "y", True),
        ("a", "y", True),
        ("b", "x", False),
        ("b", "z", True),
        ("c", "", True),
        ("a", "", True),
    ]
    for name, repository, enabled in steps:
        tracked = _tracked(name, repository, enabled=enabled) if repository else None
        found.set(DEPLOYMENT, "shop", name, tracked)
        expected = grouped(found.all())
        assert found.groups() == expected.keys()
        for group, members in expected.items():
            assert {each.name for each in found.members(group)} == {each.name for each in members}
    assert not found.members(group_of(_tracked("a", "x").settings))


async def test_many_webhooks_and_pages_about_thousands_of_deployments_take_turns(plane: Api, tmp_path: Path) -> None:
    async def is_asleep() -> bool:
        return False

    async with managed(plane, tmp_path / "git") as stage:
        await eventually(lambda: stage.service.scheduler.is_running)
        for number in range(3000):
            found = _tracked(f"d{number}", "https://git.example/org/manifests", enabled=False)
            stage.service.deployments.set(DEPLOYMENT, "shop", found.name, found)
        pushes = Pushes(lambda: stage.service)
        pushed = [GitPush("org/app", ("https://git.example/org/app",), "refs/heads/master")]
        async with measured_turns() as turns:
            assert await asyncio.gather(*(pushes.commits(pushed) for _ in range(30))) == [3000] * 30
        assert turns.longest_s < 0.1, "webhooks: each matches all Deployments"
        pages = Pages(lambda: stage.service, is_asleep, OpenGate(), HttpFigures())
        headers = Headers()
        headers["host"] = "127.0.0.1"
        request = Request("GET", "/", "", headers, b"", Peer(""), {})
        async with measured_turns() as turns:
            asked = [page(request, {}) for page in (pages.status, pages.debug, pages.reconcile) for _ in range(15)]
            replies = [each for each in await asyncio.gather(*asked) if isinstance(each, Reply)]
        assert [isinstance(each.body, bytes) and b"d2999" in each.body for each in replies] == [True] * 45
        assert turns.longest_s < 0.1, "pages: all of them took one turn"
