"""Home, the objects of every kind and the palette in a real browser."""

from __future__ import annotations

import re

from playwright.async_api import Browser, Page, expect

from homeostat.plane import Plane
from tests.web.actions.shelf import World
from tests.web.dashboard.inspection import faults_of, violations
from tests.web.dashboard.objects.seed import DEPLOYMENTS, seed, seed_lamps, seed_revisions
from tests.web.dashboard.site import Site, note

WEB = "/objects/apps/deployments/shop/web"
CREATED = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web-again}
spec:
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: "web:1"}]}}
"""


async def test_from_the_palette_to_a_change_that_others_see_live(
    plane: Plane, site: Site, tab: Page, browser: Browser, troubles: list[str]
) -> None:
    await seed(plane.client)
    await tab.goto(f"{site.url}/dashboard")
    await expect(tab.get_by_role("button", name="Go to")).to_be_visible()
    await tab.keyboard.press("Control+k")
    await tab.keyboard.type("deploy web")
    await expect(tab.locator("#palette-found").get_by_role("option").first).to_contain_text("Deployment in shop")
    await tab.keyboard.press("Enter")
    await expect(tab).to_have_url(f"{site.url}/dashboard{WEB}")
    await expect(tab).to_have_title("web · Deployment · Homeostat")
    watcher = await browser.new_page()
    await watcher.goto(f"{site.url}/dashboard{WEB}")
    await watcher.get_by_text("Managed fields").click()

    await tab.get_by_role("link", name="Edit").click()
    area = tab.get_by_label("Manifest")
    await area.fill((await area.input_value()).replace("replicas: 2", "replicas: 4"))
    await tab.get_by_role("button", name="Preview").click()
    await expect(tab.locator("ins")).to_have_text("+  replicas: 4")
    await tab.get_by_role("button", name="Edit again").click()
    await tab.get_by_role("button", name="Preview").click()
    await tab.get_by_role("button", name="Apply").click()
    await expect(tab).to_have_url(f"{site.url}/dashboard{WEB}")
    await expect(watcher.locator("pre.value").first).to_contain_text("replicas: 4")
    await expect(watcher.locator("#managed pre")).to_be_visible()
    assert (await plane.client.get(f"{DEPLOYMENTS}/web"))["spec"]["replicas"] == 4

    await seed_revisions(plane.client, "web:0", "web:1")
    await tab.get_by_role("link", name="Roll back").click()
    await tab.get_by_role("button", name="Preview 1").press("Enter")
    await expect(tab.locator("ins", has_text="image: web:0")).to_be_visible()
    assert await violations(tab) == []
    await tab.get_by_role("button", name="Roll back to revision 1").press("Enter")
    await expect(tab).to_have_url(f"{site.url}/dashboard{WEB}")
    await expect(watcher.locator("pre.value").first).to_contain_text("image: web:0")

    await tab.get_by_role("link", name="Delete").click()
    await tab.get_by_role("button", name="Delete web").click()
    await expect(tab).to_have_url(re.compile(r"/objects/apps/deployments\?namespace=shop$"))
    await expect(watcher.get_by_role("heading", name="Not found")).to_be_visible()

    await tab.get_by_role("link", name="Create Deployment").click()
    area = tab.get_by_label("Manifest")
    await expect(area).to_have_value(re.compile("kind: Deployment"))
    await area.fill(CREATED)
    await tab.get_by_role("button", name="Preview").click()
    await expect(tab.locator("ins", has_text="revisionHistoryLimit: 10")).to_be_visible()
    await tab.get_by_role("button", name="Create Deployment").click()
    await expect(tab).to_have_url(f"{site.url}/dashboard{WEB}-again")
    assert (await plane.client.get(f"{DEPLOYMENTS}/web-again"))["spec"]["replicas"] == 1
    await tab.goto(f"{site.url}/dashboard/objects/apps/deployments?namespace=shop")
    await tab.get_by_label("Select all on this page").press("Space")
    await expect(tab.get_by_label("Select shop/web-again")).to_be_checked()
    await expect(tab.locator("#picked")).to_have_text("1 selected")
    await tab.get_by_label("With selected objects").select_option("Set label")
    await tab.get_by_label("Label to set").fill("tier=front")
    await tab.keyboard.press("Enter")
    await expect(tab.locator("tr", has_text="web-again")).to_contain_text("would be labelled")
    assert await violations(tab) == []
    await tab.get_by_role("button", name="Set label tier=front: 1 object").press("Enter")
    await expect(tab.get_by_role("status").first).to_contain_text("1 object labelled, 0 failed.")
    assert (await plane.client.get(f"{DEPLOYMENTS}/web-again"))["metadata"]["labels"] == {"tier": "front"}
    await tab.get_by_role("link", name="Back to the list").click()

    await tab.get_by_text("Saved views").click()
    await tab.get_by_role("button", name="Save this view").click()
    await tab.get_by_role("link", name="Objects", exact=True).last.click()
    await tab.get_by_text("Saved views").click()
    await tab.get_by_role("link", name="Deployment, namespace: shop").click()
    await expect(tab).to_have_url(re.compile(r"/objects/apps/deployments\?namespace=shop$"))
    await tab.get_by_text("Saved views").click()
    await tab.get_by_role("button", name="Remove Deployment, namespace: shop").click()
    await expect(tab.locator("#saved li")).to_have_count(1)
    assert troubles == []


async def test_every_page_fits_and_is_clear(plane: Plane, site: Site, shelf: World, browser: Browser) -> None:
    await seed(plane.client)
    await seed_lamps(plane.client)
    await seed_revisions(plane.client, "web:0", f"registry.example.org/{'long/' * 20}web:1", "web:1")
    rollout = {"spec": {"replicas": 2}, "status": {"replicas": 2, "observedGeneration": 1}}
    for part in ("", "/status"):
        await plane.client.merge(f"/apis/apps/v1/namespaces/shop/replicasets/web-h3{part}", rollout)
    await plane.client.merge(f"{DEPLOYMENTS}/web", {"metadata": {"labels": {"app.kubernetes.io/managed-by": "Helm"}}})
    await site.declare("/resources", note("good"))
    await site.shows("", "1 ready")
    shelf.trouble = "the shelf is full " * 9
    await site.declare("/resources", note("a-resource-with-quite-a-long-name-that-does-not-end"))
    await site.shows("", "the shelf is full")
    await site.shows("/objects/light.example/lamps", "porch")
    lamp = "/objects/light.example/lamps/shop/hall"
    pages = ["", "/objects", "/objects/core/configmaps", "/objects/light.example/lamps", "/objects/batch/jobs", WEB]
    pages += [lamp, f"{lamp}/edit", f"{lamp}/delete", "/objects/create", "/nothing", f"{WEB}/rollback"]
    assert await faults_of(browser, site.url, pages) == []
