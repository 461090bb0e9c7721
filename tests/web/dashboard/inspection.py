"""Checks of a page in a browser: contrast, names for screen readers, structure, and width."""

from __future__ import annotations

from collections.abc import Iterable

from playwright.async_api import Browser

WIDTHS = (390, 1280, 1920)


async def faults_of(browser: Browser, url: str, paths: Iterable[str]) -> list[str]:
    """What is wrong with these pages, light and dark, at the widths of a phone, a laptop and a large screen."""
    found: list[str] = []
    for scheme in ("light", "dark"):
        context = await browser.new_context(color_scheme="dark" if scheme == "dark" else "light")
        tab = await context.new_page()
        for path in paths:
            await tab.goto(f"{url}/dashboard{path}")
            for width in WIDTHS:
                await tab.set_viewport_size({"width": width, "height": 900})
                beyond = await tab.evaluate("document.documentElement.scrollWidth - window.innerWidth")
                found += [f"{path} is {beyond} px too wide at {width} px"] if beyond > 0 else []
            found += [f"{path} in {scheme}: faint: {each}" for each in await tab.evaluate(FAINT)]
            found += [f"{path}: {each}" for each in await tab.evaluate(UNCLEAR)] if scheme == "light" else []
        await context.close()
    return found


FAINT = """() => {
  const parse = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((c) => c / 255)
    .map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, at) => sum + c * [0.2126, 0.7152, 0.0722][at], 0);
  const behind = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const [r, g, b, a = 1] = parse(getComputedStyle(at).backgroundColor);
      if (a > 0.5) return [r, g, b];
    }
    return [255, 255, 255];
  };
  const shown = [...document.querySelectorAll("body *")].filter((each) =>
    [...each.childNodes].some((node) => node.nodeType === 3 && node.nodeValue.trim()) && each.offsetParent
    && !each.closest(".unseen, .skip"));
  return shown.filter((each) => {
    const [a, b] = [light(parse(getComputedStyle(each).color)), light(behind(each))];
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) < 4.5;
  }).map((each) => each.outerHTML.slice(0, 120));
}"""


UNCLEAR = """() => {
  const found = [];
  const all = (query) => [...document.querySelectorAll(query)];
  const say = (problem, each) => found.push(`${problem}: ${each.outerHTML.slice(0, 120)}`);
  const text = (id) => id && document.getElementById(id)?.textContent;
  const name = (each) => (each.getAttribute("aria-label") || text(each.getAttribute("aria-labelledby"))
    || each.labels?.[0]?.textContent || each.textContent || each.title || "").trim();
  if (!document.documentElement.lang) found.push("the language is missing");
  if (!document.title.trim()) found.push("the title is missing");
  for (const each of ["main", "h1"]) if (all(each).length !== 1) found.push(`${all(each).length} times ${each}`);
  for (const each of all("nav, [role=region]")) if (!each.ariaLabel) say("a landmark without a name", each);
  for (const each of all("input:not([type=hidden]), select, textarea")) {
    if (!each.labels.length && !each.getAttribute("aria-label")) say("a field without a label", each);
  }
  for (const each of all("a[href], button, summary")) if (!name(each)) say("a control without a name", each);
  for (const each of all("table")) if (!each.caption?.textContent.trim()) say("a table without a caption", each);
  for (const each of all("th")) if (!each.scope) say("a heading of a table without a scope", each);
  for (const each of all("svg[role=img]")) if (!name(each)) say("a graphic without a name", each);
  for (const each of all("[tabindex]")) if (each.tabIndex > 0) say("an order of focus of its own", each);
  for (const each of all("[aria-hidden=true] :is(a, button, input)")) say("hidden, and in the order of focus", each);
  for (const each of all("dl > :not(div, dt, dd), ul > :not(li), ol > :not(li)")) say("not an item of its list", each);
  const ids = all("[id]").map((each) => each.id);
  for (const each of new Set(ids.filter((id, at) => ids.indexOf(id) !== at))) found.push(`${each} is an id of several`);
  let level = 1;
  for (const each of all("h1, h2, h3, h4, h5")) {
    const own = Number(each.tagName[1]);
    if (own > level + 1 && !each.closest("details")) say("a level of headings is left out before", each);
    level = own;
  }
  return found;
}"""
"""What a screen reader, or somebody without a mouse, would stumble over."""
