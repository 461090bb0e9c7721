"""The page of the REST API in a real browser: it sends requests, and its commands follow what is entered."""

from __future__ import annotations

import aiohttp
import msgspec
from playwright.async_api import Browser, Page, expect

from tests.web.dashboard.inspection import WIDTHS, violations
from tests.web.dashboard.site import Site, note

HOSTILE = "<img src=x onerror=alert(1)>"
expect.set_options(timeout=20_000)


async def token_of(guarded: Site) -> str:
    admin = {"username": "admin", "password": "correct horse"}
    url = f"{guarded.url}/api/v1/auth/login"
    async with aiohttp.ClientSession() as session, session.post(url, json=admin) as answer:
        granted: str = (await answer.json())["access_token"]
        return granted


async def test_an_operation_is_tried_with_a_token_that_no_command_shows(
    guarded: Site, tab: Page, troubles: list[str]
) -> None:
    await tab.goto(f"{guarded.url}/docs#get_resource_types")
    form = tab.locator("#get_resource_types form")
    await form.get_by_role("button", name="Send GET").click()
    await expect(form.get_by_role("status")).to_contain_text("401 Unauthorized")
    assert all("401" in each for each in troubles)
    token = await token_of(guarded)
    await tab.get_by_label("Token").fill(token)
    await form.get_by_role("button", name="Send GET").click()
    await expect(form.get_by_role("status")).to_contain_text("200 OK")
    await expect(form.locator(".answer pre")).to_have_text("[]")
    command = await tab.locator("#get_resource_types pre.command").text_content() or ""
    assert '-H "Authorization: Bearer $TOKEN"' in command
    assert token not in command
    assert await tab.evaluate("localStorage.length + sessionStorage.length") == 0


async def test_a_body_and_parameters_are_sent_and_answers_stay_text(site: Site, tab: Page, troubles: list[str]) -> None:
    await tab.goto(f"{site.url}/docs")
    created = tab.locator("#post_resource_types")
    await created.locator("summary").click()
    assert '"name": "Page"' in await created.get_by_label("Body").input_value()
    book = {"name": "Book", "version": "v1", "description": HOSTILE, "schema": {"type": "object"}}
    await created.get_by_label("Body").fill(msgspec.json.encode(book).decode())
    await created.get_by_role("button", name="Send POST").click()
    await expect(created.get_by_role("status")).to_contain_text("201 Created")
    await expect(created.locator(".answer pre")).to_contain_text(f'"description": "{HOSTILE}"')

    await site.declare("/resources", note("a"))
    one = tab.locator("#get_resources_id")
    await one.locator("summary").click()
    await one.get_by_role("button", name="Send GET").click()
    await expect(one.locator(".answer")).to_be_hidden()
    await one.get_by_label("id", exact=True).fill("1")
    await expect(one.locator("pre.command")).to_have_text(f"curl {site.url}/api/v1/resources/1")
    await one.get_by_label("id", exact=True).press("Enter")
    await expect(one.locator(".answer pre")).to_contain_text('"name": "a"')

    stream = tab.locator("#get_resources_id_events")
    await stream.locator("summary").click()
    await stream.get_by_label("id", exact=True).fill("1")
    await stream.get_by_role("button", name="Send GET").click()
    await expect(stream.get_by_role("status")).to_contain_text("200 OK")
    await stream.get_by_role("button", name="Stop").click()
    await expect(stream.get_by_role("status")).to_contain_text("stopped")
    assert troubles == []


async def test_the_page_fits_and_is_clear_and_leads_to_the_dashboard(site: Site, browser: Browser) -> None:
    for scheme in ("light", "dark"):
        context = await browser.new_context(color_scheme="dark" if scheme == "dark" else "light")
        tab = await context.new_page()
        await tab.goto(f"{site.url}/docs#post_resources")
        for width in WIDTHS:
            await tab.set_viewport_size({"width": width, "height": 900})
            assert await tab.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0, width
        assert await violations(tab) == []
        await tab.get_by_role("link", name="Dashboard").click()
        await expect(tab).to_have_url(f"{site.url}/dashboard")
        await tab.get_by_role("link", name="REST API", exact=True).click()
        await expect(tab).to_have_url(f"{site.url}/docs")
        await context.close()
