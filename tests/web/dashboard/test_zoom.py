"""Drawings of boxes and arrows are zoomed and dragged: by buttons, by the keyboard and by a pointer."""

from __future__ import annotations

from playwright.async_api import Browser, Locator, Page, expect

from homeostat.operators.contracts.api import PACTO
from homeostat.plane import Plane
from homeostat.testing.eventually import eventually
from tests.web.contracts.dashboard.test_graph import declare_services, status
from tests.web.dashboard.declaring import declare
from tests.web.dashboard.inspection import violations
from tests.web.dashboard.site import Site


async def _width(drawing: Locator) -> float:
    box = await drawing.bounding_box()
    assert box is not None
    return box["width"]


async def _scrolled(frame: Locator) -> tuple[float, float]:
    left, top = await frame.evaluate("(frame) => [frame.scrollLeft, frame.scrollTop]")
    return left, top


async def test_a_drawing_is_zoomed_by_buttons_and_keys_and_dragged(
    site: Site, plane: Plane, tab: Page, troubles: list[str]
) -> None:
    await declare_services(plane)
    await site.shows("/contracts/graph", "1 cycle")
    await tab.set_viewport_size({"width": 440, "height": 700})
    await tab.goto(f"{site.url}/dashboard/contracts/graph")
    frame = tab.get_by_role("region", name="Service graph")
    drawing, percent = frame.locator("svg"), tab.get_by_role("group", name="Zoom").locator("output")
    usual = await _width(drawing)

    for _ in range(3):
        await tab.get_by_role("button", name="Zoom in").click()
    await expect(percent).to_have_text("195%")
    assert 1.9 * usual < await _width(drawing) < 2 * usual
    await tab.get_by_role("button", name="Zoom out").click()
    await expect(percent).to_have_text("156%")

    await frame.focus()
    await tab.keyboard.press("-")
    await expect(percent).to_have_text("125%")
    await tab.keyboard.press("+")
    await tab.keyboard.press("+")
    await expect(percent).to_have_text("195%")
    before = await _scrolled(frame)
    await tab.keyboard.press("ArrowRight")
    await eventually(lambda: _scrolled(frame), lambda now: now[0] > before[0])

    # Dragged by a box, which is a link: it does not lead away.
    here = await frame.bounding_box()
    assert here is not None
    await frame.evaluate("(frame) => frame.scrollTo(0, 0)")
    box = await frame.locator("a.node").first.bounding_box()
    assert box is not None
    x, y = box["x"] + 60, box["y"] + 20
    await tab.mouse.move(x, y)
    await tab.mouse.down()
    await tab.mouse.move(x - 30, y - 10, steps=3)
    await tab.mouse.move(x - 90, y - 10, steps=3)
    await tab.mouse.up()
    await eventually(lambda: _scrolled(frame), lambda now: now[0] > 50)
    await expect(tab).to_have_url(f"{site.url}/dashboard/contracts/graph")

    await tab.keyboard.down("Control")
    await tab.mouse.wheel(0, 300)
    await tab.keyboard.up("Control")
    await expect(percent).not_to_have_text("195%")
    await frame.focus()
    await tab.keyboard.press("0")
    assert await frame.evaluate("(frame) => frame.scrollWidth <= frame.clientWidth + 1"), "it fits into its frame"
    assert await tab.evaluate("window.visualViewport.scale") == 1, "the page itself is not zoomed"

    # A page that changes keeps it, and so does the next page.
    await tab.get_by_role("button", name="Zoom in").click()
    zoomed = await percent.text_content()
    spec = {"contractRef": {"inline": "x"}, "target": {"serviceName": "new"}}
    await declare(plane.client, PACTO.kind, "new", spec=spec, status=status("new", "Compliant", {"cart": True}))
    await expect(frame.locator("a.node", has_text="new")).to_be_visible()
    await expect(percent).to_have_text(zoomed or "")
    assert await drawing.evaluate("(svg) => svg.style.width") != ""
    await frame.locator("a.node", has_text="new").click()
    await expect(tab.get_by_role("heading", name="Blast radius of new")).to_be_visible()
    await expect(percent).to_have_text(zoomed or "")
    assert await violations(tab) == []
    assert troubles == []


async def test_without_scripts_a_drawing_has_no_buttons_that_do_nothing(
    site: Site, plane: Plane, browser: Browser
) -> None:
    await declare_services(plane)
    await site.shows("/contracts/graph", "1 cycle")
    context = await browser.new_context(java_script_enabled=False)
    tab = await context.new_page()
    await tab.goto(f"{site.url}/dashboard/contracts/graph")
    await expect(tab.locator("a.node", has_text="ledger")).to_be_visible()
    await expect(tab.get_by_role("button", name="Zoom in")).to_be_hidden()
    await context.close()
