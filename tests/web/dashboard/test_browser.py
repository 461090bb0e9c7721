"""The dashboard in a real browser: it works, it is live, and nothing on it breaks its own security policy."""

from __future__ import annotations

import re

from playwright.async_api import Browser, Page, expect

from homeostat.objects.json import JsonObject
from homeostat.operators.contracts.api import KINDS, PACTO
from homeostat.plane import Plane
from homeostat.runtime.installation import install
from homeostat.testing.eventually import eventually
from tests.web.actions.shelf import World
from tests.web.dashboard.inspection import faults_of, violations
from tests.web.dashboard.site import Site, note

SINCE = "2026-11-17T10:00:00Z"
HOSTILE = "</pre><script>document.title = 'taken'</script><img src=x onerror=\"document.title = 'taken'\">"
WITHIN_MS = 20_000
COMPLIANT: JsonObject = {"contractStatus": "Compliant", "summary": {"total": 4, "passed": 4, "failed": 0}}
FAILING: JsonObject = {
    "contractStatus": "NonCompliant",
    "contractVersion": "1.4.0",
    "summary": {"total": 4, "passed": 3, "failed": 1},
    "contract": {"serviceName": "mill", "ownerDisplay": HOSTILE},
    "validation": {"valid": True, "warnings": [{"code": "TAG_NOT_DIGEST", "path": "dependencies[0].ref"}]},
    "readiness": {
        "score": 40,
        "minScore": 80,
        "checks": [{"id": "runbook", "type": "document", "status": "partial", "evidence": HOSTILE, "weight": 5}],
    },
    "conditions": [
        {"type": kind, "status": status, "reason": reason, "message": HOSTILE, "lastTransitionTime": SINCE}
        for kind, status, reason in (
            ("ContractValid", "True", "Parsed"),
            ("WorkloadTypeMatch", "False", "Mismatch"),
            ("HealthEndpointValid", "Unknown", "ProbePending"),
        )
    ],
}
_BEFORE_PAINT = """async () => {
  const paint = await new Promise((painted) => new PerformanceObserver((list) => {
    const [found] = list.getEntriesByName("first-contentful-paint");
    if (found) painted(found);
  }).observe({ type: "paint", buffered: true }));
  const all = performance.getEntriesByType("resource");
  const blocking = all.filter((each) => each.renderBlockingStatus === "blocking").map((each) => each.name);
  return { blocking, requests: all.length, painted: paint.startTime > 0 };
}"""
expect.set_options(timeout=WITHIN_MS)


async def test_from_the_overview_to_a_run_that_comes_in_live(
    site: Site, shelf: World, tab: Page, troubles: list[str]
) -> None:
    for name in ("red-1", "red-2", "blue-1"):
        await site.declare("/resources", note(name, text=HOSTILE))
    await site.shows("", "3 ready")
    await tab.goto(f"{site.url}/dashboard")
    await expect(tab.locator("#tile-ready")).to_have_text("3ready")
    await tab.get_by_role("link", name="Resources", exact=True).click()
    await expect(tab.get_by_role("heading", name="Resources", level=1)).to_be_visible()
    # Said by the script of this page, which then listens to keys too.
    await expect(tab.get_by_text("Live", exact=True)).to_be_visible()

    await tab.keyboard.press("/")
    await tab.keyboard.type("blue")
    await expect(tab.get_by_text("1 resource", exact=True)).to_be_visible()
    await expect(tab).to_have_url(re.compile(r"q=blue"))
    await expect(tab.get_by_label("Search")).to_be_focused()

    await tab.get_by_role("link", name="blue-1").click()
    await expect(tab.locator(".history > li")).to_have_count(1)
    await tab.locator(".history summary").click()
    await expect(tab.get_by_text("shelved blue-1")).to_be_visible()

    shelf.trouble = "the shelf is full"
    await site.declare("/resources/3/reconcile", {})
    await expect(tab.locator(".history > li")).to_have_count(2)
    await expect(tab.locator(".history > li").first).to_contain_text("the shelf is full")
    await expect(tab.locator("h1 .chip")).to_have_text("failed")
    # What somebody has opened stays open.
    await expect(tab.get_by_text("shelved blue-1")).to_be_visible()
    await expect(tab.locator("pre.value").first).to_contain_text("document.title")
    await expect(tab).to_have_title("blue-1 · Homeostat")
    await tab.goto(f"{site.url}/dashboard/runs?state=failed")
    await tab.get_by_role("link", name="blue-1").click()
    await expect(tab.locator(".history > li:target details")).to_have_attribute("open", "")
    top = await tab.evaluate("document.querySelector('li:target').getBoundingClientRect().top")
    assert top >= await tab.evaluate("document.querySelector('header').offsetHeight"), "the header does not cover it"
    assert troubles == []


