"""What `observe` has read for a policy: the frozen value that `decide` gets."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import msgspec

from homeostat.objects.views.workload import Workload
from homeostat.operators.policy.audit_result import Record
from homeostat.operators.policy.enforcement.plan import Plan
from homeostat.operators.policy.engine.evaluator import Evaluator
from homeostat.operators.policy.engine.invalid import Fault
from homeostat.operators.policy.engine.totals import Totals


class World(msgspec.Struct, frozen=True):
    """The totals, plans and workloads of a policy."""

    now: datetime
    evaluator: Evaluator | Fault
    totals: Totals = Totals()
    next_due: float | None = None
    """When the first Pod must be evaluated again although nothing changed, in seconds since the epoch."""
    plans: tuple[Plan, ...] = ()
    workloads: Mapping[str, Workload] = {}
    """By key: the workloads of the plans, and the workloads that were patched before."""
    failures: Mapping[str, float] = {}
    """By key: workloads whose patch the server rejected, and when to retry."""
    records: tuple[Record, ...] = ()
    """The namespaces whose newest audit result is out of date, or that have too many results."""
    namespaces: Mapping[str, Totals] = {}
    """For a ClusterDevOpsPolicy: the totals of each namespace."""
    has_series: bool = False
    """Whether the policy has metric series."""
