"""What a look at a policy has seen: the frozen value between observing and deciding."""

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
    """What was seen of the Pods and the workloads that a policy means."""

    now: datetime
    evaluator: Evaluator | Fault
    totals: Totals = Totals()
    next_due: float | None = None
    """When the first Pod must be asked again though nothing changed, in seconds since the epoch."""
    plans: tuple[Plan, ...] = ()
    workloads: Mapping[str, Workload] = {}
    """By key: those of the plans, and those that were patched before."""
    failures: Mapping[str, float] = {}
    """By key: workloads whose patch the server refused, and when to try again."""
    records: tuple[Record, ...] = ()
    """Of the namespaces whose last result says something else by now, or of which too many are kept."""
    namespaces: Mapping[str, Totals] = {}
    """For a policy of the cluster: the sums of each namespace."""
    has_series: bool = False
    """Whether the metrics tell of the policy."""