async def test_the_newest_lines_of_a_run_are_in_view(site: Site, shelf: World, tab: Page) -> None:
    shelf.takes_s, shelf.lines = 60.0, 100
    await site.declare("/resources", note("a"))
    await site.shows("/resources/1", "shelving a")
    await tab.goto(f"{site.url}/dashboard/resources/1")
    left = "(pre) => pre.scrollHeight - pre.scrollTop - pre.clientHeight"
    assert await tab.locator(".run > pre").last.evaluate(left) < 2
    assert await tab.locator(".run > pre").last.evaluate("(pre) => pre.scrollTop") > 0


async def test_a_command_is_copied_by_a_click_and_by_the_keyboard(site: Site, browser: Browser) -> None:
    await site.declare("/resources", note("a"))
    await site.shows("/resources/1", "homeostat resource reconcile")
    context = await browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    tab = await context.new_page()
    await tab.goto(f"{site.url}/dashboard/resources/1")
    first, second = tab.locator("code.command").nth(0), tab.locator("code.command").nth(1)
    await first.click()
    await expect(first).to_have_class("command copied")
    assert await tab.evaluate("navigator.clipboard.readText()") == "homeostat resource reconcile note/a -n default"
    await second.focus()
    await tab.keyboard.press("Enter")
    await expect(second).to_have_class("command copied")
    assert "homeostat.dev/paused=true" in await tab.evaluate("navigator.clipboard.readText()")
    await context.close()


async def test_without_scripts_everything_is_there(site: Site, browser: Browser) -> None:
    for name in ("red-1", "blue-1"):
        await site.declare("/resources", note(name))
    await site.shows("", "2 ready")
    context = await browser.new_context(java_script_enabled=False)
    tab = await context.new_page()
    await tab.goto(f"{site.url}/dashboard/resources")
    await tab.get_by_label("Search").fill("red")
    await tab.get_by_role("button", name="Filter").click()
    await expect(tab.get_by_text("1 resource", exact=True)).to_be_visible()
    await tab.get_by_role("link", name="red-1").click()
    async with tab.expect_navigation():
        await tab.get_by_role("button", name="Reconcile now").click()
    await eventually(lambda: site.open("/resources/1"), lambda page: len(page.document.all("summary")) == 2)
    await tab.reload()
    await expect(tab.locator(".history > li")).to_have_count(2)
    await context.close()


async def test_somebody_signs_in_where_they_wanted_to_go_and_out(guarded: Site, tab: Page) -> None:
    await tab.goto(f"{guarded.url}/dashboard/resources?phase=failed")
    await tab.get_by_label("Name").fill("admin")
    await tab.get_by_label("Password").fill("wrong")
    await tab.keyboard.press("Enter")
    await expect(tab.get_by_role("alert")).to_have_text("Invalid credentials")
    await tab.get_by_label("Name").fill("admin")
    await tab.get_by_label("Password").fill("correct horse")
    await tab.get_by_role("button", name="Sign in").click()
    await expect(tab).to_have_url(f"{guarded.url}/dashboard/resources?phase=failed")
    assert await tab.evaluate("document.cookie") == ""
    await tab.get_by_role("button", name="Sign out").click()
    await expect(tab).to_have_url(f"{guarded.url}/dashboard/login")
    await tab.goto(f"{guarded.url}/dashboard")
    await expect(tab.get_by_role("heading", name="Sign in")).to_be_visible()


