"""What a server refuses, delays or deletes while a policy is reconciled."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest

from homeostat.client.base import Response, Transport
from homeostat.objects.errors import ForbiddenError, status_of
from homeostat.objects.json import JsonObject, encode
from homeostat.objects.kind import DEPLOYMENT, POD, REPLICA_SET
from homeostat.operators.policy import act
from homeostat.operators.policy.live import workloads
from homeostat.runtime.manager import Manager
from homeostat.testing.eventually import eventually
from tests.cluster.fixtures import Api
from tests.operators.policy.live import BARE, GOOD, operating
from tests.operators.policy.test_live_enforcement import SPEC, deploy, owner
from tests.operators.policy.test_live_records import TEAM

TAG: JsonObject = {"forbidLatestTag": True}


class Obstacle:
    """Between a client and its server: refuses some requests, and keeps others waiting."""

    def __init__(self) -> None:
        self._inner: Transport | None = None
        self.refuses: Callable[[str, str], bool] = lambda method, path: False
        self.holds: Callable[[str, str], bool] = lambda method, path: False
        self.is_free = asyncio.Event()
        self.held = 0
        self.garbled = (b"", b"")
        """What no line of a watch has, and what it has in its place."""

    def over(self, inner: Transport) -> Obstacle:
        self._inner = inner
        return self

    async def send(
        self, method: str, path: str, *, query: str = "", body: bytes = b"", content_type: str = "", accept: str = ""
    ) -> Response:
        assert self._inner is not None
        if self.refuses(method, path):
            return _forbidden()
        if self.holds(method, path):
            self.held += 1
            await self.is_free.wait()
        return await self._inner.send(method, path, query=query, body=body, content_type=content_type, accept=accept)

    async def stream(self, path: str, *, query: str = "", accept: str = "") -> Response | AsyncIterator[bytes]:
        assert self._inner is not None
        if self.refuses("WATCH", path):
            return _forbidden()
        answer = await self._inner.stream(path, query=query, accept=accept)
        return answer if isinstance(answer, Response) or not self.garbled[0] else self._garble(answer)

    async def _garble(self, lines: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        async for line in lines:
            yield line.replace(*self.garbled)


def _forbidden() -> Response:
    return Response(403, encode(status_of(ForbiddenError("no"))))


@pytest.fixture
def obstacle() -> Obstacle:
    return Obstacle()


@pytest.fixture
async def manager(plane: Api, obstacle: Obstacle) -> Manager:
    return Manager(plane.client.over(obstacle.over), namespace=plane.namespace)


async def test_a_policy_that_is_deleted_while_it_is_reconciled_leaves_nothing_behind(
    plane: Api, obstacle: Obstacle, manager: Manager
) -> None:
    obstacle.holds = lambda method, path: (method, path) == ("GET", POD.path(plane.namespace))
    async with operating(plane, manager) as live:
        await live.declare(TEAM)
        await eventually(lambda: obstacle.held)
        await live.client.merge(live.path("main"), {"metadata": {"finalizers": None}})
        await live.client.delete(live.path("main"))
        await live.is_gone()
        await eventually(lambda: not len(_policies(manager)))
        obstacle.is_free.set()
        await eventually(lambda: live.figure("devopspolicy_reconcile_total") >= 1)
        assert live.series_of("main") == set()
        assert await live.results() == []


def _policies(manager: Manager) -> list[object]:
    return [obj for each in manager.informers if "devopspolicies" in each.source.path for obj in each.cache]


async def test_what_could_not_be_fetched_is_evaluated_again(plane: Api, obstacle: Obstacle, manager: Manager) -> None:
    async with operating(plane, manager) as live:
        await live.run_pod("web", GOOD)
        await live.declare(TEAM)
        await live.shows(violations=1)
        await live.settles()
        obstacle.refuses = lambda method, path: (method, path) == ("GET", POD.path(plane.namespace, "web"))
        await live.change_pod("web", {"metadata": {"annotations": {"team": "shop"}}})
        await live.says("Ready", "False", "Forbidden")
        await eventually(lambda: live.figure("devopspolicy_reconcile_errors_total") >= 1)
        await live.shows(violations=1)
        obstacle.refuses = lambda method, path: False
        await live.shows(violations=0)
        await live.settles()


@pytest.mark.parametrize("refused", ["POST", "DELETE"])
async def test_a_record_that_cannot_be_kept_does_not_hide_the_score(
    plane: Api, obstacle: Obstacle, manager: Manager, refused: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(act, "_RETRY_S", 1.5)
    async with operating(plane, manager) as live:
        await live.declare({**TAG, "intervalSeconds": 1, "auditResults": {"retention": 1}})
        await live.settles()
        obstacle.refuses = lambda method, path: method == refused and "auditresults" in path
        await live.run_pod("web", BARE)
        await live.shows(healthScore=95, pods=1)
        await asyncio.sleep(1.1)
        await live.settles()
        await live.run_pod("api", GOOD)
        await live.shows(healthScore=98, pods=2)
        obstacle.refuses = lambda method, path: False
        (kept,) = await eventually(live.results, lambda found: len(found) == 1 and _pods(found) == 2)
        assert kept["spec"]["healthScore"] == 98


def _pods(found: list[JsonObject]) -> int:
    count: int = found[-1]["spec"]["totalPods"]
    return count


async def test_without_permission_for_workloads_it_says_so_and_blocks_nothing(
    plane: Api, obstacle: Obstacle, manager: Manager, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workloads, "_SYNC_WITHIN_S", 0.3)
    obstacle.refuses = lambda method, path: path == DEPLOYMENT.path(plane.namespace)
    async with operating(plane, manager) as live:
        await live.run_pod("web", BARE)
        for number in range(20):
            await live.declare({**TAG, "minReplicas": 2}, f"workloads-{number}")
        told = await live.says("Reconciling", "True", "WorkloadsUnknown", "workloads-0")
        assert told["message"].startswith("Cannot list ")
        assert "/deployments" in told["message"]
        await live.declare(TAG)
        await live.shows(violations=1)
        status = (await live.get("workloads-0"))["status"]
        assert "healthScore" not in status


async def test_a_pod_that_cannot_be_read_any_more_is_not_judged_by_how_it_was(
    plane: Api, obstacle: Obstacle, manager: Manager
) -> None:
    obstacle.garbled = (b'"phase":"Unknown"', b'"phase":7')
    async with operating(plane, manager) as live:
        await live.run_pod("web", BARE)
        await live.run_pod("other", GOOD)
        await live.declare(TAG)
        await live.shows(pods=2, violations=1)
        await live.change_pod("web", {"status": {"phase": "Unknown"}}, "status")
        await live.shows(pods=1, violations=0)
        await live.change_pod("web", {"status": {"phase": "Running"}}, "status")
        await live.shows(pods=2, violations=1)


async def test_a_replica_set_that_cannot_be_read_keeps_no_pod_from_being_judged(
    plane: Api, obstacle: Obstacle, manager: Manager
) -> None:
    obstacle.garbled = (b'"kind":"Rollout"', b'"kind":7')
    async with operating(plane, manager) as live:
        rollout = {"apiVersion": "example.dev/v1", "kind": "Rollout", "name": "web", "uid": "r"}
        made = await deploy(live, "web-5d4f8b9c7f", REPLICA_SET, ownerReferences=[rollout])
        await live.declare({**SPEC, **TAG})
        await live.shows(pods=0)
        await live.run_pod("web", BARE, owner=owner(made, "ReplicaSet"))
        await live.shows(pods=1)
