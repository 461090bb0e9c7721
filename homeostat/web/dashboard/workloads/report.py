"""What workloads report to Home: how many are ready, which fail and why."""

from __future__ import annotations

from homeostat.web.dashboard.home.report import MOST_REPORTED, Problem, Report
from homeostat.web.dashboard.visit import Visit
from homeostat.web.dashboard.workloads.workloads import Judged, Workloads


class WorkloadReport:
    def __init__(self, workloads: Workloads) -> None:
        self._workloads = workloads

    async def make(self, visit: Visit) -> Report | None:
        found = await self._workloads.worst(visit)
        if not found:
            return None
        failed = [each for each in found if each.state == "failed"]
        near = [each for each in found if each.state == "in progress" and each.trouble is not None]
        return Report(
            noun="workload",
            total=len(found),
            as_declared=sum(each.state == "ready" for each in found),
            wrong=len(failed),
            problems=tuple(_problem(each) for each in (*failed, *near)[:MOST_REPORTED]),
        )


def _problem(each: Judged) -> Problem:
    where, kind = each.row.workload.metadata, each.row.kind
    return Problem(
        f"{where.namespace}/{where.name}",
        each.path,
        each.text,
        "bad" if each.state == "failed" else "warn",
        each.since,
        (kind, where.namespace, where.name),
    )
