"""What changes is seen at once, and nothing else is asked again."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from homeostat.objects.json import JsonObject
from homeostat.objects.time.timestamp import format_time
from homeostat.operators.policy.api import FINALIZER
from homeostat.testing.eventually import eventually
from tests.cluster.fixtures import Api
from tests.operators.policy.live import ALL, BARE, GOOD, Live, operating

FOREIGN = "example.com/keep"
TAG = {"forbidLatestTag": True}
SCANNED = "devopspolicy_pods_scanned_total"


def looks(live: Live) -> float:
    return live.figure("devopspolicy_reconcile_total")


async def quiet(live: Live, *, for_s: float = 0.3) -> None:
    """Until no look has happened for a while."""
    while True:
        before = looks(live)
        await asyncio.sleep(for_s)
        if looks(live) == before:
            return


async def test_a_pod_that_is_created_or_deleted_changes_the_status_at_once(api: Api) -> None:
    async with operating(api) as live:
        await live.declare(ALL)
        await live.shows(healthScore=100, pods=0)
        await live.run_pod("web", BARE)
        await live.shows(healthScore=90, pods=1, violations=3)
        await live.change_image("web", "nginx:1.25")
        await live.shows(healthScore=95, violations=2)
        await live.remove_pod("web")
        await live.shows(healthScore=100, pods=0, violations=0)


async def test_one_changed_pod_is_evaluated_alone(api: Api) -> None:
    async with operating(api) as live:
        for number in range(5):
            await live.run_pod(f"web-{number}", BARE)
        await live.declare(ALL)
        await live.declare(TAG, "other")
        await live.shows(violations=15)
        await live.shows("other", violations=5)
        await quiet(live)
        before = live.figure(SCANNED)
        await live.change_image("web-3", "nginx:1.25")
        await live.shows(violations=14)
        await live.shows("other", violations=4)
        assert live.figure(SCANNED) - before == 2


@pytest.mark.parametrize(
    "patch", [{"metadata": {"annotations": {"note": "x"}}}, {"metadata": {"finalizers": [FOREIGN]}}], ids=str
)
async def test_what_no_check_asks_for_asks_no_pod(plane: Api, patch: JsonObject) -> None:
    async with operating(plane) as live:
        await live.run_pod("web", BARE)
        await live.declare(ALL)
        await live.settles()
        await quiet(live)
        before = live.figure(SCANNED), looks(live)
        await live.change_pod("web", patch)
        await asyncio.sleep(0.2)
        assert (live.figure(SCANNED), looks(live)) == before


async def test_a_changed_policy_asks_its_namespace_again(plane: Api) -> None:
    async with operating(plane) as live:
        await live.run_pod("web-0", BARE)
        await live.run_pod("web-1", BARE)
        await live.declare(TAG)
        await live.shows(violations=2)
        await quiet(live)
        before = live.figure(SCANNED)
        await live.change({"requireReadinessProbe": True})
        await live.shows(violations=4, healthScore=93, observedGeneration=2)
        assert live.figure(SCANNED) - before == 2


async def test_a_namespace_may_have_several_policies(plane: Api) -> None:
    async with operating(plane) as live:
        await live.run_pod("web", BARE)
        await live.declare(TAG, "tags")
        await live.declare({"requireLivenessProbe": True}, "probes")
        await live.declare({}, "nothing")
        for name, score in (("tags", 95), ("probes", 97), ("nothing", 100)):
            await live.shows(name, healthScore=score)
            assert live.figure(f"devopspolicy_health_score|{live.namespace}|{name}") == score


async def test_a_pod_that_waits_is_evaluated_again_when_its_time_is_up_and_not_before(api: Api) -> None:
    async with operating(api) as live:
        await live.declare({"forbidPendingDuration": 3})
        await live.settles()
        await live.run_pod("web", GOOD, phase="Pending")
        await live.shows(pods=1, violations=0)
        await quiet(live)
        before = looks(live), live.figure(SCANNED)
        await live.shows(violations=1, healthScore=96)
        await live.settles()
        # One look finds it and asks for the record, one sees that nothing is left to do.
        assert looks(live) - before[0] <= 2
        assert live.figure(SCANNED) - before[1] == 1
        await live.change_pod("web", {"status": {"phase": "Running"}}, "status")
        await live.shows(violations=0, healthScore=100)


async def test_an_exemption_ends_at_its_time(plane: Api) -> None:
    async with operating(plane) as live:
        await live.run_pod("web", BARE)
        await live.run_pod("api", BARE)
        ends = format_time(datetime.now(UTC) + timedelta(seconds=4))
        exemption = {"reason": "until it is rebuilt", "names": ["we*"], "expires": ends}
        await live.declare({**TAG, "exemptions": [exemption]})
        await live.shows(violations=1, exempted=1, pods=2)
        await live.shows(violations=2, exempted=None)


SELECTORS = {
    "labels": {"matchLabels": {"app": "web"}},
    "expressions": {"matchExpressions": [{"key": "app", "operator": "In", "values": ["web"]}]},
}


@pytest.mark.parametrize("selector", SELECTORS.values(), ids=SELECTORS)
async def test_a_selector_says_which_pods_are_selected(plane: Api, selector: JsonObject) -> None:
    async with operating(plane) as live:
        await live.run_pod("web", BARE, labels={"app": "web"})
        await live.run_pod("db", BARE, labels={"app": "db"})
        await live.declare({**TAG, "selector": selector})
        await live.shows(pods=1, violations=1)
        await live.change_pod("db", {"metadata": {"labels": {"app": "web"}}})
        await live.shows(pods=2, violations=2)
        await live.change_pod("web", {"metadata": {"labels": {"app": "db"}}})
        await live.shows(pods=1, violations=1)


async def test_foreign_finalizers_survive_and_ours_goes(api: Api) -> None:
    async with operating(api) as live:
        await live.declare(TAG, finalizers=[FOREIGN])
        status = await live.settles()
        obj = await live.get()
        assert sorted(obj["metadata"]["finalizers"]) == sorted([FOREIGN, FINALIZER])
        assert status["observedGeneration"] == obj["metadata"]["generation"]
        await live.client.delete(live.path("main"))
        await eventually(live.get, lambda obj: obj["metadata"]["finalizers"] == [FOREIGN])
        assert live.series_of("main") == set()
        await live.client.merge(live.path("main"), {"metadata": {"finalizers": None}})
        await live.is_gone()


async def test_a_deleted_policy_takes_every_series_with_it(api: Api) -> None:
    async with operating(api) as live:
        await live.run_pod("web", BARE)
        await live.declare(ALL)
        await live.declare(TAG, "other")
        await live.settles()
        await live.settles("other")
        assert len(live.series_of("main")) == 7
        await live.client.delete(live.path("main"))
        await live.is_gone()
        await eventually(lambda: live.series_of("main"), lambda left: not left)
        assert len(live.series_of("other")) == 7


async def test_a_policy_whose_finalizer_was_taken_leaves_nothing_behind(plane: Api) -> None:
    async with operating(plane) as live:
        await live.run_pod("web", BARE)
        await live.declare(TAG)
        await live.settles()
        await quiet(live)
        # Both at once, before the operator can put it back.
        await asyncio.gather(
            live.client.merge(live.path("main"), {"metadata": {"finalizers": None}}),
            live.client.delete(live.path("main")),
        )
        await live.is_gone()
        await eventually(lambda: live.series_of("main"), lambda left: not left)
        await quiet(live)
        assert live.series_of("main") == set()


async def test_a_policy_that_was_created_again_starts_from_nothing(plane: Api) -> None:
    async with operating(plane) as live:
        await live.run_pod("web", BARE)
        for spec, score in ((TAG, 95), ({"requireLivenessProbe": True}, 97), (TAG, 95)):
            await live.declare(spec)
            await live.shows(healthScore=score)
            await live.client.delete(live.path("main"))
            await live.is_gone()


async def test_a_change_of_class_is_reported_once(api: Api) -> None:
    async with operating(api) as live:
        await live.declare({**ALL, "weights": {"latestTag": 40}})
        await live.settles()
        await live.run_pod("web", BARE)
        await live.shows(classification="Degraded", healthScore=55)
        await live.run_pod("api", BARE)
        await live.shows(pods=2)
        (event,) = await eventually(lambda: live.events("ClassChanged"))
        assert (event["type"], event["regarding"]["name"]) == ("Warning", "main")
        assert event["note"].startswith("Classification changed from Healthy (100) to Degraded: ")
        await live.remove_pod("web")
        await live.remove_pod("api")
        await live.shows(classification="Healthy")
        told = await eventually(lambda: live.events("ClassChanged"), lambda events: len(events) == 2)
        assert sorted(each["type"] for each in told) == ["Normal", "Warning"]


async def test_a_status_is_not_written_where_nothing_changed(plane: Api) -> None:
    async with operating(plane) as live:
        await live.run_pod("web", BARE)
        await live.declare({**TAG, "intervalSeconds": 1})
        await live.settles()
        before, counted = await live.get(), looks(live)
        await eventually(lambda: looks(live) >= counted + 2)
        assert (await live.get())["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]
