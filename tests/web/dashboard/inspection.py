"""Checks of a page in a browser: accessibility by axe-core, light and dark, and width."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files

from playwright.async_api import Browser, Page

WIDTHS = (360, 1024, 1280, 1920)
_AXE = (files("axe_playwright_python") / "axe.min.js").read_text()
_RUN = """async (only) => {
  const options = { resultTypes: ["violations"], ...(only.length ? { runOnly: { type: "rule", values: only } } : {}) };
  const found = (await axe.run(document, options)).violations;
  return found.filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 160)}`));
}"""
_SIDEWAYS = """(tables) => [...document.querySelectorAll(`.scroll:has(> ${tables})`)]
  .filter((each) => each.scrollWidth > each.clientWidth + 1).map((each) => each.getAttribute("aria-label"))"""
_UNDRAWN = """() => [...document.querySelectorAll(".graph .node")].filter((each) => {
  const rect = each.querySelector("rect"), box = rect.getBoundingClientRect();
  const ends = [...each.querySelectorAll("text")].map((text) => text.getBoundingClientRect().right);
  return getComputedStyle(each).transform !== "none" || Math.max(...ends) > box.right;
}).map((each) => each.getAttribute("aria-label"))"""
_COLOURS = ("color-contrast", "link-in-text-block")


async def faults_of(browser: Browser, url: str, paths: Iterable[str]) -> list[str]:
    """What is wrong with these pages, light and dark, at the widths of a phone, a tablet, a laptop, a large screen."""
    found: list[str] = []
    for scheme in ("light", "dark"):
        context = await browser.new_context(color_scheme="dark" if scheme == "dark" else "light")
        tab = await context.new_page()
        for path in paths:
            await tab.goto(f"{url}/dashboard{path}")
            for width in WIDTHS if scheme == "light" else ():
                await tab.set_viewport_size({"width": width, "height": 900})
                beyond = await tab.evaluate("document.documentElement.scrollWidth - window.innerWidth")
                found += [f"{path} is {beyond} px too wide at {width} px"] if beyond > 0 else []
                # A list of objects has the server's columns, as many as there are.
                tables = {360: "table", 1024: "table:not(.objects)"}.get(width)
                sideways: list[str] = await tab.evaluate(_SIDEWAYS, tables) if tables else []
                found += [f"{path}: the table {each} scrolls sideways at {width} px" for each in sideways]
            undrawn: list[str] = await tab.evaluate(_UNDRAWN) if scheme == "light" else []
            found += [f"{path}: the box {each} is not drawn as it should be" for each in undrawn]
            found += [f"{path} in {scheme}: {each}" for each in await violations(tab, is_dark=scheme == "dark")]
        await context.close()
    return found


async def violations(tab: Page, *, is_dark: bool = False) -> list[str]:
    """The serious and critical ones. A dark page is the light one in other colours."""
    await tab.evaluate(_AXE)
    found: list[str] = await tab.evaluate(_RUN, list(_COLOURS) if is_dark else [])
    return found
