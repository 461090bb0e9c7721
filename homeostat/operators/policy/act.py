"""Acts on a decision: patches workloads, writes audit results, drops the metrics of a deleted policy.

A patch that the server refuses is counted, reported and retried later. It does not hold up the other workloads, and an
audit result that cannot be written does not hold up the score. If somebody changed a workload meanwhile, the write is a
`ConflictError` and the policy is reconciled again.
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
from homeostat.operators.policy.audit_result import AuditAction, DropResult, RecordResult, interval_s
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
                await self._put_right(policy, action)
            case RecordResult() | DropResult():
                await self._keep_record(policy, action)
            case ForgetSeries():
                self._series.forget(_key(policy))
                self._results.close(_key(policy))
            case _:
                assert_never(action)

    async def _put_right(self, policy: Policy, patch: Patch) -> None:
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
            self._refused(policy, patch, error)
        else:
            self._series.remediations_applied += 1
            if (policy_results := self._results.find(_key(policy))) is not None:
                policy_results.failures.pop(str(owner), None)
            self._tell(policy, "Normal", "Remediated", f"Patched {owner} ({_parts(patch)})")

    def _refused(self, policy: Policy, patch: Patch, error: ApiError) -> None:
        self._series.remediations_failed += 1
        owner = str(patch.owner)
        if (policy_results := self._results.find(_key(policy))) is not None:
            policy_results.failures[owner] = self._later(error)
        log.warning("failed to remediate workload", extra={"workload": owner, "reason": error.message})
        self._tell(policy, "Warning", "RemediationFailed", f"Failed to patch {owner}: {error.message}")

    async def _keep_record(self, policy: Policy, action: AuditAction) -> None:
        """If the server refuses an audit result, the score is still reported."""
        try:
            match action:
                case RecordResult():
                    await self._record(action)
                    written = parse_time(action.body["spec"]["timestamp"]).timestamp()
                    self._rest(policy, action, written + interval_s(policy.spec))
                case DropResult():
                    await self._drop(action)
        except ApiError as error:
            self._rest(policy, action, self._later(error))
            log.warning("failed to write audit result", extra={"policy": policy.metadata.name, "reason": error.message})

    async def _record(self, result: RecordResult) -> None:
        try:
            await self._client.create(POLICY_AUDIT_RESULT.kind.path(result.namespace), result.body)
        except AlreadyExistsError:
            return
        self._series.audit_results += 1

    def _rest(self, policy: Policy, action: AuditAction, until: float) -> None:
        """Nothing is recorded of the namespace before."""
        policy_results = self._results.find(_key(policy))
        page = None if policy_results is None else policy_results.pages.get(action.namespace)
        if page is not None:
            page.record_after = until

    def _later(self, error: ApiError) -> float:
        return self._now().timestamp() + max(_RETRY_S, error.retry_after_s)

    def _tell(self, policy: Policy, level: EventType, reason: str, message: str) -> None:
        kind = (DEVOPS_POLICY if isinstance(policy, DevOpsPolicy) else CLUSTER_DEVOPS_POLICY).kind
        metadata = policy.metadata
        about = About(kind.api_version, kind.kind, metadata.namespace, metadata.name, metadata.uid)
        self._recorder.record(about, level, reason, message)

    async def _drop(self, result: DropResult) -> None:
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
