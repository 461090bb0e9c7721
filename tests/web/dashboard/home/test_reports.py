"""What sections report to Home of real objects: since when they fail, and which are paused."""

from __future__ import annotations

from homeostat.objects.json import JsonObject
from homeostat.operators.contracts.api import KINDS as CONTRACTS
from homeostat.operators.contracts.api import PACTO
from homeostat.operators.policy.api import DEVOPS_POLICY
from homeostat.operators.policy.api import KINDS as POLICIES
from homeostat.operators.sync.api.policy import SYNC_POLICY
from homeostat.plane import Plane
from homeostat.runtime.control.failure_conditions import PAUSE
from homeostat.runtime.installation import install
from homeostat.testing.eventually import eventually
from tests.web.actions.shelf import World
from tests.web.dashboard.declaring import declare, proof_of, ready
from tests.web.dashboard.site import Site, note
from tests.web.sync.dashboard.test_policies import declare_all as declare_syncs

PAUSED: JsonObject = {**ready("True", "Paused", "by its annotation"), "type": "Paused"}


async def test_a_retry_that_fails_again_does_not_make_a_failure_younger(site: Site, shelf: World) -> None:
    shelf.trouble = "the shelf is full"
    await site.declare("/resources", note("a"))
    page = await site.shows("", "row-problem-resources-default/a-0")
    row = page.source.partition("row-problem-resources-default/a-0")[2]
    since = row.partition('datetime="')[2].partition('"')[0]
    await site.declare("/resources/1/reconcile", {})
    await eventually(lambda: site.open("/resources/1"), lambda page: len(page.document.all("summary")) == 2)
    page = await site.shows("", "row-problem-resources-default/a-0")
    assert f'datetime="{since}"' in page.source.partition("row-problem-resources-default/a-0")[2].partition("</tr>")[0]


async def test_a_paused_resource_is_counted_as_that_and_listed_as_frozen(site: Site) -> None:
    for name in ("a", "b"):
        await site.declare("/resources", note(name))
    await site.shows("", "2 ready")
    proof = await proof_of(site, "/resources/1")
    assert (await site.send("/resources/1/pause", {"proof": proof})).status == 303
    page = await site.shows("", "1 of 2 objects are as declared; 1 is pinned or paused")
    assert "default/a is paused until somebody resumes it" in page.document.all("ol", class_="timeline")[0].text
    listed = (await site.open("/resources")).document.one("tr", id="row-1").text
    assert "paused" in listed
    assert (await site.send("/resources/1/resume", {"proof": proof})).status == 303
    await site.shows("", "Everything is as declared: 2 objects")


async def test_paused_objects_of_other_sections_are_listed_as_frozen(plane: Plane, site: Site) -> None:
    await install(plane.client, [*CONTRACTS, *POLICIES])
    status = {"contractStatus": "Compliant", "conditions": [PAUSED]}
    spec: JsonObject = {"contractRef": {"inline": "x"}}
    annotations = {"annotations": {PAUSE: "true"}}
    await declare(plane.client, PACTO.kind, "mill", metadata=annotations, spec=spec, status=status)
    met = {"classification": "Healthy", "healthScore": 100, "violations": 0, "conditions": [PAUSED]}
    await declare(plane.client, DEVOPS_POLICY.kind, "rules", metadata=annotations, spec={}, status=met)
    await declare_syncs(plane)
    synced = {"conditions": [ready("True", "Synced", ""), PAUSED], "resources": [], "drifted": 0}
    await plane.client.merge(SYNC_POLICY.kind.path("default", "customers", "status"), {"status": synced})
    page = await site.shows("", "default/customers")
    shown = page.document.all("ol", class_="timeline")[0].text
    for name in ("mill", "rules", "customers"):
        assert f"default/{name} is paused until somebody resumes it" in shown
    assert page.document.one("li", id="home-contracts").text.startswith("0 of 1")
    contract = await site.open("/contracts/default/mill")
    assert "paused" in contract.document.one("h1").text
    assert "Not evaluated yet." in contract.text
