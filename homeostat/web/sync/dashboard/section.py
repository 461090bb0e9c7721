"""The section of SyncPolicies, their repositories and their servers."""

from __future__ import annotations

from homeostat.client.base import Client
from homeostat.operators.sync.api.policy import REQUESTED, SYNC_POLICY
from homeostat.runtime.control.failure_conditions import PAUSE
from homeostat.web.dashboard.section import Section
from homeostat.web.dashboard.trigger import Trigger
from homeostat.web.kit.gate import Question
from homeostat.web.kit.watched import Watched
from homeostat.web.sync.dashboard.dependencies import REPOSITORY, SERVER, Dependencies
from homeostat.web.sync.dashboard.findings import SyncFindings
from homeostat.web.sync.dashboard.policies import HERE, REPOSITORIES, SERVERS, TITLE, Policies
from homeostat.web.sync.dashboard.policy import PolicyPage
from homeostat.web.sync.dashboard.report import SyncReport


def open_section(client: Client, within: str = "") -> Section:
    watched = Watched(client, within)
    policies, policy = Policies(watched), PolicyPage(client, watched)
    repositories, servers = (Dependencies(watched, each) for each in (REPOSITORY, SERVER))
    one = f"{HERE}/policies/{{namespace}}/{{name}}"
    kind = SYNC_POLICY.kind
    plurals = (kind.plural, "resourcerepositories", "managedservers")
    questions = tuple(Question(kind.group, each, "list") for each in plurals)
    return Section(
        title=TITLE,
        purpose="A REST API, kept equal to files in Git.",
        path=HERE,
        pages=(("Repositories of sync", REPOSITORIES), ("Servers of sync", SERVERS)),
        views={
            HERE: policies.show,
            one: policy.show,
            REPOSITORIES: repositories.show,
            f"{REPOSITORIES}/{{namespace}}/{{name}}": repositories.show_one,
            SERVERS: servers.show,
            f"{SERVERS}/{{namespace}}/{{name}}": servers.show_one,
        },
        forms={
            f"{one}/sync": policy.sync,
            f"{one}/plan": policy.plan,
            f"{one}/suspend": policy.suspend,
            f"{one}/resume": policy.resume,
        },
        report=SyncReport(policies).make,
        findings=SyncFindings(watched).find,
        groups=(kind.group,),
        triggers={(kind.group, kind.plural): Trigger(REQUESTED, pause=PAUSE)},
        is_for_administrators=True,
        questions=questions,
        local_questions=questions,
        local_lists=(HERE, REPOSITORIES, SERVERS),
        run=watched.run,
    )
