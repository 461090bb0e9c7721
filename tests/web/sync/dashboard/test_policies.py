"""SyncPolicies as pages: what differs, what comes next, and who may change anything."""

from __future__ import annotations

import msgspec
from playwright.async_api import Page, expect

from homeostat.objects.json import JsonObject
from homeostat.operators.sync.api.kinds import KINDS
from homeostat.operators.sync.api.parts import GROUP
from homeostat.operators.sync.api.policy import PLAN_REQUESTED, REQUESTED, SYNC_POLICY, PolicyStatus, ResourceReport
from homeostat.operators.sync.api.repository import RESOURCE_REPOSITORY
from homeostat.operators.sync.api.server import MANAGED_SERVER
from homeostat.plane import Plane
from homeostat.runtime.installation import install
from homeostat.web.dashboard.html.markup import el
from homeostat.web.sync.dashboard.differences import MOST_OPEN, resource_list
from homeostat.web.sync.dashboard.syncs import syncs_section
from tests.web.dashboard.declaring import HOSTILE, SINCE, declare, proof_of, reading, ready, visitor
from tests.web.dashboard.site import Document, Site

_CLASSES = "(part) => [...part.querySelectorAll('*')].map((each) => `${each.tagName}.${each.className}`)"
SPEC: JsonObject = {
    "resourceRepositoryRef": {"name": "files"},
    "managedServerRef": {"name": "crm"},
    "secretStoreRef": {"name": "vault"},
    "source": {"path": "/customers"},
}
DRIFTED: JsonObject = {
    "conditions": [ready("True", "Ready", f"sync successful {HOSTILE}")],
    "lastSuccessfulSyncTime": SINCE,
    "lastFullResyncTime": SINCE,
    "lastAppliedRepoRevision": "0123456789abcdef0123456789abcdef01234567",
    "resourceStats": {"targeted": 3, "applied": 2, "failed": 1},
    "drifted": 2,
    "plan": {
        "time": SINCE,
        "request": "1",
        "revision": "a" * 40,
        "unchanged": 2,
        "resources": [{"path": "/customers/planned", "result": "create"}],
    },
    "history": [
        {
            "time": SINCE,
            "trigger": "new revision",
            "mode": "incremental",
            "revision": "c" * 40,
            "failed": 1,
            "error": "e",
        },
        {"time": SINCE, "trigger": "new revision", "mode": "incremental", "revision": "b" * 40, "updated": 3},
        {"time": SINCE, "trigger": "first sync", "mode": "full", "revision": "a" * 40, "failed": 1, "error": HOSTILE},
        {"time": SINCE, "trigger": "first sync", "mode": "full", "revision": "a" * 40, "held": 2},
        {"time": SINCE, "trigger": "first sync", "mode": "full", "revision": "9" * 40, "created": 5},
    ],
    "resources": [
        {"path": "/customers/acme", "result": "failed", "message": HOSTILE, "kind": "Conflict"},
        {
            "path": f"/customers/{HOSTILE}",
            "result": "updated",
            "fields": ["/tier"],
            "changedBy": HOSTILE,
            "changes": [{"pointer": "/tier", "declared": '"gold"', "live": f'"{HOSTILE}"'}],
        },
    ],
}
FAILED: JsonObject = {
    "conditions": [ready("False", "ReconcileFailed", "the server refused")],
    "failure": {"reason": "ReconcileFailed", "message": "the server refused", "count": 3, "retryTime": SINCE},
}


async def declare_all(plane: Plane) -> None:
    await install(plane.client, KINDS)
    git = {"type": "git", "pollInterval": "1m", "git": {"url": "https://u:hidden-key@git.example.org/files.git"}}
    http = {"http": {"baseURL": "https://crm.example.org"}}
    await declare(plane.client, RESOURCE_REPOSITORY.kind, "files", spec=git)
    await declare(plane.client, MANAGED_SERVER.kind, "crm", spec=http)
    await declare(plane.client, SYNC_POLICY.kind, "customers", spec=SPEC, status=DRIFTED)
    await declare(plane.client, SYNC_POLICY.kind, "orders", spec={**SPEC, "source": {"path": "/orders"}}, status=FAILED)


async def test_without_policies_the_page_says_what_to_do(site: Site) -> None:
    page = await site.open("/sync")
    assert (page.status, "No SyncPolicies are declared" in page.text) == (200, True)
    assert "homeostat apply -f sync.yaml" in [each.text for each in page.document.all("code")]


