"""Runs of resources as pages: live output, retry, pause, the timeline; and the inputs that declare resources."""

from __future__ import annotations

from homeostat.objects.json import JsonObject
from homeostat.operators.actions.api import RECONCILIATION
from homeostat.operators.actions.inputs.api import RESOURCE_INPUT
from homeostat.plane import Plane
from homeostat.testing.eventually import eventually
from tests.web.actions.shelf import World
from tests.web.dashboard.declaring import SINCE, declare, proof_of, visitor
from tests.web.dashboard.site import Page, Site, note


async def runs_are(site: Site, filters: str, states: list[str]) -> str:
    """The place where the first of the listed runs is shown, once they are in these states."""
    page = await eventually(lambda: site.open(f"/runs{filters}"), lambda page: _states(page) == states)
    return next((each for each in _links(page) if "#run" in each), "").removeprefix("/dashboard")


def _states(page: Page) -> list[str]:
    return [each.text for each in page.document.all("span", class_="chip")]


def _links(page: Page) -> list[str]:
    return [each.attributes["href"] for each in page.document.all("a")]


async def test_a_run_is_followed_retried_and_paused(site: Site, shelf: World) -> None:
    shelf.takes_s = 2.6
    await site.declare("/resources", note("a"))
    page = await site.shows("/resources/1", "shelving a")
    assert "Output so far" in page.text
    assert await runs_are(site, "", ["running"]) == "/resources/1#run"
    shelf.takes_s, here = 0.0, "/resources/1"
    page = await site.shows(here, "phase-ready")
    commands = [each.text for each in page.document.all("code", class_="command")]
    assert commands == [
        "homeostat resource reconcile note/a -n default",
        "homeostat annotate notes.resources.homeostat.dev a -n default homeostat.dev/paused=true",
        "homeostat edit notes.resources.homeostat.dev a -n default",
    ]
    shelf.trouble, proof = "the shelf is full", await proof_of(site, here)
    assert (await site.send(f"{here}/reconcile", {"proof": proof})).status == 303
    page = await site.shows(here, "Retry now")
    timeline = page.document.one("figure", class_="run-timeline")
    assert "failed" in timeline.text
    assert [each.attributes["class"] for each in page.document.all("a") if "#run-" in each.attributes["href"]] == [
        "good",
        "bad",
    ]
    done = page.document.all("ol", class_="phases")[-1].text
    assert [each for each in ("Planned", "Started", "Waiting", "Verifying") if each in done] == [
        "Planned",
        "Started",
        "Verifying",
    ]
    await runs_are(site, "", ["failed", "success"])
    bars = (await site.open("/runs")).document.one("figure", class_="run-timeline").text
    assert "success" in bars
    assert "The last 2 runs: 1 failed" in bars
    place, _, run = (await runs_are(site, "?state=failed&type=Note/v1&q=a&namespace=default", ["failed"])).partition(
        "#"
    )
    assert f'id="{run}"' in (await site.open(place)).source
    for filters in ("?q=b", "?state=cancelled", "?type=Note/v2", "?namespace=shop"):
        await runs_are(site, filters, [])
    for action, word in (("pause", "Resume"), ("resume", "Retry now")):
        assert (await site.send(f"{here}/{action}", {"proof": ""})).status == 403
        assert (await site.send(f"{here}/{action}", {"proof": proof})).status == 303
        await site.shows(here, word)


async def test_a_run_is_cancelled_and_retried(site: Site, shelf: World) -> None:
    shelf.takes_s, here = 60.0, "/resources/1"
    await site.declare("/resources", note("a"))
    page = await site.shows(here, "Cancel run")
    assert "homeostat resource cancel note/a -n default" in page.text
    ticket = page.document.one("input", name="ticket").attributes["value"]
    proof = await proof_of(site, here)
    assert (await site.send(f"{here}/cancel", {"proof": proof, "ticket": "another"})).status == 409
    assert (await site.send(f"{here}/cancel", {"proof": proof, "ticket": ticket})).status == 303
    page = await site.shows(here, "Retry now")
    assert page.document.all("summary")[0].text.startswith("cancelled")
    assert "on request, or after a change" in page.text
    assert (shelf.running, shelf.things) == (0, {})
    assert (await site.send(f"{here}/cancel", {"proof": proof, "ticket": ticket})).status == 409
    shelf.takes_s = 0.0
    assert (await site.send(f"{here}/reconcile", {"proof": proof})).status == 303
    await site.shows(here, "phase-ready")
    assert "a" in shelf.things


async def test_a_run_of_a_resource_that_never_had_a_page_leads_to_its_history_entry(plane: Plane, site: Site) -> None:
    spec: JsonObject = {"resourceKind": "Note", "resourceVersion": "v1", "resourceName": "gone", "resourceUid": "a-b"}
    spec |= {"trigger": "deletion", "isSuccess": True, "phase": "completed", "generation": 1}
    spec |= dict.fromkeys(("started", "finished"), "2026-01-01T00:00:00Z")
    await declare(plane.client, RECONCILIATION.kind, "gone-1", spec=spec)
    await runs_are(site, "", ["success"])
    links = [each.attributes["href"] for each in (await site.open("/runs")).document.all("a") if each.text == "gone"]
    assert links == ["/dashboard/objects/homeostat.dev/reconciliations/default/gone-1"]
    assert (await site.open(links[0].removeprefix("/dashboard"))).status == 200


async def test_inputs_show_their_state_and_errors(plane: Plane, guarded: Site, site: Site) -> None:
    assert "homeostat explain resourceinput.spec" in (await site.open("/inputs")).text
    config = {"url": "https://u:hidden-key@example.org/x.json", "token": "hidden-key"}
    # No plugin of this name is installed, so the operator reports that and nothing else.
    await declare(plane.client, RESOURCE_INPUT.kind, "shelf-list", spec={"plugin": "carrier-pigeon", "config": config})
    page = await site.shows("/inputs", "shelf-list")
    page = await site.shows("/inputs/shelf-list", "carrier-pigeon")
    assert "hidden-key" not in page.source
    edit = "homeostat edit resourceinputs.homeostat.dev shelf-list -n default"
    assert edit in [each.text for each in page.document.all("code", class_="command")]
    lost = {
        "type": "Ready",
        "status": "Unknown",
        "reason": "RepositoryNotFound",
        "message": "none",
        "lastTransitionTime": SINCE,
    }
    path = RESOURCE_INPUT.kind.path("default", "shelf-list", "status")
    await plane.client.merge(path, {"status": {"conditions": [lost]}})
    assert 'class="chip warn">RepositoryNotFound' in (await site.open("/inputs")).source
    assert (await site.open("/inputs/none")).status == 404
    nobody = await visitor(plane, guarded, "nobody", [])
    assert '/inputs"' in (await site.open("/resources")).source
    assert '/inputs"' not in (await guarded.open("/resources", Cookie=nobody)).source
    for path in ("/inputs", "/inputs/shelf-list"):
        assert (await guarded.open(path, Cookie=nobody)).status == 403
