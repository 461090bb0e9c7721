"""Operators and access as pages: what works and what does not, and who may do what."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import aiohttp
import pytest

from homeostat.client.base import Client
from homeostat.operators import actions, policy
from homeostat.operators.catalog import find_operator
from homeostat.plane import Plane
from homeostat.runtime.faces.face import TokenFacts
from homeostat.runtime.installation import install
from homeostat.runtime.manager import Manager
from homeostat.runtime.supervisor import Supervisor
from homeostat.runtime.telemetry.state import ControllerState, Failing, OperatorState, WatchState
from homeostat.testing.eventually import eventually
from homeostat.testing.plane import open_test_plane
from homeostat.web.actions import serving
from homeostat.web.dashboard.operators import _state_chip
from homeostat.web.identity.identity import open_identity
from tests.web.dashboard.declaring import HOSTILE, reading, visitor
from tests.web.dashboard.site import Site
from tests.web.faces import ADMIN, CHEAP
from tests.web.rest import serve_rest

TROUBLED = OperatorState(
    name="trade",
    troubles=(HOSTILE,),
    is_leading=True,
    leader="host-1",
    controllers=(
        ControllerState(
            name="orders",
            depth=3,
            retries=7,
            trips=1,
            outcomes={"failed": 2},
            mean_s=6.0,
            slowest_s=float("inf"),
            failing=2,
            failures=(Failing("Order default/a", HOSTILE), Failing("ConfigMap default/b", "lost")),
        ),
    ),
    watches=(
        WatchState(path="/a", state="waiting", age_s=90, objects=1, restarts=2, relists=0, unreadable=1, trouble="x"),
        WatchState(path="/b", state="listing", age_s=float("inf"), objects=0, restarts=0, relists=0, unreadable=0),
    ),
)
TOKENS = [
    TokenFacts(id="t1", user="anna", groups=("dev",), created=1, expires=int(time.time()) + 60),
    TokenFacts(id="t2", user=HOSTILE),
]


@pytest.fixture
async def plane(tmp_path: Path) -> AsyncIterator[Plane]:
    async with open_test_plane(tmp_path / "plane", actions, environment={}) as plane:
        yield plane


async def states_of(client: Client) -> list[OperatorState]:
    """Of a process with an operator that works."""
    await install(client, policy.KINDS)
    manager = Manager(client, environment={})
    manager.add("policy", policy.register, policy.KINDS)
    async with manager.running():
        await manager.informers.synced()
        return await eventually(manager.states, lambda found: all(each.is_leading for each in found))


async def test_operators_and_access_are_shown_to_administrators(plane: Plane, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "open_identity", partial(open_identity, cost=CHEAP))
    asleep = Supervisor(plane.client, find_operator("images"), grace_s=0.1).states()
    states = [*await states_of(plane.client), *asleep, TROUBLED]
    async with (
        serve_rest(
            plane.client,
            plane.private,
            namespace="default",
            environment=ADMIN,
            is_open=False,
            operators=lambda: states,
            tokens=lambda: TOKENS,
        ) as server,
        aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as session,
    ):
        site = Site(session, f"http://127.0.0.1:{server.port}")
        page = await site.send("/login", {"username": "admin", "password": "correct horse"})
        admin = page.headers["Set-Cookie"].partition(";")[0]
        await check_operators(site, admin)
        await check_access(plane, site, admin)


def test_an_operator_with_objects_that_fail_is_not_called_working() -> None:
    failing = OperatorState(name="a", is_leading=True, controllers=(ControllerState(name="a", failing=2),))
    assert "2 failing" in _state_chip(failing)
    assert "working" in _state_chip(OperatorState(name="a", is_leading=True))


async def check_operators(site: Site, admin: str) -> None:
    page = await site.open("/operators", Cookie=admin)
    assert [each.text.split("<")[0] for each in page.document.all("th", scope="row")] == ["trade", "policy", "images"]
    assert [each.text for each in page.document.all("span", class_="chip")][:1] == ["in trouble"]
    assert page.document.one("tr", id="row-operator-images").text.startswith("imagesasleep–––––")
    assert "last event none yet" in page.document.one("tr", id="row-operator-trade").text
    assert "in trouble" in (await site.open("", Cookie=admin)).text
    page = await site.open("/operators/policy", Cookie=admin)
    assert "/apis/devops.stochastic.io/v1/devopspolicies" in page.text
    page = await site.open("/operators/trade", Cookie=admin)
    assert "over 5 min" in page.text
    assert "none yet" in page.document.one("tr", id="row-watch-1").text, "none came yet"
    assert "2 failing objects." in page.text
    link = page.document.one("a", href="/dashboard/objects/core/configmaps/default/b")
    assert link.text == "default/b"
    assert "<script>" not in page.source
    assert "No resource was reconciled yet." in (await site.open("/runs", Cookie=admin)).text
    empty = await site.open("/policies", Cookie=admin)
    assert "/dashboard/objects/create?group=devops.stochastic.io&amp;plural=devopspolicies" in empty.source
    assert "homeostat crds images" in (await site.open("/operators/images", Cookie=admin)).text
    assert (await site.open("/operators/none", Cookie=admin)).status == 404


async def check_access(plane: Plane, site: Site, admin: str) -> None:
    assert "homeostat auth can-i" in (await site.open("/access", Cookie=admin)).text
    reader = await visitor(plane, site, "reader", [reading("apps", "deployments")])
    page = await site.open("/access?user=reader&verb=list&resource=deployments.apps", Cookie=admin)
    answer = page.document.one("section", id="answer").text
    assert answer.startswith("allowed reader may list deployments.apps in all namespaces")
    assert 'ClusterRoleBinding "reader"' in answer
    page = await site.open("/access?user=reader&verb=delete&resource=pods&namespace=shop", Cookie=admin)
    answer = page.document.one("section", id="answer").text
    assert "denied reader may not delete pods in the namespace shop" in answer
    assert "homeostat auth grant delete pods -n shop --user reader" in answer
    assert "homeostat auth can-i delete pods -n shop --as reader" in answer
    for word in ("deployments", "deploy", "Deployment"):
        page = await site.open(f"/access?user=reader&verb=list&resource={word}&namespace=shop", Cookie=admin)
        assert page.document.one("section", id="answer").text.startswith("allowed reader may list"), word
    page = await site.open("/access?user=reader&verb=list&resource=deploymnets&namespace=shop", Cookie=admin)
    assert ("The server has no kind deploymnets" in page.text, "auth grant" in page.text) == (True, False)
    page = await site.open("/access?user=reader&resource=/metrics", Cookie=admin)
    assert "homeostat auth grant get /metrics --user reader" in page.text
    page = await site.open("/access?user=system:serviceaccount:ci:bot&verb=get&resource=nodes&name=a", Cookie=admin)
    assert "homeostat auth grant get nodes a -A --serviceaccount ci:bot" in page.text
    page = await site.open("/access?user=%3Cscript%3E&resource=pods", Cookie=admin)
    assert (page.status, "<script>" in page.source) == (200, False)
    await check_who(site, admin)
    assert "admin" in (await site.open("/access/users", Cookie=admin)).text
    page = await site.open("/access/tokens", Cookie=admin)
    assert "homeostat token revoke t1" in page.text
    assert "<script>" not in page.source
    refused = await site.open("/access", Cookie=reader)
    grant = "homeostat auth grant create subjectaccessreviews.authorization.k8s.io --user reader -A"
    assert (refused.status, grant in refused.text) == (403, True)
    for path in ("/operators", "/operators/trade", "/access", "/access/who", "/access/users", "/access/tokens"):
        assert (await site.open(path, Cookie=reader)).status == 403
    # What this visitor may not list is not said to be missing.
    assert "No resource was reconciled yet, or none that you are" in (await site.open("/runs", Cookie=reader)).text
    page = await site.open("", Cookie=reader)
    assert page.document.one("h1").text == "You see nothing that is declared"
    assert "not allowed to list their objects in all namespaces: Contracts, Images" in page.text
    assert "homeostat auth token" in (await site.open("/login")).text, "this server is beside a cluster"


async def check_who(site: Site, admin: str) -> None:
    assert "homeostat auth who-can" in (await site.open("/access/who", Cookie=admin)).text
    page = await site.open("/access/who?verb=list&resource=deploy&namespace=shop&q=reader", Cookie=admin)
    assert [each.text for each in page.document.all("th", scope="row")] == ["reader"]
    assert "homeostat auth who-can list deploy -n shop" in page.text
    for place in (
        "/dashboard/access?user=reader&amp;verb=list&amp;resource=deployments.apps&amp;namespace=shop",
        "/dashboard/objects/rbac.authorization.k8s.io/clusterrolebindings/-/reader",
        "/dashboard/objects/rbac.authorization.k8s.io/clusterroles/-/reader",
    ):
        assert f'href="{place}"' in page.source, place
    page = await site.open("/access/who?verb=impersonate&resource=users", Cookie=admin)
    assert "system:masters" in [each.text for each in page.document.all("th", scope="row")]
    page = await site.open("/access/who?resource=%3Cscript%3E", Cookie=admin)
    assert ("The server has no kind" in page.text, "<script>" in page.source) == (True, False)


async def test_a_restored_plane_says_on_all_pages_that_its_operators_are_paused(plane: Plane) -> None:
    async with (
        serve_rest(plane.client, plane.private, environment={}, is_open=True, are_effects_paused=True) as server,
        aiohttp.ClientSession() as session,
    ):
        site = Site(session, f"http://127.0.0.1:{server.port}")
        for path in ("", "/resources", "/objects/core/pods", "/none"):
            assert "homeostat up --resume-effects" in (await site.open(path)).document.one("div", class_="notice").text
