"""The section of contracts: Pactos, the graph of their services, their readiness and their revisions."""

from __future__ import annotations

import asyncio

from homeostat.client.base import Client
from homeostat.operators.contracts.api import PACTO, PACTO_REVISION, REQUESTED
from homeostat.runtime.control.failure_conditions import PAUSE
from homeostat.web.contracts.dashboard.contract import ContractPage
from homeostat.web.contracts.dashboard.contracts import HERE, TITLE, Contracts
from homeostat.web.contracts.dashboard.findings import ContractFindings
from homeostat.web.contracts.dashboard.graph import GRAPH, GraphPage
from homeostat.web.contracts.dashboard.readiness import READINESS, ReadinessPage
from homeostat.web.contracts.dashboard.report import ContractReport
from homeostat.web.contracts.dashboard.revisions import Revisions
from homeostat.web.contracts.dashboard.services import Services
from homeostat.web.dashboard.section import Section
from homeostat.web.dashboard.trigger import Trigger
from homeostat.web.kit.gate import Question
from homeostat.web.kit.watched import Watched


def open_section(client: Client, within: str = "") -> Section:
    watched, services = Watched(client, within), Services(client, within)
    contracts, revisions = Contracts(watched), Revisions(services)
    contract = ContractPage(client, revisions)
    questions = tuple(Question(each.group, each.plural, "list") for each in (PACTO.kind, PACTO_REVISION.kind))
    one = f"{HERE}/{{namespace}}/{{name}}"

    async def run() -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(watched.run())
            tasks.create_task(services.run())

    return Section(
        title=TITLE,
        purpose="What services promise each other, compared with what runs.",
        path=HERE,
        pages=(("Service graph", GRAPH), ("Readiness of contracts", READINESS)),
        views={
            HERE: contracts.show,
            GRAPH: GraphPage(services).show,
            READINESS: ReadinessPage(contracts).show,
            one: contract.show,
            f"{one}/diff": revisions.show,
        },
        forms={f"{one}/reconcile": contract.reconcile},
        report=ContractReport(contracts).make,
        findings=ContractFindings(contracts).find,
        groups=(PACTO.kind.group,),
        triggers={(PACTO.kind.group, PACTO.kind.plural): Trigger(REQUESTED, pause=PAUSE)},
        is_for_administrators=True,
        questions=questions,
        local_questions=questions,
        local_lists=(HERE, GRAPH, READINESS),
        run=run,
    )
