"""From a finding to the object that it is about, and from the object to every finding about it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlencode

import pytest

from homeostat.edge.request import Headers, Peer, Request
from homeostat.objects.errors import UnavailableError
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import POD
from homeostat.operators import actions, contracts, policy
from homeostat.operators.contracts.api import PACTO
from homeostat.operators.policy.api import DEVOPS_POLICY
from homeostat.plane import Plane
from homeostat.testing.plane import open_test_plane
from homeostat.web.dashboard.finding import Finding, Subject
from homeostat.web.dashboard.html.layout import Viewer
from homeostat.web.dashboard.objects.findings import Findings
from homeostat.web.dashboard.section import Section
from homeostat.web.dashboard.visit import Visit
from homeostat.web.kit.gate import Administrator
from tests.web.dashboard.conftest import NOTE_TYPE
from tests.web.dashboard.open_site import open_site
from tests.web.dashboard.site import Page, Site, note

POD_NAME = "web-7d4b9c6f5d-x2x4z"
CONTAINERS: JsonObject = {"containers": [{"name": "app", "image": "nginx:latest"}]}
CONTRACT = """pactoVersion: "1.0"
service: {name: web, version: 1.0.0}
interfaces: [{name: api, type: http, port: 8080, visibility: internal}]
"""


@pytest.fixture
async def plane(shelf: object, tmp_path: Path) -> AsyncIterator[Plane]:
    async with open_test_plane(tmp_path / "plane", actions, contracts, policy, environment={}) as plane:
        yield plane


@pytest.fixture
async def site(plane: Plane) -> AsyncIterator[Site]:
    async with open_site(plane) as site:
        yield site


async def _create(plane: Plane, path: str, version: str, kind: str, name: str, **more: object) -> None:
    body = {"apiVersion": version, "kind": kind, "metadata": {"name": name, "labels": {"app": "web"}}, **more}
    await plane.client.create(path, body)


async def _declare(plane: Plane) -> None:
    core, apps = "/api/v1/namespaces/default", "/apis/apps/v1/namespaces/default"
    labels = {"app": "web"}
    await _create(plane, f"{core}/pods", "v1", "Pod", POD_NAME, spec=CONTAINERS)
    await _create(plane, f"{core}/services", "v1", "Service", "web", spec={"ports": [{"port": 80}], "selector": labels})
    template = {"metadata": {"labels": labels}, "spec": CONTAINERS}
    workload = {"selector": {"matchLabels": labels}, "template": template}
    await _create(plane, f"{apps}/deployments", "apps/v1", "Deployment", "web", spec=workload)
    rules = {"forbidLatestTag": True}
    kind = DEVOPS_POLICY.kind
    await _create(plane, kind.path("default"), kind.api_version, kind.kind, "strict", spec=rules)
    kind, bound = PACTO.kind, {"contractRef": {"inline": CONTRACT}, "target": {"serviceName": "web"}}
    await _create(plane, kind.path("default"), kind.api_version, kind.kind, "orders", spec=bound)


def _links(page: Page) -> list[str]:
    return [each.attributes.get("href", "").removeprefix("/dashboard") for each in page.document.all("a")]


def _back(page: str) -> str:
    return urlencode({"back": f"/dashboard{page}"})


async def test_findings_and_their_objects_link_to_each_other(plane: Plane, site: Site) -> None:
    await site.declare("/resource-types", NOTE_TYPE)
    await _declare(plane)
    await site.declare("/resources", note("a"))
    pod, service = f"/objects/core/pods/default/{POD_NAME}", "/objects/core/services/default/web"
    deployment, pacto = "/objects/apps/deployments/default/web", f"/objects/{PACTO.kind.group}/pactos/default/orders"
    rules = f"/objects/{DEVOPS_POLICY.kind.group}/devopspolicies/default/strict"
    resource = "/objects/resources.homeostat.dev/notes/default/a"

    policy_page = await site.shows("/policies/default/strict", "row-violation-0")
    assert {pod, deployment, rules, f"{rules}/edit?{_back('/policies/default/strict')}"} <= set(_links(policy_page))
    contract_page = await site.shows("/contracts/default/orders", "PortsValid")
    assert {service, deployment, pacto, f"{pacto}/edit?{_back('/contracts/default/orders')}"} <= set(
        _links(contract_page)
    )
    # In the facts, and with each check that is about it.
    assert (_links(contract_page).count(service) > 1, _links(contract_page).count(deployment) > 1) == (True, True)
    resource_page = await site.shows("/resources/1", "phase-ready")
    assert {resource, f"{resource}/edit?{_back('/resources/1')}"} <= set(_links(resource_page))

    for path, wanted in (
        (pod, "/policies/default/strict"),
        (deployment, "/policies/default/strict"),
        (deployment, "/contracts/default/orders"),
        (service, "/contracts/default/orders"),
        (pacto, "/contracts/default/orders"),
        (rules, "/policies/default/strict"),
        (resource, "/resources/1"),
    ):
        page = await site.open(path)
        assert wanted in _links(page), (path, page.text)
    assert "latest_tag" in (await site.open(deployment)).document.one("tr", id="row-finding-policies-0").text
    home = await site.open()
    assert {pacto, rules} <= set(_links(home)), home.text


async def test_an_event_links_to_its_object(plane: Plane, site: Site) -> None:
    about = {"apiVersion": "v1", "kind": "Pod", "namespace": "default", "name": "web-0"}
    event = {"involvedObject": about, "reason": "Failed", "message": "no", "type": "Warning"}
    await _create(plane, "/api/v1/namespaces/default/events", "v1", "Event", "web-0.1", **event)
    for path in ("/objects/core/events", "/objects/core/events/default/web-0.1"):
        assert "/objects/core/pods/default/web-0" in _links(await site.open(path)), path


async def test_a_section_that_cannot_answer_hides_no_other() -> None:
    async def failing(visit: Visit, subject: Subject) -> list[Finding]:
        raise UnavailableError("no answer")

    async def finding(visit: Visit, subject: Subject) -> list[Finding]:
        return [Finding(subject.name, "/dashboard/b", "bad", "bad", "broken")]

    sections = [
        Section(title=title, path=f"/dashboard/{title}", views={}, findings=find)
        for title, find in (("a", failing), ("b", finding))
    ]
    request = Request("GET", "/dashboard", "", Headers(), b"", Peer("::1"), {})
    visit = Visit(request, {}, Administrator("admin"), Viewer())
    shown = str(await Findings(sections).show(visit, Subject(POD, "default", "web")))
    assert "no answer" in shown
    assert 'href="/dashboard/b"' in shown
