"""The section of contracts, for administrators."""

from __future__ import annotations

from homeostat.client.base import Client
from homeostat.web.contracts.dashboard.contract import ContractPage
from homeostat.web.contracts.dashboard.contracts import HERE, Contracts
from homeostat.web.dashboard.section import Section


def open_section(client: Client) -> Section:
    contracts = Contracts(client)
    return Section(
        title="Contracts",
        path=HERE,
        views={HERE: contracts.show, f"{HERE}/{{namespace}}/{{name}}": ContractPage(client).show},
        summary=contracts.summary,
        is_for_administrators=True,
    )
