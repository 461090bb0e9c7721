"""The pages of operators in a real browser: readable at every width, safe, and one click from what they show."""

from __future__ import annotations

import re

from playwright.async_api import Browser, Page, expect

from homeostat.operators import policy
from homeostat.operators.actions.inputs.api import RESOURCE_INPUT
from homeostat.operators.policy.api import DEVOPS_POLICY
from homeostat.operators.sync.api.policy import REQUESTED, SYNC_POLICY
from homeostat.plane import Plane
from homeostat.runtime.installation import install
from tests.web.contracts.dashboard.test_graph import declare_services
from tests.web.dashboard.declaring import SINCE, declare, ready
from tests.web.dashboard.inspection import faults_of
from tests.web.dashboard.site import Site
from tests.web.images.dashboard.test_images import declare_all as declare_images
from tests.web.sync.dashboard.test_policies import declare_all as declare_syncs

MISSING = f"/sync/policies/default/{'a' * 90}"
PATHS = (
    "",
    "/runs",
    "/access/who?verb=get&resource=secrets",
    "/sync/policies/default/customers",
    "/images/default/web",
    "/contracts/graph?focus=ledger",
    "/access?user=reader&verb=delete&resource=pods",
    "/access/users",
    "/access/tokens",
    "/contracts",
    "/contracts/readiness",
    "/contracts/default/ledger",
    "/contracts/default/ledger/diff?from=1.0.0&to=1.0.0",
    "/images",
    "/inputs",
    "/inputs/notes",
    "/operators",
    "/policies",
    "/policies/default/strict",
    "/sync",
    "/sync/repositories",
    "/sync/repositories/default/files",
    "/sync/servers",
    "/sync/servers/default/crm",
    "/workloads",
)


async def declare_policy(plane: Plane) -> None:
    await install(plane.client, policy.KINDS)
    status = {"healthScore": 71, "violations": 2, "lastEvaluated": SINCE, "healthClass": "Stable"}
    status |= {"conditions": [ready("True", "Evaluated", "2 violations")]}
    await declare(plane.client, DEVOPS_POLICY.kind, "strict", spec={"forbidLatestTag": True}, status=status)


async def test_pages_of_operators_are_clear_and_act_by_one_click(
    plane: Plane, site: Site, browser: Browser, tab: Page, troubles: list[str]
) -> None:
    await declare_syncs(plane)
    await declare_images(plane)
    await declare_services(plane)
    await declare_policy(plane)
    await declare(plane.client, RESOURCE_INPUT.kind, "notes", spec={"plugin": "carrier-pigeon", "config": {}})
    await site.shows("/contracts/graph", "1 cycle")
    assert await faults_of(browser, site.url, (*PATHS, MISSING)) == []

    await tab.goto(f"{site.url}/dashboard/contracts/graph")
    await tab.locator("a.node", has_text="ledger").click()
    await expect(tab).to_have_url(re.compile("focus=ledger"))
    await expect(tab.get_by_text("If ledger fails, 2 services are affected.")).to_be_visible()

    await tab.goto(f"{site.url}/dashboard/sync")
    await tab.get_by_role("link", name="customers").click()
    await tab.get_by_role("button", name="Sync now").click()
    await expect(tab.locator(".steps")).to_contain_text("requested")
    synced = await plane.client.get(SYNC_POLICY.kind.path("default", "customers"))
    assert REQUESTED in synced["metadata"]["annotations"]
    assert await tab.title() == "customers · Homeostat"
    assert troubles == []
