"""The section of policies."""

from __future__ import annotations

from homeostat.client.base import Client
from homeostat.operators.policy.api import CLUSTER_DEVOPS_POLICY, DEVOPS_POLICY, POLICY_AUDIT_RESULT
from homeostat.runtime.control.failure_conditions import PAUSE
from homeostat.web.dashboard.section import Section
from homeostat.web.dashboard.trigger import Trigger
from homeostat.web.kit.gate import Question
from homeostat.web.kit.watched import Watched
from homeostat.web.policy.dashboard.findings import PolicyFindings
from homeostat.web.policy.dashboard.policies import HERE, OF_CLUSTER, Policies
from homeostat.web.policy.dashboard.policy import PolicyPage
from homeostat.web.policy.dashboard.report import PolicyReport


def open_section(client: Client, within: str = "") -> Section:
    watched = Watched(client, within)
    policies, policy = Policies(watched), PolicyPage(client)
    return Section(
        title="Policies",
        purpose="Rules for Pods: a score, the violations, and what to change.",
        path=HERE,
        views={
            HERE: policies.show,
            f"{HERE}/{{namespace}}/{{name}}": policy.show,
            f"{OF_CLUSTER}/{{name}}": policy.show_of_cluster,
        },
        report=PolicyReport(policies).make,
        findings=PolicyFindings(client, policies).find,
        groups=(DEVOPS_POLICY.kind.group,),
        triggers={
            (each.kind.group, each.kind.plural): Trigger(pause=PAUSE) for each in (DEVOPS_POLICY, CLUSTER_DEVOPS_POLICY)
        },
        is_for_administrators=True,
        questions=tuple(
            Question(each.kind.group, each.kind.plural, "list")
            for each in (DEVOPS_POLICY, CLUSTER_DEVOPS_POLICY, POLICY_AUDIT_RESULT)
        ),
        local_questions=tuple(
            Question(each.kind.group, each.kind.plural, "list") for each in (DEVOPS_POLICY, POLICY_AUDIT_RESULT)
        ),
        local_lists=(HERE,),
        run=watched.run,
    )