async def test_a_page_is_painted_after_two_answers(site: Site, tab: Page, troubles: list[str]) -> None:
    """The page and its styles; scripts come later. Counted, since the time depends on the machine."""
    for path in ("/login", "", "/resources"):
        await tab.goto(f"{site.url}/dashboard{path}")
        found = await tab.evaluate(_BEFORE_PAINT)
        assert [each.rpartition("/")[2] for each in found["blocking"]] == ["pages.css"], path
        assert found["requests"] <= 4, (path, found)
        assert found["painted"], path
    assert troubles == []


async def test_a_lost_connection_is_seen_wherever_the_page_is_scrolled_to(
    site: Site, tab: Page, troubles: list[str]
) -> None:
    for number in range(40):
        await site.declare("/resources", note(f"n-{number}"))
    await tab.goto(f"{site.url}/dashboard/resources")
    notice = tab.locator("#live")
    await expect(notice).to_have_text("Live")
    assert await tab.evaluate("document.body.scrollHeight > 2 * window.innerHeight")
    height = "document.querySelector('tbody tr').offsetHeight"
    usual = await tab.evaluate(height)
    await tab.get_by_role("button", name="Dense tables").click()
    assert await tab.evaluate(height) < 0.75 * usual
    await tab.reload()
    assert await tab.evaluate(height) < 0.75 * usual, "this browser remembers it"
    await tab.get_by_role("button", name="Dense tables").click()
    assert await tab.evaluate(height) == usual
    await tab.route("**/dashboard/**", lambda route: route.abort())
    await expect(notice).to_contain_text("No connection")
    await expect(notice).to_be_in_viewport()
    await tab.unroute("**/dashboard/**")
    await expect(notice).to_have_text("Live")


async def test_from_a_contract_in_the_worst_state_to_the_check_that_fails(
    site: Site, plane: Plane, tab: Page, troubles: list[str]
) -> None:
    await install(plane.client, KINDS)
    for name, status in (("good", COMPLIANT), ("mill", FAILING)):
        pacto = {"metadata": {"name": name}, "spec": {"contractRef": {"inline": "x"}, "target": {"serviceName": name}}}
        body = {"apiVersion": PACTO.kind.api_version, "kind": "Pacto", **pacto}
        await plane.client.create(PACTO.kind.path("default"), body)
        await plane.client.merge(PACTO.kind.path("default", name, "status"), {"status": status})
    await tab.goto(f"{site.url}/dashboard")
    await tab.get_by_role("link", name="Contracts", exact=True).click()
    rows = tab.locator("table.contracts tbody tr")
    await expect(rows).to_have_count(2)
    await expect(rows.first).to_contain_text("NonCompliant")
    await expect(rows.first).to_contain_text("3 of 4")
    await expect(rows.first).to_contain_text("40 of 80")
    await tab.get_by_role("link", name="mill").click()
    await expect(tab.get_by_role("heading", name="mill", level=1)).to_be_visible()
    await expect(tab.locator("#row-check-0")).to_contain_text("WorkloadTypeMatch")
    await expect(tab.locator("#row-check-0")).to_contain_text("failed")
    await expect(tab.locator("#row-finding-0")).to_contain_text("TAG_NOT_DIGEST")
    await expect(tab.locator("#row-readiness-0")).to_contain_text("runbook")
    assert await tab.title() != "taken"
    assert await violations(tab) == []
    assert troubles == []
    assert (await site.open("/contracts/default/none")).status == 404


async def test_the_one_time_link_signs_in_by_one_click(guarded: Site, plane: Plane, tab: Page) -> None:
    await tab.goto(f"{guarded.url}/dashboard/login/once?code={plane.sign_in.code}")
    await tab.get_by_role("button", name="Sign in as administrator").click()
    await expect(tab).to_have_url(f"{guarded.url}/dashboard")
    await expect(tab.get_by_role("link", name="Policies", exact=True)).to_be_visible()


async def test_pages_of_resources_and_the_login_are_accessible(site: Site, browser: Browser) -> None:
    await site.declare("/resources", note("a"))
    await site.shows("/resources/1", "phase-ready")
    await site.declare("/resources/1/reconcile", {})
    await site.shows("/resources/1", "run-timeline")
    assert await faults_of(browser, site.url, ("", "/resources", "/resources/1", "/login")) == []
