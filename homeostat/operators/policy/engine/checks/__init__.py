"""The built-in checks: one function each. It reads its part of the spec once and returns the test, or None if the
policy does not enable the check. All are pure; the time is an argument.
"""

from __future__ import annotations

from homeostat.operators.policy.engine.checks.base import Maker, Test, WorkloadMaker, WorkloadTest
from homeostat.operators.policy.engine.checks.images import foreign_registry, latest_tag, unpinned_image
from homeostat.operators.policy.engine.checks.probes import missing_liveness, missing_readiness
from homeostat.operators.policy.engine.checks.resources import missing_resources
from homeostat.operators.policy.engine.checks.running import crash_loop, high_restarts, oom_killed, pending
from homeostat.operators.policy.engine.checks.security import host_path, privileged, run_as_root
from homeostat.operators.policy.engine.checks.workloads import few_replicas, missing_budget
from homeostat.operators.policy.spec import PolicySpec

DECLARED: tuple[Maker, ...] = (
    latest_tag,
    missing_liveness,
    missing_readiness,
    missing_resources,
    run_as_root,
    privileged,
    host_path,
    foreign_registry,
    unpinned_image,
)
"""Checks of the spec of a Pod: equal specs have equal findings."""
OBSERVED: tuple[Maker, ...] = (high_restarts, pending, crash_loop, oom_killed)
"""Checks of the status of a Pod."""
WORKLOADS: tuple[WorkloadMaker, ...] = (few_replicas, missing_budget)


def tests_of(spec: PolicySpec, makers: tuple[Maker, ...]) -> tuple[Test, ...]:
    return tuple(test for test in (make(spec) for make in makers) if test is not None)


def workload_tests_of(spec: PolicySpec) -> tuple[WorkloadTest, ...]:
    return tuple(test for test in (make(spec) for make in WORKLOADS) if test is not None)
