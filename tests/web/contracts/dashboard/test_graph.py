"""The graph of services, their readiness and their revisions as pages."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from homeostat.objects.json import Json, JsonObject
from homeostat.operators.contracts.api import GROUP, KINDS, PACTO, PACTO_REVISION, REQUESTED
from homeostat.plane import Plane
from homeostat.runtime.installation import install
from homeostat.web.contracts.dashboard.diagram import Box, Line, draw
from homeostat.web.contracts.dashboard.graph import MOST_BOXES, MOST_LISTED
from tests.web.dashboard.declaring import HOSTILE, SINCE, declare, proof_of, reading, visitor
from tests.web.dashboard.site import Document, Site

INLINE = """\
pactoVersion: "1.1"
service:
  name: {name}
  version: {version}
"""


def status(name: str, state: str, needs: dict[str, bool], **more: Json) -> JsonObject:
    dependencies = [
        {"name": each, "ref": f"oci://registry.example.org/c/{each}:1", "required": required, "compatibility": "^1"}
        for each, required in needs.items()
    ]
    identity = {"serviceName": name, "version": "1.0.0", "ownerDisplay": HOSTILE}
    return {"contractStatus": state, "contract": identity, "dependencies": dependencies, **more}


async def declare_services(plane: Plane) -> None:
    """shop -> cart -> ledger -> cart, and shop may use mail, which nobody binds."""
    await install(plane.client, KINDS)
    soon = str(datetime.now(UTC).date() + timedelta(days=5))
    readiness = {
        "score": 90,
        "minScore": 80,
        "passing": True,
        "passingUntil": soon,
        "checks": [
            {
                "id": "runbook",
                "status": "Current",
                "weight": 1,
                "expires": soon,
                "evidence": "https://wiki.example.org/run",
            }
        ],
    }
    since = {"status": "True", "reason": "Tested", "message": "for a test", "lastTransitionTime": SINCE}
    gates = [{"type": each, **since} for each in ("ReadinessExpiring", "ReadinessSatisfied")]
    for name, state, needs, more in (
        ("shop", "Compliant", {"cart": True, "mail": False}, {}),
        ("cart", "NonCompliant", {"ledger": True}, {"readiness": readiness, "conditions": gates}),
        ("ledger", "Warning", {"cart": True}, {"currentRevision": "ledger-2"}),
    ):
        spec = {"contractRef": {"inline": INLINE.format(name=name, version="1.0.0")}, "target": {"serviceName": name}}
        await declare(plane.client, PACTO.kind, name, spec=spec, status=status(name, state, needs, **more))
    for number, version in ((1, "0.9.0"), (2, "1.0.0")):
        revision: JsonObject = {"version": version, "source": {"inline": True}, "pactoRef": "ledger"}
        made: JsonObject = {"resolved": True, "createdAt": SINCE.replace("10:", f"1{number}:")}
        await declare(plane.client, PACTO_REVISION.kind, f"ledger-{number}", spec=revision, status=made)


async def test_the_graph_shows_dependents_cycles_and_the_blast_radius(plane: Plane, site: Site) -> None:
    page = await site.open("/contracts/graph")
    assert "homeostat contract init" in [each.text for each in page.document.all("code")]
    await declare_services(plane)
    page = await site.shows("/contracts/graph", "1 cycle")
    nodes = {each.attributes["aria-label"]: each.attributes["class"] for each in page.document.all("a", class_="node")}
    assert nodes == {
        "cart 1.0.0: NonCompliant": "node bad in-cycle",
        "ledger 1.0.0: Warning": "node warn in-cycle",
        "mail : external": "node outside",
        "shop 1.0.0: Compliant": "node good",
    }
    assert len(page.document.all("path", class_="cycle")) == 2
    page = await site.open("/contracts/graph?focus=ledger")
    assert "If ledger fails, 2 services are affected." in page.text
    assert [each.text for each in page.document.all("th", scope="row")] == ["cart", "shop"]
    assert "homeostat contract impact ledger" in page.text
    assert len(page.document.all("a", class_="focus")) == 1
    assert "No service requires mail" in (await site.open("/contracts/graph?focus=mail")).text
    assert (await site.open("/contracts/graph?focus=%3Cscript%3E")).status == 404

    page = await site.open("/contracts/readiness")
    assert "5 days left" in page.text
    assert (await site.open("/contracts/readiness?within=90+days")).document.all("th", scope="row") == []
    page = await site.open("/contracts/default/cart")
    assert "5 days left" in page.text
    chips = [(each.text, each.attributes["class"]) for each in page.document.all("span", class_="chip")]
    at = chips.index(("ready", "chip good"))
    assert chips[at + 1] == ("expires soon", "chip warn")
    assert "passed" not in [word for word, _ in chips], "no condition of readiness is among the checks"
    assert page.document.one("a", href="https://wiki.example.org/run").text == "https://wiki.example.org/run"
    page = await site.open("/contracts/default/ledger")
    assert "since 0.9.0" in page.document.one("tr", id="row-revision-ledger-2").text
    page = await site.open("/contracts/default/ledger/diff?from=0.9.0&to=1.0.0")
    assert "was given inline, and only the current one is kept" in page.text
    newest = await site.open("/contracts/default/ledger/diff")
    assert newest.document.one("h1").text == "ledger: 0.9.0 → 1.0.0"
    page = await site.open("/contracts/default/ledger/diff?from=1.0.0&to=1.0.0")
    assert (page.status, "No changes." in page.text) == (200, True), page.text
    assert "<script>" not in page.source

    proof = await proof_of(site, "/contracts/default/shop")
    assert (await site.send("/contracts/default/shop/reconcile", {"proof": ""})).status == 403
    assert (await site.send("/contracts/default/shop/reconcile", {"proof": proof})).status == 303
    assert REQUESTED in (await plane.client.get(PACTO.kind.path("default", "shop")))["metadata"]["annotations"]


async def declare_dense(plane: Plane, names: list[str], needs: list[str]) -> None:
    await install(plane.client, KINDS)
    for name in names:
        spec = {"contractRef": {"inline": INLINE.format(name=name, version="1.0.0")}, "target": {"serviceName": name}}
        found = status(name, "Compliant", dict.fromkeys(needs, True))
        await declare(plane.client, PACTO.kind, name, spec=spec, status=found)


async def test_a_graph_of_too_many_dependencies_is_not_drawn(plane: Plane, site: Site) -> None:
    names = [f"s{at}" for at in range(50)]
    await declare_dense(plane, names, names)
    page = await site.shows("/contracts/graph", "more dependencies than can be drawn")
    assert page.document.all("svg", role="group") == []
    page = await site.open("/contracts/graph?focus=s1")
    assert "If s1 fails, 49 services are affected." in page.text
    assert "s1 has too many neighbours to draw" in page.text


async def test_services_outside_of_the_catalogue_count_as_drawn(plane: Plane, site: Site) -> None:
    await declare_dense(plane, ["shop"], [f"x{at}" for at in range(MOST_BOXES + 1)])
    page = await site.shows("/contracts/graph", "more dependencies than can be drawn")
    assert page.document.all("svg", role="group") == []
    page = await site.open("/contracts/graph?focus=shop")
    assert f"and {MOST_BOXES + 1 - MOST_LISTED} more" in page.text
    assert len(page.document.all("a", href="/dashboard/contracts/graph?focus=x1")) == 1


async def test_who_may_only_read_contracts_cannot_reconcile_them(plane: Plane, guarded: Site) -> None:
    await declare_services(plane)
    reader = await visitor(plane, guarded, "reader", [reading(GROUP, "pactos", "pactorevisions")])
    page = await guarded.open("/contracts/default/shop", Cookie=reader)
    assert (page.status, page.document.all("ul", class_="actions")) == (200, [])
    proof = await proof_of(guarded, "/contracts/default/shop", reader)
    refused = await guarded.send("/contracts/default/shop/reconcile", {"proof": proof}, Cookie=reader)
    assert refused.status == 403


def test_a_service_stands_left_of_all_that_it_needs() -> None:
    names = ("a", "b", "c", HOSTILE)
    boxes = {each: Box(each, "1", "Compliant", "/x") for each in names}
    lines = [Line("a", "b", True), Line("b", "c", True), Line("a", "c", False), Line("c", HOSTILE, True)]
    drawing = draw(boxes, lines)
    left = {each.text: int(each.attributes["x"]) for each in Document(drawing.svg).all("text", class_="name")}
    assert left["a"] < left["b"] < left["c"]
    assert drawing.cycles == []
    assert "<script>" not in drawing.svg
    assert draw({}, []).cycles == []