async def test_policies_show_what_differs_and_can_be_synced_and_suspended(plane: Plane, site: Site) -> None:
    await declare_all(plane)
    page = await site.open("/sync")
    assert [each.text for each in page.document.all("th", scope="row")] == ["ordersdefault", "customersdefault"]
    assert "retry 3 of a failed sync" in page.text
    found = await site.open("/sync?state=drifted&q=CUSTOM")
    assert [each.text for each in found.document.all("th", scope="row")] == ["customersdefault"]
    assert (await site.open("/sync?namespace=none")).document.all("th", scope="row") == []
    assert "orders" in (await site.open()).text

    page = await site.open("/sync/policies/default/customers")
    assert page.document.one("del").text == f'- "{HOSTILE}"'
    assert page.document.one("ins").text == '+ "gold"'
    assert "1 failed resource is retried." in page.text
    assert "<script>" not in page.source.replace("<script src", "")
    commands = [each.text for each in page.document.all("code", class_="command")]
    assert commands[0].startswith(
        "homeostat annotate syncpolicy customers -n default declarest.io/reconcile-requested-at="
    )

    assert "1 to create, 2 resources as declared." in page.document.one("section", id="plan").text
    assert "/customers/planned" in page.document.one("li", id="planned-0").text
    assert "failed" in page.document.one("tr", id="row-sync-0").text
    assert "3 updated" in page.document.one("tr", id="row-sync-1").text
    held = page.document.one("tr", id="row-sync-3").text
    assert ("2 held" in held, "succeeded" in held) == (True, False)
    # That is the last one that changed something.
    assert f"git revert --no-edit {'b' * 40} && git push" in commands
    assert f"git revert --no-edit {'9' * 40}..HEAD && git push" in commands
    assert "hidden-key" not in page.source

    here, proof = "/sync/policies/default/customers", page.document.all("input", name="proof")[0].attributes["value"]
    assert (await site.send(f"{here}/sync", {"proof": "none"})).status == 403
    answer = await site.send(f"{here}/sync", {"proof": proof})
    assert (answer.status, answer.headers["Location"]) == (303, f"/dashboard{here}")
    await site.shows(here, "requested")
    assert (await site.send(f"{here}/plan", {"proof": proof})).status == 303
    await site.shows(here, "Requested; waiting for the operator.")
    assert (await site.send("/sync/policies/default/orders/plan", {"proof": proof})).status == 303
    await site.shows("/sync/policies/default/orders", "waiting for the operator. Not ready: the server refused")
    assert (await site.send(f"{here}/suspend", {"proof": proof})).status == 303
    page = await site.shows(here, "suspended")
    policy = await plane.client.get(SYNC_POLICY.kind.path("default", "customers"))
    assert (policy["spec"]["suspend"], REQUESTED in policy["metadata"]["annotations"]) == (True, True)
    assert [each.text for each in page.document.all("button", class_="primary")] == ["Resume"]
    assert (await site.send(f"{here}/resume", {"proof": proof})).status == 303
    await site.shows(here, "Suspend")

    repositories = await site.open("/sync/repositories")
    assert "files" in repositories.text
    assert "hidden-key" not in repositories.source + (await site.open("/sync/repositories/default/files")).source
    assert "orders" in (await site.open("/sync/servers/default/crm")).text
    for missing in ("policies/default/none", "servers/default/none", "repositories/none/files"):
        assert (await site.open(f"/sync/{missing}")).status == 404
    assert (await site.send("/sync/policies/default/none/sync", {"proof": proof})).status == 404


async def test_a_plan_that_comes_in_looks_as_it_does_after_a_reload(
    plane: Plane, site: Site, tab: Page, troubles: list[str]
) -> None:
    await declare_all(plane)
    path = SYNC_POLICY.kind.path("default", "customers")
    await plane.client.merge(path, {"metadata": {"annotations": {PLAN_REQUESTED: "2"}}})
    await tab.goto(f"{site.url}/dashboard/sync/policies/default/customers")
    await expect(tab.locator("#plan .empty")).to_contain_text("waiting for the operator")
    change = {"pointer": "/tier", "declared": '"gold"', "live": '"iron"'}
    planned = [{"path": f"/customers/{name}", "result": "update", "changes": [change]} for name in ("acme", "bolt")]
    plan: JsonObject = {"time": SINCE, "request": "2", "revision": "a" * 40, "resources": planned}
    await plane.client.merge(f"{path}/status", {"status": {"plan": plan}})
    await expect(tab.locator("#planned-1")).to_contain_text("/customers/bolt")
    came = await tab.locator("#plan").evaluate(_CLASSES)
    await tab.reload()
    assert await tab.locator("#plan").evaluate(_CLASSES) == came
    assert troubles == []


