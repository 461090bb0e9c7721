"""The six checks of a running workload against the runtime section of its contract. Pure.

They run only for a workload that exists and a contract that has the section: an image alone is not checked.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from homeostat.operators.contracts.engine.checks.image import is_image
from homeostat.operators.contracts.engine.checks.snapshot import DEPLOYMENT, STATEFUL_SET, Workload
from homeostat.operators.contracts.engine.checks.verdict import Verdict, judge
from homeostat.operators.contracts.engine.document.contract import Contract, Runtime, State

_KINDS: Final = {"service": (DEPLOYMENT, STATEFUL_SET), "job": ("Job",), "scheduled": ("CronJob",)}
_STRATEGIES: Final = {"rolling": "RollingUpdate", "recreate": "Recreate", "ordered": "OrderedReady"}


def check_runtime(contract: Contract, workload: Workload | None) -> list[Verdict]:
    runtime = contract.runtime
    return [] if runtime is None or workload is None else list(_checks(contract, runtime, workload))


def _checks(contract: Contract, runtime: Runtime, workload: Workload) -> Iterator[Verdict]:
    yield check_workload_type(runtime, workload)
    yield check_state(runtime.state, workload)
    lifecycle = runtime.lifecycle
    if lifecycle is not None and lifecycle.upgrade_strategy:
        yield check_strategy(lifecycle.upgrade_strategy, workload)
    if lifecycle is not None and lifecycle.graceful_shutdown_seconds is not None:
        yield _check_seconds(
            "GracefulShutdownMatch",
            "terminationGracePeriodSeconds",
            lifecycle.graceful_shutdown_seconds,
            workload.termination_grace_period_s,
        )
    if contract.service.image is not None and contract.service.image.ref:
        yield check_image(contract.service.image.ref, workload)
    if runtime.health is not None and runtime.health.initial_delay_seconds is not None:
        yield _check_seconds(
            "HealthTimingMatch",
            "initialDelaySeconds of a readiness or liveness probe",
            runtime.health.initial_delay_seconds,
            workload.probe_delay_s,
        )


def check_workload_type(runtime: Runtime, workload: Workload) -> Verdict:
    kinds = _KINDS.get(runtime.workload, ())
    message = f"The contract declares {runtime.workload} ({' or '.join(kinds)}); the workload is a {workload.kind}"
    return judge("WorkloadTypeMatch", workload.kind in kinds, message)


def check_state(state: State, workload: Workload) -> Verdict:
    """Compare storage with the declared state; scope, criticality and emptyDir volumes are not compared."""
    check = "StateModelMatch"
    is_persistent = state.persistence.durability == "persistent"
    if state.type == "stateful" and workload.kind != STATEFUL_SET:
        message = f"The contract declares stateful, which needs a StatefulSet; the workload is a {workload.kind}"
        return judge(check, False, message)
    if state.type in ("stateful", "hybrid") and is_persistent and not workload.has_claim:
        message = f"The contract declares {state.type} with persistent data; no PersistentVolumeClaim is mounted"
        return judge(check, False, message, reason="Missing")
    if state.type == "stateless" and workload.has_claim:
        return judge(check, False, "The contract declares stateless; a PersistentVolumeClaim is mounted")
    return judge(check, True, f"The workload is as {state.type} as the contract declares")


def check_strategy(declared: str, workload: Workload) -> Verdict:
    actual = workload.deployment_strategy or workload.pod_management_policy
    if not actual:
        message = f"A {workload.kind} has no upgrade strategy; nothing is compared"
        return judge("UpgradeStrategyMatch", True, message, good="Skipped")
    wanted = _STRATEGIES.get(declared, "")
    message = f"The contract declares {declared} ({wanted}); the workload has {actual}"
    return judge("UpgradeStrategyMatch", actual == wanted, message)


def check_image(declared: str, workload: Workload) -> Verdict:
    if not workload.images:
        return judge("ImageMatch", False, f'The contract declares "{declared}"; no container runs', reason="Missing")
    actual = workload.images[0]
    message = f'The contract declares "{declared}"; the first container runs "{actual}"'
    return judge("ImageMatch", is_image(declared, actual), message)


def _check_seconds(check: str, field: str, declared: int, actual: int | None) -> Verdict:
    if actual is None:
        return judge(check, False, f"The contract declares {declared} s; the workload has no {field}", reason="Missing")
    return judge(check, declared == actual, f"The contract declares {declared} s; {field} is {actual}")
