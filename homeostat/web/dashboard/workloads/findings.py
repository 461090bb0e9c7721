"""What the section of workloads says of one of them, for the page of that object."""

from __future__ import annotations

from homeostat.web.dashboard.finding import Finding, Subject
from homeostat.web.dashboard.html.paging import place
from homeostat.web.dashboard.visit import Visit
from homeostat.web.dashboard.workloads.workload import KINDS
from homeostat.web.dashboard.workloads.workloads import HERE, LOOKS, Workloads


class WorkloadFindings:
    def __init__(self, workloads: Workloads) -> None:
        self._workloads = workloads

    async def find(self, visit: Visit, subject: Subject) -> list[Finding]:
        kind = next((each for each in KINDS if subject.is_of(each)), None)
        found = await self._workloads.one(visit, kind, subject.namespace, subject.name) if kind is not None else None
        if found is None:
            return []
        path = place(HERE, {"q": subject.name, "namespace": subject.namespace})
        return [Finding(subject.name, path, found.state, LOOKS[found.state], found.text)]
