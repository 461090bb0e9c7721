"""What the pages show of resources, and what nobody can make them show."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable

import pytest

from homeostat.operators.actions.plugins.plugin import Job
from homeostat.operators.actions.runs.run import Outcome
from homeostat.testing.eventually import eventually
from tests.web.actions.shelf import ShelfConfig, ShelfPlugin, World
from tests.web.dashboard.site import Page, Site, note

HOSTILE = "</pre><script>alert(1)</script><img src=x onerror=alert(2)>"


async def ready(site: Site, number: int) -> Page:
    return await site.shows(f"/resources/{number}", "phase-ready")


def proof_of(page: Page) -> str:
    return page.document.all("input", name="proof")[0].attributes["value"]


async def test_an_empty_plane_says_what_to_do(site: Site) -> None:
    page = await site.open()
    assert page.status == 200
    assert page.document.one("li", id="tile-resources").text == "0resources"
    assert "none yet" in page.text
    assert "No resources are declared yet" in (await site.open("/resources")).text
    assert "No policies are declared" in (await site.open("/policies")).text
    assert "No contracts are bound" in (await site.open("/contracts")).text


async def test_the_overview_counts_as_things_change(site: Site, shelf: World) -> None:
    assert "0ready" in (await site.open()).text
    for name in ("a", "b"):
        await site.declare("/resources", note(name))
    await site.shows("", "2 ready")
    shelf.trouble = "the shelf is full"
    await site.declare("/resources", note("c"))
    page = await site.shows("", "1 failed, 2 ready")
    assert [page.document.one("li", id=f"tile-{each}").text for each in ("resources", "failed", "ready")] == [
        "3resources",
        "1failed",
        "2ready",
    ]
    assert "1 object of 3 is not as declared" in page.text
    row = page.document.one("tr", id="row-problem-resources-default/c-0")
    assert row.text.startswith("default/c")
    assert "the shelf is full" in row.text
    assert len(page.document.all("rect")) == 4
    await site.remove(1)
    shelf.trouble = ""
    await site.declare("/resources/3/reconcile", {})
    page = await site.shows("", '<span class="note">2 ready</span>')
    assert "Everything is as declared: 2 objects" in page.text


async def test_resources_are_filtered_by_type_phase_and_word(site: Site, shelf: World) -> None:
    await site.declare("/resource-types", {"name": "Book", "version": "v2", "schema": {"type": "object"}})
    for name in ("red-1", "red-2", "blue-1"):
        await site.declare("/resources", note(name))
    await site.declare("/resources", note("red-3") | {"resource_type_name": "Book", "resource_type_version": "v2"})
    await site.shows("/resources?phase=ready", "4 resources")

    async def names(query: str) -> list[str]:
        page = await site.open(f"/resources?{query}")
        return [each.text for each in page.document.all("th", scope="row")]

    assert await names("") == ["red-3", "blue-1", "red-2", "red-1"]
    assert await names("q=red") == ["red-3", "red-2", "red-1"]
    assert await names("q=RED&type=Note/v1") == ["red-2", "red-1"]
    assert await names("type=Book") == ["red-3"]
    assert await names("q=3") == ["red-3", "blue-1"]
    assert await names("phase=failed") == []
    assert "No resources match" in (await site.open("/resources?q=green")).text


async def test_a_long_list_comes_in_pages(site: Site) -> None:
    for at in range(101):
        await site.declare("/resources", note(f"n-{at}"))
    first = await site.open("/resources?q=n-")
    assert "101 resources, page 1 of 3" in first.text
    assert len(first.document.all("th", scope="row")) == 50
    assert first.document.one("a", rel="next").attributes["href"] == "/dashboard/resources?q=n-&page=2"
    last = await site.open("/resources?page=99")
    assert [each.text for each in last.document.all("th", scope="row")] == ["n-0"]
    assert last.document.one("a", rel="prev").attributes["href"] == "/dashboard/resources?page=2"


async def test_a_resource_shows_its_history_the_newest_first(site: Site, shelf: World) -> None:
    await site.declare("/resources", note("a", text="hello"))
    await ready(site, 1)
    shelf.trouble = "the shelf is full"
    page = await site.open("/resources/1")
    answer = await site.send("/resources/1/reconcile", {"proof": proof_of(page)}, Origin=site.url)
    assert (answer.status, answer.headers["Location"]) == (303, "/dashboard/resources/1")
    page = await site.shows("/resources/1", "the shelf is full")
    runs = await eventually(lambda: _runs(site), lambda runs: len(runs) == 2)
    assert [("failed" in each, "success" in each) for each in runs] == [(True, False), (False, True)]
    assert "manual" in runs[0]
    assert "initial" in runs[1]
    for printed in ("a plan", "shelved a", "text: hello", "place: a"):
        assert printed in page.text
    chart = (await site.open("/resources/1")).document.one("div", class_="chart").text
    assert chart.startswith("The last 2 runs: 1 failed; the longest took ")


async def _runs(site: Site) -> list[str]:
    return [each.text for each in (await site.open("/resources/1")).document.all("summary")]


async def test_a_run_under_way_is_shown(site: Site, shelf: World) -> None:
    shelf.takes_s = 3
    await site.declare("/resources", note("a"))
    page = await site.shows("/resources/1", "Running: apply")
    assert "a plan" in page.document.one("section", id="run").text


async def test_what_is_gone_has_left_its_history(site: Site) -> None:
    await site.declare("/resources", note("a"))
    await ready(site, 1)
    await site.remove(1)
    page = await site.shows("/resources/1", "phase-deleting")
    page = await eventually(lambda: site.open("/resources/1"), lambda page: "gone" in page.text)
    assert "deletion" in page.text
    assert page.document.all("form") == []


def ending(outcome: Outcome) -> Callable[[ShelfPlugin, Job[ShelfConfig]], Awaitable[Outcome]]:
    """A plugin's `apply` that shelves things, and reports this."""

    async def apply(self: ShelfPlugin, job: Job[ShelfConfig]) -> Outcome:
        self.world.things[job.name] = job.spec
        return outcome

    return apply


