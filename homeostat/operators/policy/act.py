"""Acts on a decision: patches workloads, writes audit results, drops the metrics of a deleted policy.

A patch that the server rejects is counted, reported and retried later; the other workloads are patched, and the score
is reported even if an audit result cannot be written. If somebody changed a workload meanwhile, the patch
fails with `ConflictError` and the policy is reconciled again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import UTC, datetime
from typing import assert_never

from homeostat.client.base import Client
from homeostat.objects.errors import AlreadyExistsError, ApiError, ConflictError, NotFoundError
from homeostat.objects.time.timestamp import parse_time
from homeostat.operators.policy.api import (
    CLUSTER_DEVOPS_POLICY,
    DEVOPS_POLICY,
    OPERATOR,
    POLICY_AUDIT_RESULT,
    DevOpsPolicy,
    Policy,
)
from homeostat.operators.policy.audit_result import AuditAction, CreateResult, DeleteResult, interval_s
from homeostat.operators.policy.decide import Action, ForgetSeries
from homeostat.operators.policy.enforcement.plan import Patch
from homeostat.operators.policy.live.results import Key, ResultsByPolicy
from homeostat.operators.policy.live.workloads import WORKLOADS
from homeostat.operators.policy.metrics import Series
from homeostat.runtime.control.recorder import About, EventType, Recorder

log = logging.getLogger(__name__)

_STRATEGIC = "application/strategic-merge-patch+json"
_RETRY_S = 60.0


class Actor:
    def __init__(
        self,
        client: Client,
        results: ResultsByPolicy,
        *,
        series: Series,
        recorder: Recorder,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._client, self._results = client, results
        self._series, self._recorder, self._now = series, recorder, now

    async def act(self, policy: Policy, action: Action) -> None:
        match action:
            case Patch():
                await self._remediate(policy, action)
            case CreateResult() | DeleteResult():
                await self._write_record(policy, action)
            case ForgetSeries():
                self._series.forget(_key(policy))
                self._results.close(_key(policy))
            case _:
                assert_never(action)

    async def _remediate(self, policy: Policy, patch: Patch) -> None:
        owner = patch.owner
        kind, _ = WORKLOADS[owner.kind]
        metadata = {**patch.body.get("metadata", {}), "resourceVersion": patch.resource_version}
        try:
            await self._client.request(
                "PATCH",
                kind.path(owner.namespace, owner.name),
                {"fieldManager": OPERATOR},
                body={**patch.body, "metadata": metadata},
                content_type=_STRATEGIC,
            )
        except ConflictError:
            raise
        except NotFoundError:
            return
        except ApiError as error:
            self._record_failure(policy, patch, error)
        else:
            self._series.remediations_applied += 1
            if (policy_results := self._results.find(_key(policy))) is not None:
                policy_results.failures.pop(str(owner), None)
            self._record_event(policy, "Normal", "Remediated", f"Patched {owner} ({_parts(patch)})")

    def _record_failure(self, policy: Policy, patch: Patch, error: ApiError) -> None:
        self._series.remediations_failed += 1
        owner = str(patch.owner)
        if (policy_results := self._results.find(_key(policy))) is not None:
            policy_results.failures[owner] = self._retry_at(error)
        log.warning("failed to remediate workload", extra={"workload": owner, "reason": error.message})
        self._record_event(policy, "Warning", "RemediationFailed", f"Failed to patch {owner}: {error.message}")

    async def _write_record(self, policy: Policy, action: AuditAction) -> None:
        """If the server rejects an audit result, the score is still reported."""
        try:
            match action:
                case CreateResult():
                    await self._record(action)
                    written = parse_time(action.body["spec"]["timestamp"]).timestamp()
                    self._postpone(policy, action, written + interval_s(policy.spec))
                case DeleteResult():
                    await self._delete(action)
        except ApiError as error:
            self._postpone(policy, action, self._retry_at(error))
            log.warning("failed to write audit result", extra={"policy": policy.metadata.name, "reason": error.message})

    async def _record(self, result: CreateResult) -> None:
        try:
            await self._client.create(POLICY_AUDIT_RESULT.kind.path(result.namespace), result.body)
        except AlreadyExistsError:
            return
        self._series.audit_results += 1

    def _postpone(self, policy: Policy, action: AuditAction, until: float) -> None:
        """Write no audit result for the namespace before `until`."""
        policy_results = self._results.find(_key(policy))
        results = None if policy_results is None else policy_results.namespaces.get(action.namespace)
        if results is not None:
            results.record_after = until

    def _retry_at(self, error: ApiError) -> float:
        return self._now().timestamp() + max(_RETRY_S, error.retry_after_s)

    def _record_event(self, policy: Policy, level: EventType, reason: str, message: str) -> None:
        kind = (DEVOPS_POLICY if isinstance(policy, DevOpsPolicy) else CLUSTER_DEVOPS_POLICY).kind
        metadata = policy.metadata
        about = About(kind.api_version, kind.kind, metadata.namespace, metadata.name, metadata.uid)
        self._recorder.record(about, level, reason, message)

    async def _delete(self, result: DeleteResult) -> None:
        path = POLICY_AUDIT_RESULT.kind.path(result.namespace, result.name)
        options = {"preconditions": {"uid": result.uid}} if result.uid else None
        try:
            await self._client.delete(path, options)
        except (NotFoundError, ConflictError):
            return


def _key(policy: Policy) -> Key:
    return policy.metadata.namespace, policy.metadata.name


def _parts(patch: Patch) -> str:
    containers = patch.body["spec"]["template"]["spec"]["containers"]
    return "; ".join(f"{each['name']}: {', '.join(part for part in each if part != 'name')}" for each in containers)