async def test_a_plan_is_outdated_after_a_sync_or_a_commit(plane: Plane, site: Site) -> None:
    await declare_all(plane)
    here = "/sync/policies/default/customers"
    repository = RESOURCE_REPOSITORY.kind.path("default", "files", "status")
    assert "outdated" not in (await site.open(here)).document.one("section", id="plan").text
    await plane.client.merge(repository, {"status": {"lastFetchedRevision": "b" * 40}})
    page = await site.shows(here, "outdated")
    assert "has a newer commit, bbbbbbbbbbbb." in page.document.one("section", id="plan").text
    await plane.client.merge(repository, {"status": {"lastFetchedRevision": "a" * 40}})
    later = {"status": {"lastAttemptTime": "2026-11-17T10:00:01Z"}}
    await plane.client.merge(SYNC_POLICY.kind.path("default", "customers", "status"), later)
    page = await site.shows(here, "after this plan")
    assert "Plan again to see what would change now." in page.document.one("section", id="plan").text


async def test_home_keeps_the_drift_of_the_last_sync_while_the_next_one_runs(plane: Plane, site: Site) -> None:
    await declare_all(plane)
    attempt = {"mode": "full", "trigger": "interval", "time": SINCE}
    await plane.client.merge(
        SYNC_POLICY.kind.path("default", "customers", "status"), {"status": {"attempt": attempt, "held": None}}
    )
    await site.shows("/sync", "syncing")
    page = await site.open()
    assert "2 resources differ from the repository" in page.text
    assert page.document.one("h1").text == "2 objects of 2 are not as declared"


async def test_who_may_only_read_gets_no_button_and_is_refused(plane: Plane, guarded: Site) -> None:
    await declare_all(plane)
    rules = [reading(GROUP, "syncpolicies", "resourcerepositories", "managedservers")]
    reader = await visitor(plane, guarded, "reader", rules)
    nobody = await visitor(plane, guarded, "nobody", [])
    here = "/sync/policies/default/customers"
    page = await guarded.open(here, Cookie=reader)
    assert page.status == 200, page
    assert page.document.all("button", class_="primary") == []
    proof = await proof_of(guarded, here, reader)
    assert "Plan now" not in page.text
    for action in ("sync", "plan", "suspend", "resume"):
        refused = await guarded.send(f"{here}/{action}", {"proof": proof}, Cookie=reader)
        assert (refused.status, "not allowed to patch syncpolicies" in refused.text) == (403, True)
    assert (await guarded.open("/sync", Cookie=nobody)).status == 403
    assert "Sync" not in (await guarded.open("", Cookie=nobody)).document.all("nav")[0].text
    assert not (await plane.client.get(SYNC_POLICY.kind.path("default", "customers")))["spec"]["suspend"]


def test_syncs_are_drawn_over_time_and_lead_to_their_rows() -> None:
    page = Document(str(el("main", syncs_section(msgspec.convert(DRIFTED, PolicyStatus)))))
    bars = page.all("a", class_="bad") + page.all("a", class_="warn") + page.all("a", class_="good")
    rows = {each.attributes["id"] for each in page.all("tr") if "id" in each.attributes}
    assert [each.attributes["href"] for each in bars] == [f"#row-sync-{at}" for at in (2, 0, 3, 4, 1)]
    assert {each.attributes["href"].removeprefix("#") for each in bars} == rows


def test_of_many_differences_the_first_are_shown_each_with_its_fields() -> None:
    reports = [
        ResourceReport(path=f"/topics/{at}", result="held", message="mode is observe", fields=("/days",))
        for at in range(81)
    ]
    shown = Document(resource_list(reports))
    assert [len(each.text.split("mode is observe")) - 1 for each in shown.all("ol")] == [MOST_OPEN, 81 - MOST_OPEN]
    assert shown.one("details", id="resource-rest").text.startswith("Show 61 more")
    assert shown.all("span", class_="why")[0].text == "/days · mode is observe"
    assert len(Document(resource_list(reports[: MOST_OPEN + 5])).all("ol")) == 1