async def test_whatever_comes_from_outside_is_text(site: Site, shelf: World, monkeypatch: pytest.MonkeyPatch) -> None:
    outcome = Outcome(
        is_success=True,
        output=HOSTILE,
        message=HOSTILE,
        url="javascript:alert(3)",
        outputs={HOSTILE: HOSTILE},
    )
    monkeypatch.setattr(ShelfPlugin, "apply", ending(outcome))
    await site.declare("/resources", note("a", text=HOSTILE))
    await ready(site, 1)
    shelf.trouble = HOSTILE
    await site.declare("/resources", note("b"))
    await site.shows("/resources/2", "phase-failed")
    pages = [await site.open(path) for path in ("", "/resources", "/resources/1", "/resources/2")]
    pages += [
        await site.open("/resources?q=%3Cscript%3E&type=%22%3E%3Cscript%3E"),
        await site.open("/resources/%3Cb%3E"),
    ]
    for page in pages:
        assert [each.attributes.get("src", "")[:18] for each in page.document.all("script")] == ["/dashboard/static/"]
        assert page.document.all("img") == []
        for each in page.document.elements:
            assert not any(name.startswith("on") or name == "style" for name in each.attributes), each
            assert not each.attributes.get("href", "").startswith("javascript")
    assert "<script>alert(1)</script>" in pages[2].text


