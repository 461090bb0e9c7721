"""A namespace that somebody chooses narrows Home and all lists, and stays in the addresses of their links."""

from __future__ import annotations

from homeostat.operators.contracts.api import KINDS, PACTO
from homeostat.plane import Plane
from homeostat.runtime.installation import install
from tests.web.dashboard.objects.seed import CONFIG_MAPS
from tests.web.dashboard.site import Page, Site, note


def links(page: Page) -> dict[str, str]:
    return {each.text: each.attributes["href"] for each in page.document.all("a") if "href" in each.attributes}


async def test_a_namespace_narrows_home_and_lists_and_stays_in_their_links(plane: Plane, site: Site) -> None:
    await install(plane.client, KINDS)
    await site.declare("/resources", note("a"))
    await plane.client.create("/api/v1/namespaces", {"metadata": {"name": "shop"}})
    await plane.client.create(CONFIG_MAPS, {"metadata": {"name": "one"}})
    for namespace, name in (("shop", "mill"), ("default", "bakery"), ("default", "farm")):
        spec = {"contractRef": {"inline": "x"}, "target": {"serviceName": name}}
        body = {"apiVersion": PACTO.kind.api_version, "kind": "Pacto", "metadata": {"name": name}, "spec": spec}
        await plane.client.create(PACTO.kind.path(namespace), body)
        status = {"contractStatus": "Compliant" if name == "farm" else "NonCompliant"}
        await plane.client.merge(PACTO.kind.path(namespace, name, "status"), {"status": status})
    everything = await site.shows("", "2 objects of 4 are not as declared")
    assert "default/bakery" in links(everything)
    assert "shop" in [each.text for each in everything.document.all("option")]

    shop = await site.open("?namespace=shop")
    assert "1 object of 1 is not as declared" in shop.text
    assert ("shop/mill" in links(shop), "default/bakery" in links(shop)) == (True, False)
    assert shop.document.all("li", id="tile-resources") == [], "resources are in another namespace"
    assert [each.text for each in shop.document.all("option") if "selected" in each.attributes] == ["shop"]
    elsewhere = await site.open("/resources?namespace=shop")
    assert "This server has resources in the namespace default only: show those of default." in elsewhere.text
    assert links(elsewhere)["show those of default"] == "/dashboard/resources?namespace=default"
    assert "a" in links(await site.open("/resources?namespace=default"))
    for title in ("Contracts", "Sync", "Images", "Policies", "Workloads", "Objects", "Home"):
        assert links(shop)[title].endswith("?namespace=shop"), title
    assert links(await site.open("/contracts?namespace=shop"))["Objects"] == "/dashboard/objects?namespace=shop"
    assert "bakery" not in (await site.open("/contracts?namespace=shop")).text

    index = await site.open("/objects?namespace=shop")
    assert links(index)["Pacto"].endswith("/pactos?namespace=shop")
    assert index.document.one("li", id="kind-pacto.pacto.trianalab.io").text.endswith("1")
    assert index.document.all("li", id="kind-namespace") == [], "kinds without namespaces are left out"
    assert (await site.open("/objects")).document.one("li", id="kind-pacto.pacto.trianalab.io").text.endswith("3")
    assert links(index)["Create object"] == "/dashboard/objects/create?namespace=shop"
    hostile = await site.open("?namespace=%22%3E%3Cscript%3E")
    assert (hostile.status, "<script>" in hostile.source.replace("<script src", "")) == (200, False)
