"""The section of workloads: Deployments, StatefulSets and DaemonSets, simulated by a plane or of a cluster."""

from __future__ import annotations

from homeostat.client.base import Client
from homeostat.objects.kind import DEPLOYMENT, POD
from homeostat.web.dashboard.section import Section
from homeostat.web.dashboard.workloads.findings import WorkloadFindings
from homeostat.web.dashboard.workloads.report import WorkloadReport
from homeostat.web.dashboard.workloads.workloads import HERE, TITLE, Workloads
from homeostat.web.kit.gate import Question
from homeostat.web.kit.watched import Watched


def workloads_section(client: Client, within: str = "") -> Section:
    watched = Watched(client, within)
    workloads = Workloads(client, watched)
    questions = tuple(Question(each.group, each.plural, "list") for each in (DEPLOYMENT, POD))
    return Section(
        title=TITLE,
        path=HERE,
        views={HERE: workloads.show},
        report=WorkloadReport(workloads).make,
        findings=WorkloadFindings(workloads).find,
        is_for_administrators=True,
        questions=questions,
        local_questions=questions,
        local_lists=(HERE,),
        run=watched.run,
    )