async def test_no_secret_is_shown(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    outputs = {"admin_password": "hunter2", "dsn": "x", "at": "postgres://me:hunter2@db/app", "place": "left"}
    outcome = Outcome(is_success=True, outputs=outputs, output="connected to postgres://me:hunter2@db")
    monkeypatch.setattr(ShelfPlugin, "apply", ending(outcome))
    declared = note("a", combination="hunter2", login={"token": "hunter2", "user": "me"})
    await site.declare("/resources", {**declared, "plugin_config": {"token": "hunter2"}})
    page = await ready(site, 1)
    assert "hunter2" not in page.source
    for shown in ("place: left", "user: me", "combination: (hidden)", "postgres://(hidden)@db"):
        assert shown in page.text


async def test_pages_have_security_headers_and_are_not_cached(site: Site) -> None:
    page = await site.open()
    policy = page.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert page.headers["Cache-Control"] == "no-store"
    assert page.headers["X-Content-Type-Options"] == "nosniff"
    assert re.fullmatch(r'"[0-9a-f]{24}"', page.headers["ETag"])


async def test_what_a_browser_has_is_not_sent_again(site: Site) -> None:
    page = await site.open("/resources")
    again = await site.open("/resources", If_None_Match=page.headers["ETag"])
    assert (again.status, again.source) == (304, "")
    assert page.document.one("body").attributes["data-tag"] == page.headers["ETag"].strip('"')
    await site.declare("/resources", note("a"))
    assert (await site.open("/resources", If_None_Match=page.headers["ETag"])).status == 200


async def test_files_are_kept_for_ever_under_their_own_address(site: Site) -> None:
    document = (await site.open()).document
    styles = [(each.attributes["href"], "text/css") for each in document.all("link", rel="stylesheet")]
    scripts = [(each.attributes["src"], "text/javascript") for each in document.all("script")]
    for path, kind in (*styles, *scripts):
        page = await site.open(path.removeprefix("/dashboard"))
        assert (page.status, page.headers["Content-Type"].split(";")[0]) == (200, kind)
        assert "immutable" in page.headers["Cache-Control"]
    assert (await site.open("/static/0/../dashboard.py")).status == 404
    assert (await site.open("/static/0/dashboard.py")).status == 404
    assert (await site.open("/static/0/pages.css")).headers["Cache-Control"] == "no-store"


async def test_a_missing_resource_is_a_404_page(site: Site) -> None:
    for path, status in (("/resources/7", 404), ("/resources/x", 422), ("/resources?page=0", 422)):
        page = await site.open(path)
        assert (page.status, page.headers["Content-Type"]) == (status, "text/html; charset=utf-8"), path
        assert page.document.all("h1"), path


async def test_a_page_that_cannot_be_shown_says_why_in_words_and_leads_on(site: Site) -> None:
    page = await site.open("/runs?page=x")
    assert (page.status, "page: Expected `int`, got `str`" in page.text) == (422, True)
    page = await site.open("/objects/core/configmaps/default/none")
    assert page.document.all("a", href="/dashboard/objects/core/configmaps?namespace=default") != []
    page = await site.open("/objects/core/namespaces/-/none")
    assert page.document.all("a", href="/dashboard/objects/core/namespaces") != []


async def test_the_address_of_a_form_leads_to_the_page_with_its_button(site: Site) -> None:
    for path, place in (("/resources/1/reconcile", "/dashboard/resources/1"), ("/logout", "/dashboard")):
        page = await site.open(path)
        assert (page.status, page.headers["Location"]) == (303, place)
    page = await site.open("/resources/99")
    links = [each.text for each in page.document.all("a", href="/dashboard/resources")]
    assert (page.status, links) == (404, ["Resources", "Go to Resources"])


async def test_nothing_is_done_by_forms_of_others(site: Site) -> None:
    await site.declare("/resources", note("a"))
    page = await ready(site, 1)
    right = proof_of(page)
    cases: dict[str, tuple[str, dict[str, str]]] = {
        "no proof": ("", {}),
        "a wrong proof": ("0" * 64, {}),
        "no proof that could be one": ("ä" * 32, {}),
        "another site": (right, {"Origin": "https://evil.example"}),
        "another site, by another header": (right, {"Sec_Fetch_Site": "cross-site"}),
    }
    for case, (proof, headers) in cases.items():
        assert (await site.send("/resources/1/reconcile", {"proof": proof}, **headers)).status == 403, case
    assert len((await site.open("/resources/1")).document.all("summary")) == 1
