"""The conformance cases that speak of objects, through a server: what is declared, and what the status then says."""

from __future__ import annotations

from typing import NamedTuple

import msgspec
import pytest
from _pytest.mark.structures import ParameterSet

from homeostat.objects.json import JsonObject
from homeostat.operators.policy.api import FINALIZER
from homeostat.operators.policy.bundle import load_bundle
from tests.cluster.fixtures import Api
from tests.operators.policy.live import ALL, BARE, GOOD, operating
from tests.operators.policy.worlds import container

ANY_AGE = {**ALL, "pendingIgnoresAge": True}
LIVE_ONLY = container("nginx:latest", readiness=False)


class Run(NamedTuple):
    container: JsonObject
    restarts: int = 0
    phase: str = "Running"


class Case(NamedTuple):
    spec: JsonObject
    pods: list[Run]
    score: int
    violations: int
    name: str


def severe(severity: str) -> JsonObject:
    checks = ("latestTag", "missingLiveness", "missingReadiness", "highRestarts", "pending")
    return {**ANY_AGE, "scoring": "severity", "severityOverrides": dict.fromkeys(checks, severity)}


WORST = Run(BARE, 10, "Pending")
RESTRICTED: JsonObject = {
    **msgspec.to_builtins(load_bundle("restricted").spec),
    "scoring": "severity",
    "pendingIgnoresAge": True,
}
CASES = {
    "a clean Pod": Case(ALL, [Run(GOOD)], 100, 0, "Healthy"),
    "everything wrong": Case(ANY_AGE, [WORST], 56, 5, "Degraded"),
    "a policy that says nothing": Case({}, [WORST], 100, 0, "Healthy"),
    "one check": Case({"forbidLatestTag": True, "requireLivenessProbe": False}, [WORST], 95, 1, "Healthy"),
    "three Pods": Case(ANY_AGE, [Run(BARE), Run(GOOD), Run(LIVE_ONLY, 10, "Pending")], 83, 7, "Healthy"),
    "good and bare": Case(ALL, [Run(GOOD), Run(BARE)], 95, 3, "Healthy"),
    "two of the worst": Case(ANY_AGE, [WORST, Run(BARE, 8, "Pending")], 56, 10, "Degraded"),
    "no Pods": Case(ALL, [], 100, 0, "Healthy"),
    "restarts at the limit": Case(ALL, [Run(GOOD, 3)], 100, 0, "Healthy"),
    "restarts over the limit": Case(ALL, [Run(GOOD, 4)], 76, 1, "Stable"),
    "restarts, no limit": Case({**ALL, "maxRestartCount": 0}, [Run(GOOD, 1)], 94, 1, "Healthy"),
    "five restarts": Case(ALL, [Run(GOOD, 5)], 70, 1, "Stable"),
    "five restarts of ten": Case({**ALL, "maxRestartCount": 10}, [Run(GOOD, 5)], 100, 0, "Healthy"),
    "six restarts of five": Case({**ALL, "maxRestartCount": 5}, [Run(GOOD, 6)], 70, 1, "Stable"),
    "all critical": Case(severe("critical"), [Run(BARE), Run(GOOD)], 85, 3, "Healthy"),
    "all low": Case(severe("low"), [Run(BARE), Run(GOOD)], 95, 3, "Healthy"),
    "all low is plain": Case(severe("low"), [WORST], 56, 5, "Degraded"),
    "the restricted bundle by severity": Case(RESTRICTED, [WORST], 0, 5, "Critical"),
    "severity": Case({"forbidLatestTag": True, "scoring": "severity"}, [Run(BARE)], 90, 1, "Healthy"),
    "severity overridden": Case(
        {"forbidLatestTag": True, "scoring": "severity", "severityOverrides": {"latestTag": "critical"}},
        [Run(BARE)],
        85,
        1,
        "Healthy",
    ),
    "own weights and bounds": Case(
        {"forbidLatestTag": True, "weights": {"latestTag": 30}, "thresholds": {"healthy": 90, "stable": 80}},
        [Run(BARE)],
        70,
        1,
        "Degraded",
    ),
    "a Pod that waits a while": Case(ALL, [Run(GOOD, 0, "Pending")], 100, 0, "Healthy"),
}


async def test_every_container_counts(api: Api) -> None:
    async with operating(api) as live:
        await live.run_pod(
            "web", *(container("img:latest", name=each, liveness=False, readiness=False) for each in "ab")
        )
        await live.declare(ALL)
        await live.shows(healthScore=80, violations=6, pods=1)


# A score is the same wherever the objects are stored, so one case of each group runs on a cluster.
ON_A_CLUSTER = ("a clean Pod", "everything wrong", "three Pods", "no Pods", "restarts over the limit", "severity")


def on(server: str, *names: str) -> list[ParameterSet]:
    marks = [pytest.mark.cluster] if server == "cluster" else []
    return [pytest.param(server, CASES[name], id=f"{server}-{name}", marks=marks) for name in names]


@pytest.mark.parametrize(
    ("api", "case"),
    [*on("plane", *CASES), *on("cluster", *ON_A_CLUSTER)],
    indirect=["api"],
)
async def test_the_status_shows_score_violations_and_class(api: Api, case: Case) -> None:
    async with operating(api) as live:
        for number, each in enumerate(case.pods):
            await live.run_pod(f"web-{number}", each.container, restarts=each.restarts, phase=each.phase)
        await live.declare(case.spec)
        status = await live.shows(healthScore=case.score, pods=len(case.pods), violations=case.violations)
        assert status["healthy"] is (case.name == "Healthy")
        assert status["classification"] == case.name
        told = f"{case.violations} violations across {len(case.pods)} pods — {case.name} ({case.score})"
        assert status["message"] == told
        assert (await live.settles())["observedGeneration"] == 1
        assert (await live.get())["metadata"]["finalizers"] == [FINALIZER]
        assert live.figure(f"devopspolicy_health_score|{live.namespace}|main") == case.score
        assert live.figure(f"devopspolicy_violations_total|{live.namespace}|main") == case.violations
