"""The section of policies, for administrators."""

from __future__ import annotations

from homeostat.client.base import Client
from homeostat.web.dashboard.section import Section
from homeostat.web.policy.dashboard.policies import HERE, OF_CLUSTER, Policies
from homeostat.web.policy.dashboard.policy import PolicyPage


def open_section(client: Client) -> Section:
    policies, policy = Policies(client), PolicyPage(client)
    return Section(
        title="Policies",
        path=HERE,
        views={
            HERE: policies.show,
            f"{HERE}/{{namespace}}/{{name}}": policy.show,
            f"{OF_CLUSTER}/{{name}}": policy.show_of_cluster,
        },
        summary=policies.summary,
        is_for_administrators=True,
    )
