"""The policies that are about an object: its own page for a policy, and for Pods and workloads those they violate.

The violations of a policy are in its newest audit result, which is read again only after the policy was evaluated.
"""

from __future__ import annotations

from typing import Final

import msgspec

from homeostat.client.base import Client
from homeostat.objects.errors import NotFoundError
from homeostat.objects.kind import DAEMON_SET, DEPLOYMENT, POD, REPLICA_SET, STATEFUL_SET, Kind
from homeostat.operators.policy.api import (
    CLUSTER_DEVOPS_POLICY,
    DEVOPS_POLICY,
    POLICY_AUDIT_RESULT,
    AuditSpec,
    Violation,
)
from homeostat.web.dashboard.finding import Finding, Subject
from homeostat.web.dashboard.html.components import many
from homeostat.web.dashboard.visit import Visit
from homeostat.web.policy.dashboard.groups import GRAVEST, LOOKS, workload_of
from homeostat.web.policy.dashboard.history import read_results
from homeostat.web.policy.dashboard.policies import Policies, Policy, PolicyRow, look_of

_JOB: Final = Kind("batch", "v1", "jobs", "Job", is_namespaced=True)
WORKLOADS: Final = (DEPLOYMENT, STATEFUL_SET, DAEMON_SET, _JOB)
_MOST_KEPT: Final = 64


class _Audit(msgspec.Struct, frozen=True):
    spec: AuditSpec


_audit = msgspec.json.Decoder(_Audit)


class PolicyFindings:
    def __init__(self, client: Client, policies: Policies) -> None:
        self._client, self._policies = client, policies
        self._kept: dict[str, tuple[str, tuple[Violation, ...]]] = {}

    async def find(self, visit: Visit, subject: Subject) -> list[Finding]:
        if subject.is_of(DEVOPS_POLICY.kind, CLUSTER_DEVOPS_POLICY.kind):
            return [_state(each) for each in await self._policies.lowest(visit) if _is(each.policy, subject)]
        if subject.is_of(POLICY_AUDIT_RESULT.kind):
            owners = subject.whole.get("metadata", {}).get("ownerReferences") or ()
            uids = {owner.get("uid") for owner in owners}
            rows = [each for each in await self._policies.lowest(visit) if each.policy.metadata.uid in uids]
            return [_state(each, f"?result={subject.name}") for each in rows]
        if not subject.is_of(POD, REPLICA_SET, *WORKLOADS):
            return []
        rows = [
            each for each in await self._policies.lowest(visit) if each.policy.metadata.namespace == subject.namespace
        ]
        found = [(each, await self._violations(each.policy, subject)) for each in rows]
        # Of a policy that is met by now, the newest audit result may be older than the evaluation.
        return [_broken(each, violations) for each, violations in found if violations and each.status.violations]

    async def _violations(self, policy: Policy, subject: Subject) -> list[Violation]:
        return [each for each in await self._newest(policy) if _concerns(each.pod_name, subject)]

    async def _newest(self, policy: Policy) -> tuple[Violation, ...]:
        where = policy.metadata
        version, known = self._kept.get(where.uid, ("", ()))
        if version == where.resource_version:
            return known
        results = await read_results(self._client, where.namespace, where.uid)
        found: tuple[Violation, ...] = ()
        if results:
            path = POLICY_AUDIT_RESULT.kind.path(where.namespace, results[-1].name)
            try:
                found = _audit.decode(await self._client.fetch("GET", path)).spec.violations
            except (NotFoundError, msgspec.ValidationError):
                return ()
        if len(self._kept) >= _MOST_KEPT:
            self._kept.clear()
        self._kept[where.uid] = where.resource_version, found
        return found


def _is(policy: Policy, subject: Subject) -> bool:
    return (policy.metadata.namespace, policy.metadata.name) == (subject.namespace, subject.name)


def _concerns(pod: str, subject: Subject) -> bool:
    if subject.is_of(POD):
        return pod == subject.name
    if subject.is_of(REPLICA_SET):
        return pod.rpartition("-")[0] == subject.name
    return workload_of(pod) == subject.name


def _state(each: PolicyRow, query: str = "") -> Finding:
    status, path = each.status, f"{each.policy.path}{query}"
    word = many(status.violations or 0, "violation") if status.classification else "not evaluated"
    return Finding(each.policy.metadata.name, path, word, look_of(status), status.message or "")


def _broken(each: PolicyRow, violations: list[Violation]) -> Finding:
    worst = min((one.severity for one in violations), key=GRAVEST.__getitem__)
    rules = ", ".join(dict.fromkeys(one.violation_type for one in violations))
    text = f"{many(len(violations), 'violation')}: {rules}"
    return Finding(each.policy.metadata.name, each.policy.path, worst, LOOKS[worst], text)
