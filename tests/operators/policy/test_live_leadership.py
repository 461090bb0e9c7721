"""The operator ends, begins again, shares its work with others and loses sight of the server."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

from homeostat.client.base import Transport
from homeostat.objects.kind import LEASE
from homeostat.operators import policy
from homeostat.plane import Settings, open_plane
from homeostat.runtime.leader import Terms
from homeostat.runtime.manager import Manager
from homeostat.testing.eventually import eventually
from tests.cluster.fixtures import Api, create_namespace
from tests.operators.policy.live import ALL, BARE, GOOD, Live, operating
from tests.runtime.faulty import QUICK, FaultyTransport

TERMS = Terms(lease_s=2, renew_s=1.2, retry_s=0.2)


def candidate(api: Api) -> Manager:
    return Manager(api.client, namespace=api.namespace, leases=api.namespace, terms=TERMS)


async def test_what_changed_while_the_operator_was_down_is_seen_at_the_next_start(api: Api) -> None:
    async with operating(api) as live:
        await live.run_pod("web", BARE)
        await live.declare(ALL)
        await live.declare({}, "gone")
        await live.shows(violations=3)
        await live.settles("gone")
    assert live.series_of("main") == set()
    await live.run_pod("api", BARE)
    await live.client.delete(live.path("gone"))
    async with operating(api) as live:
        await live.shows(violations=6, pods=2)
        await live.is_gone("gone")
        assert len(await live.results()) <= 2


async def test_a_start_writes_nothing_where_all_is_as_it_was(plane: Api) -> None:
    async with operating(plane) as live:
        await live.run_pod("web", BARE)
        await live.declare(ALL)
        await live.settles()
    before = await live.get()
    async with operating(plane) as live:
        await eventually(lambda: live.series_of("main"))
        await asyncio.sleep(0.2)
    assert (await live.get())["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]


async def test_of_two_replicas_one_works_and_the_other_takes_over(api: Api) -> None:
    async with AsyncExitStack() as replicas:
        async with operating(api, candidate(api)) as first:
            await first.run_pod("web", BARE)
            await first.declare(ALL)
            await first.settles()
            second = await replicas.enter_async_context(operating(api, candidate(api)))
            await first.run_pod("api", GOOD)
            await first.shows(pods=2)
            assert (len(first.series_of("main")), second.series_of("main")) == (7, set())
            assert second.figure("devopspolicy_reconcile_total") == 0
            await eventually(lambda: second.figure("pods_tracked_total") == 2)
        await second.run_pod("db", BARE)
        await second.shows(pods=3, violations=6)
        assert len(second.series_of("main")) == 7


async def test_nothing_is_missed_between_two_terms(plane: Api) -> None:
    async with operating(plane, candidate(plane)) as live:
        await live.run_pod("web", BARE)
        await live.run_pod("api", BARE)
        await live.declare(ALL)
        await live.declare(ALL, "gone")
        await live.settles()
        await live.settles("gone")
        lease = LEASE.path(live.namespace, "homeostat-policy")
        await live.client.merge(lease, {"spec": {"holderIdentity": "another"}})
        await eventually(lambda: live.series_of("main"), lambda left: not left)
        await live.remove_pod("api")
        await live.client.merge(live.path("gone"), {"metadata": {"finalizers": None}})
        await live.client.delete(live.path("gone"))
        await live.shows(pods=1, violations=3)
        assert (live.series_of("gone"), len(live.series_of("main"))) == (set(), 7)


async def test_a_silent_watch_is_reopened(plane: Api) -> None:
    faulty: list[FaultyTransport] = []

    def between(transport: Transport) -> FaultyTransport:
        faulty.append(FaultyTransport(transport))
        return faulty[0]

    manager = Manager(plane.client.over(between), namespace=plane.namespace, pace=QUICK)
    async with operating(plane, manager) as live:
        await live.declare(ALL)
        await live.settles()
        faulty[0].bend = lambda _: []
        await live.run_pod("web", BARE)
        await asyncio.sleep(0.1)
        faulty[0].bend = lambda line: [line]
        await live.shows(pods=1, violations=3)


async def test_a_dry_run_reports_what_would_be_done_and_writes_nothing(plane: Api) -> None:
    async with operating(plane):
        pass
    live = Live(plane.client, plane.namespace, Manager(plane.client, namespace=plane.namespace))
    await live.run_pod("web", BARE)
    await live.declare(ALL)
    live.manager.add("policy", policy.register)
    (plan,) = await live.manager.plan()
    assert plan.decision is not None
    assert plan.decision.status["violations"] == 3
    assert [str(each).rpartition("-")[0] for each in plan.decision.actions] == [
        f"create PolicyAuditResult {plane.namespace}/main"
    ]
    assert "status" not in await live.get()


async def test_the_record_of_a_deleted_policy_is_collected(data: Path) -> None:
    async with open_plane(Settings(data=data, port=0, operators=frozenset({"housekeeping"}))) as plane:
        api = Api(plane.client, plane.kubeconfig_path, await create_namespace(plane.client))
        async with operating(api) as live:
            await live.declare(ALL)
            await live.settles()
            assert len(await live.results()) == 1
            await live.client.delete(live.path("main"))
            await eventually(live.results, lambda left: not left)
