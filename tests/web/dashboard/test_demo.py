"""Somebody who has only a browser finds and mends the five faults of `homeostat demo`.

By what is visible alone: the link that the demo prints, and then links, buttons and forms of the pages.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from tests.cli.demo.starting import running_demo

_WITHIN_MS = 40_000
_link = re.compile(r"sign in +(https://\S+)")
_suggested = re.compile(r"\{(livenessProbe|readinessProbe): (.*)\}")
_FAULTS = {
    "default/support": "sizeMB is 5000; a mailbox has at most 1000 MB",
    "shop/orders": 'Service "orders" lacks ports 8080; it has ports 9090',
    "shop/shop": "3 violations",
    "shop/topics": "1 resource differs from the repository; mode is observe",
    "shop/web": "prices were wrong on Friday",
}


class Visitor:
    """Sees what is on the page, follows links, presses buttons, and writes into fields."""

    def __init__(self, tab: Page) -> None:
        self.tab, self.page = tab, tab.get_by_role("main")
        self.faults = tab.get_by_role("table", name="Wrong now")

    async def sees(self, text: str) -> None:
        await expect(self.page).to_contain_text(text, timeout=_WITHIN_MS)

    async def sees_title(self, text: str) -> None:
        await expect(self.page.get_by_role("heading", level=1)).to_have_text(text, timeout=_WITHIN_MS)

    async def go_to(self, section: str) -> None:
        await self.tab.get_by_role("navigation").get_by_role("link", name=section, exact=True).click()

    async def open_fault(self, name: str) -> None:
        await self.go_to("Home")
        await self.faults.get_by_role("link", name=name, exact=True).click()

    async def follow(self, link: str, *, in_table: str = "") -> None:
        place: Locator = self.page.get_by_role("table", name=in_table) if in_table else self.page
        await place.get_by_role("link", name=link, exact=True).first.click()

    async def press(self, button: str) -> None:
        await self.page.get_by_role("button", name=button, exact=True).click()

    async def edit(self, *changes: tuple[str, str]) -> None:
        """Change the manifest in the form that is open, read the preview, and apply it."""
        field = self.page.get_by_label("Manifest")
        text = await field.input_value()
        for old, new in changes:
            assert text.count(old) == 1, (old, text)
            text = text.replace(old, new)
        await field.fill(text)
        await self.press("Preview")
        await self.sees("The server accepts this change in a dry run.")
        await self.press("Apply")


@pytest.fixture(scope="module")
def link(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The one for the first login."""
    with running_demo(tmp_path_factory.mktemp("demo")) as log:
        (printed,) = _link.findall(log.read_text("utf-8"))
        yield printed


@pytest.fixture
async def visitor(browser: Browser) -> AsyncIterator[Visitor]:
    """Goes on when the browser warns of the certificate. Nothing that the browser complains of goes unseen."""
    context = await browser.new_context(viewport={"width": 1280, "height": 900}, ignore_https_errors=True)
    context.set_default_timeout(_WITHIN_MS)
    tab, troubles = await context.new_page(), list[str]()
    tab.on("console", lambda message: troubles.append(message.text) if message.type == "error" else None)
    tab.on("pageerror", lambda error: troubles.append(str(error)))
    yield Visitor(tab)
    await context.close()
    assert troubles == []


async def test_who_has_only_a_browser_finds_and_mends_the_five_faults_of_the_demo(link: str, visitor: Visitor) -> None:
    await visitor.tab.goto(link)
    await visitor.press("Sign in as administrator")
    await visitor.sees_title("4 objects of 9 are not as declared; 1 is pinned or paused")
    for name, why in _FAULTS.items():
        fault = visitor.faults.get_by_role("row").filter(has_text=name)
        await expect(fault).to_contain_text(why, timeout=_WITHIN_MS)

    # orders listens on another port than promised. The failed check leads to the Service, and that back.
    await visitor.open_fault("shop/orders")
    await visitor.follow("Service orders", in_table="Checks")
    await visitor.follow("Edit")
    await visitor.edit(("  port: 9090", "  port: 8080"))
    await visitor.follow("orders", in_table="What operators say of it")
    await visitor.sees_title("orders Compliant")

    # A topic was changed by hand. The page says why nothing puts it right, and leads to the form that changes that.
    await visitor.open_fault("shop/topics")
    await visitor.sees("Nothing is changed: mode is observe, so a sync only compares.")
    await visitor.follow("edit it and set spec.sync.mode to enforce")
    await visitor.edit(("mode: observe", "mode: enforce"))
    await visitor.sees_title("topics synced")

    # web is behind its newest commit: somebody pinned it and forgot.
    await visitor.open_fault("shop/web")
    await visitor.press("Unpin")
    await visitor.press("Update now")
    await visitor.sees_title("web not applied")

    # mailer breaks the rules for Pods. Each rule has YAML that would satisfy it.
    await visitor.open_fault("shop/shop")
    suggested = dict(_suggested.findall(await visitor.page.inner_text()))
    await visitor.follow("mailer", in_table="Violations by workload")
    await visitor.follow("Edit")
    probes = "".join(f"        {name}: {probe}\n" for name, probe in suggested.items())
    await visitor.edit((":latest\n", ":2.1.0\n"), ("        name: mailer\n", f"        name: mailer\n{probes}"))
    await visitor.follow("shop", in_table="What operators say of it")
    await visitor.sees_title("shop no violations")

    # The broker refuses a mailbox of that size, and says what it accepts.
    await visitor.open_fault("default/support")
    await visitor.follow("Edit")
    await visitor.edit(("sizeMB: 5000", "sizeMB: 500"))
    await visitor.sees_title("support ready")

    await visitor.go_to("Home")
    await visitor.sees_title("Everything is as declared: 9 objects")
    await visitor.sees("Nothing is wrong.")
