"""Lists of objects on wide screens, and what leads to them: labels, and the palette."""

from __future__ import annotations

import json

from playwright.async_api import Page, expect

from homeostat.objects.json import JsonObject
from homeostat.plane import Plane
from tests.web.dashboard.objects.seed import DEPLOYMENTS, seed
from tests.web.dashboard.site import Site


async def test_a_wide_screen_shows_the_columns_of_wide_output_too(
    plane: Plane, site: Site, tab: Page, troubles: list[str]
) -> None:
    await seed(plane.client)
    await tab.goto(f"{site.url}/dashboard/objects/apps/deployments")
    images = tab.get_by_role("columnheader", name="Images")
    await expect(tab.get_by_role("columnheader", name="Age")).to_be_visible()
    for width, is_shown in ((375, False), (1280, False), (1920, True)):
        await tab.set_viewport_size({"width": width, "height": 900})
        await expect(images).to_be_visible(visible=is_shown)
        await expect(tab.get_by_role("cell", name="web:1")).to_be_visible(visible=is_shown)
    await images.get_by_role("link").click()
    await expect(images).to_have_attribute("aria-sort", "ascending")
    assert troubles == []


async def test_a_column_of_wide_output_that_says_nothing_is_left_out(plane: Plane, site: Site) -> None:
    async def wide(path: str) -> list[str]:
        return [each.text for each in (await site.open(path)).document.all("th", class_="wide")]

    spec: JsonObject = {"containers": [{"name": "a", "image": "a"}], "nodeName": "node-1"}
    await plane.client.create("/api/v1/namespaces/default/pods", {"metadata": {"name": "a"}, "spec": spec})
    assert await wide("/objects/core/pods") == ["Node"]
    about = {"involvedObject": {"kind": "Pod", "name": "a", "namespace": "default"}, "source": {"component": "a"}}
    await plane.client.create("/api/v1/namespaces/default/events", {"metadata": {"name": "a.1"}, **about})
    assert await wide("/objects/core/events") == []


async def test_a_label_leads_to_the_objects_that_have_it(plane: Plane, site: Site) -> None:
    await seed(plane.client)
    await plane.client.merge(f"{DEPLOYMENTS}/web", {"metadata": {"labels": {"tier": "front", "empty": ""}}})
    page = await site.open("/objects/apps/deployments/shop/web")
    links = {each.text: each.attributes["href"] for each in page.document.all("a")}
    for label in ("tier=front", "empty="):
        listed = await site.open(links[label].removeprefix("/dashboard"))
        assert [each.text for each in listed.document.all("th", scope="row")] == ["web"], label


async def test_the_palette_finds_pages_below_the_sections(site: Site) -> None:
    async def found(words: str) -> list[tuple[str, str]]:
        answer = json.loads((await site.open(f"/find?q={words}")).source)["found"]
        return [(each["title"], each["path"]) for each in answer]

    assert ("Service graph", "/dashboard/contracts/graph") in await found("graph")
    assert ("Tokens", "/dashboard/access/tokens") in await found("token")
    assert ("REST API", "/docs") in await found("rest+api")
    assert [title for title, _ in await found("")][:2] == ["Home", "Resources"]
    assert "Tokens" not in [title for title, _ in await found("")]


async def test_a_phone_selects_all_rows_by_one_box(plane: Plane, site: Site, tab: Page) -> None:
    await seed(plane.client)
    await tab.set_viewport_size({"width": 375, "height": 800})
    await tab.goto(f"{site.url}/dashboard/objects/apps/deployments")
    await tab.get_by_label("Select all on this page").click()
    await expect(tab.locator("#picked")).to_have_text("1 selected")
