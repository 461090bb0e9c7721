"""The scores of namespaces without any policy: always those of the Pods there are, and never long in the way."""

from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from homeostat.objects.views.pod import Pod
from homeostat.operators.policy.live.pod_health import PodHealth
from homeostat.operators.policy.spec import ORIGINAL_CHECKS
from homeostat.runtime.cache.cache import Change
from tests.operators.policy.worlds import BARE, GOOD, WORST, totals_of

KINDS = (None, GOOD, BARE, WORST)
NAMESPACES = ("shop", "kube-system", "blog")
STEPS = st.lists(st.tuples(st.sampled_from(NAMESPACES), st.sampled_from("abc"), st.sampled_from(KINDS)), max_size=40)


@given(STEPS)
def test_the_score_is_that_of_the_pods_there_are(steps: list[tuple[str, str, Pod | None]]) -> None:
    async def follow() -> None:
        pod_health, held = PodHealth(), dict[tuple[str, str], Pod | None]()
        for namespace, name, pod in steps:
            before = held.get((namespace, name))
            held[namespace, name] = pod
            if before is not None or pod is not None:
                pod_health.pod_changed(Change(namespace, name, before, pod))
        await asyncio.sleep(0)
        for namespace in ("shop", "blog"):
            pods = [pod for (own, _), pod in held.items() if own == namespace and pod is not None]
            # One that never had a Pod has no score.
            found = pod_health.score(namespace)
            assert found == totals_of(ORIGINAL_CHECKS, *pods).score or (found is None and not pods)
        assert pod_health.score("kube-system") is None
        assert pod_health.pods == sum(pod is not None for (own, _), pod in held.items() if own != "kube-system")

    asyncio.run(follow())


async def test_a_long_list_is_counted_in_pieces_between_which_others_run() -> None:
    pod_health = PodHealth()
    for number in range(5000):
        pod_health.pod_changed(Change("shop", f"web-{number}", None, BARE))
    turns = 0
    while pod_health.pods < 5000:
        await asyncio.sleep(0)
        turns += 1
    assert turns >= 5
    assert (pod_health.events, pod_health.cluster_score) == (5000, 90)


async def test_a_deleted_namespace_drops_its_pending_changes() -> None:
    pod_health = PodHealth()
    pod_health.pod_changed(Change("shop", "web", None, BARE))
    pod_health.pod_changed(Change("blog", "web", None, GOOD))
    pod_health.namespace_deleted("shop")
    await asyncio.sleep(0)
    assert (pod_health.score("shop"), pod_health.score("blog"), pod_health.pods) == (None, 100, 1)
    pod_health.namespace_deleted("blog")
    assert (pod_health.cluster_score, pod_health.pods) == (100, 0)


async def test_a_pod_that_is_deleted_after_its_namespace_brings_no_series_back() -> None:
    pod_health = PodHealth()
    pod_health.pod_changed(Change("shop", "web", None, BARE))
    await asyncio.sleep(0)
    pod_health.namespace_deleted("shop")
    pod_health.pod_changed(Change("shop", "web", BARE, None))
    await asyncio.sleep(0)
    assert (pod_health.score("shop"), pod_health.pods) == (None, 0)
