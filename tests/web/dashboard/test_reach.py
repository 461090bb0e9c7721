"""Visitors who may read some namespaces and not all: they see those, are offered them, and learn nothing of others."""

from __future__ import annotations

import json
import re
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from html import unescape
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
import pytest
from playwright.async_api import Page as Tab
from playwright.async_api import expect

from homeostat.client.base import Client
from homeostat.client.connect import open_client
from homeostat.client.endpoint.kubeconfig import load_endpoint
from homeostat.objects.crd.user_roles import user_roles
from homeostat.objects.json import Json, JsonObject
from homeostat.objects.kind import DEPLOYMENT, POD, SERVICE
from homeostat.objects.roles import rule
from homeostat.operators import contracts, images, policy, sync
from homeostat.operators.catalog import declared_sections, find_operator
from homeostat.operators.contracts.api import PACTO, PACTO_REVISION
from homeostat.operators.dashboard.access import READS
from homeostat.operators.images.api import IMAGE_UPDATE
from homeostat.operators.policy.api import CLUSTER_DEVOPS_POLICY, DEVOPS_POLICY
from homeostat.operators.sync.api.policy import REQUESTED, SYNC_POLICY
from homeostat.operators.sync.api.repository import RESOURCE_REPOSITORY
from homeostat.operators.sync.api.server import MANAGED_SERVER
from homeostat.plane import Plane, Settings, open_plane
from homeostat.runtime.installation import install
from homeostat.server.access.tokens.file import Tokens
from homeostat.testing.eventually import eventually
from homeostat.web.actions import serving
from homeostat.web.dashboard.section import open_sections
from homeostat.web.dashboard.workloads.section import workloads_section
from homeostat.web.identity.identity import open_identity
from tests.web.dashboard.declaring import SINCE, declare, ready
from tests.web.dashboard.site import Page, Site
from tests.web.faces import ADMIN, CHEAP
from tests.web.rest import serve_rest

NAMESPACES = ("shop", "pay", "treasury")
SECTIONS = ("Contracts", "Images", "Policies", "Sync", "Workloads")
_RBAC = "rbac.authorization.k8s.io"
_ROLES = f"/apis/{_RBAC}/v1"
_CLUSTER_GROUPS = ("apiextensions.k8s.io", "authentication.k8s.io", "authorization.k8s.io")
_OWN_RECORDS = [
    rule("", ["secrets", "configmaps"], ["get", "list", "watch", "create", "update"]),
    rule("homeostat.dev", ["*"], ["*"]),
]
_OLD, _NEW = "0" * 40, "1" * 40


def _word(namespace: str) -> str:
    """In the name of each object of the namespace, and in no other text."""
    return f"{namespace}zz"


@pytest.fixture
async def plane(data: Path) -> AsyncIterator[Plane]:
    """One that asks for credentials."""
    async with open_plane(Settings(data=data, port=0, operators=frozenset({"housekeeping", "actions"}))) as plane:
        yield plane


@pytest.fixture
async def filled(plane: Plane) -> Plane:
    """Objects of all sections in each namespace, and a policy of the cluster."""
    for module in (contracts, images, policy, sync):
        await install(plane.client, module.KINDS)
        for role in user_roles(module.__name__.rpartition(".")[2], find_operator(_name(module.__name__)).user_rules):
            await plane.client.create(f"{_ROLES}/clusterroles", role)
    cluster = CLUSTER_DEVOPS_POLICY.kind
    await declare(plane.client, cluster, "treasuryzz-all", namespace="", spec={"forbidLatestTag": True})
    for each in NAMESPACES:
        await plane.client.create("/api/v1/namespaces", {"metadata": {"name": each}})
        await _fill(plane.client, each)
    return plane


def _name(module: str) -> str:
    return module.rpartition(".")[2]


async def _fill(client: Client, namespace: str) -> None:
    word = _word(namespace)
    put = partial(declare, client, namespace=namespace)
    needs = [{"name": f"{other}zz", "ref": f"oci://example.org/{other}zz", "required": True} for other in NAMESPACES]
    identity = {"serviceName": word, "version": "1.0.0"}
    status: JsonObject = {"contractStatus": "NonCompliant", "contract": identity}
    status |= {"dependencies": needs if namespace == "treasury" else needs[:1]}
    spec: JsonObject = {"contractRef": {"inline": "x"}, "target": {"serviceName": word}}
    await put(PACTO.kind, word, spec=spec, status=status)
    labels = {"app": word}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "a", "image": f"acme/web:{_OLD}"}]}}
    tracked = {"enabled": "true", "manifest_repository": "git@example.org:one.git", "deployment_path": f"{word}.yaml"}
    tracked |= {"app_repository": "https://example.org/a.git", "image_name": "acme/web", "ssh_key_name": "key"}
    tracked["ssh_key_namespace"] = namespace
    metadata: JsonObject = {"annotations": {f"gitops.operator.{name}": value for name, value in tracked.items()}}
    spec = {"selector": {"matchLabels": labels}, "template": template}
    counts = dict.fromkeys(("replicas", "readyReplicas", "updatedReplicas", "availableReplicas"), 1)
    await put(DEPLOYMENT, word, metadata=metadata, spec=spec, status={"observedGeneration": 1, **counts})
    # One commit wrote the tags of all of them.
    history = [{"time": SINCE, "old": _OLD, "new": _NEW, "commit": "c" * 40}]
    await put(IMAGE_UPDATE.kind, word, spec={}, status={"tag": _NEW, "wanted": _NEW, "history": history})
    await put(POD, word, spec={"containers": [{"name": "a", "image": "acme/web:1"}]})
    await put(SERVICE, word, spec={"selector": labels, "ports": [{"port": 80}]})
    score = {"healthScore": 71, "violations": 2, "lastEvaluated": SINCE, "classification": "Stable"}
    await put(DEVOPS_POLICY.kind, word, spec={"forbidLatestTag": True}, status=score)
    git = {"type": "git", "pollInterval": "1m", "git": {"url": f"https://example.org/{word}.git"}}
    await put(RESOURCE_REPOSITORY.kind, word, spec=git)
    await put(MANAGED_SERVER.kind, word, spec={"http": {"baseURL": f"https://{word}.example.org"}})
    names = {"resourceRepositoryRef": "a", "managedServerRef": "a", "secretStoreRef": "a"}
    spec = {**{name: {"name": word} for name in names}, "source": {"path": f"/{word}"}}
    conditions: list[Json] = [ready("False", "ReconcileFailed", f"{word} was refused")]
    await put(SYNC_POLICY.kind, word, spec=spec, status={"conditions": conditions})
    about = {"apiVersion": PACTO.kind.api_version, "kind": "Pacto", "namespace": namespace, "name": word}
    event = {"metadata": {"name": word}, "involvedObject": about, "reason": "Seen", "message": f"of {word}"}
    await client.create(f"/api/v1/namespaces/{namespace}/events", {**event, "type": "Normal", "lastTimestamp": SINCE})


async def _visitor(plane: Plane, site: Site, name: str, places: Sequence[str], role: str = "view") -> str:
    """The cookie of a user who has a RoleBinding in each of these namespaces."""
    token = Tokens(plane.settings.data / "tokens.json").create(name, now=time.time(), groups=())
    subject = {"kind": "User", "apiGroup": _RBAC, "name": name}
    ref = {"apiGroup": _RBAC, "kind": "ClusterRole", "name": role}
    for each in places:
        body = {"metadata": {"name": name}, "roleRef": ref, "subjects": [subject]}
        await plane.client.create(f"{_ROLES}/namespaces/{each}/rolebindings", body)
    page = await eventually(lambda: site.send("/login", {"token": token}), lambda page: page.status == 303)
    return page.headers["Set-Cookie"].partition(";")[0]


def _links(page: Page) -> dict[str, str]:
    return {each.text: each.attributes["href"] for each in page.document.all("a") if "href" in each.attributes}


def _namespaces(page: Page) -> list[str]:
    (field,) = [each for each in page.document.all("select") if each.attributes.get("name") == "namespace"]
    return [each.text for each in page.document.all("option") if each.text in field.text and "zz" not in each.text]


async def _crawl(site: Site, cookie: str, start: str = "/dashboard") -> dict[str, Page]:
    """All pages that links of pages lead to, from Home on."""
    found: dict[str, Page] = {}
    left = [start]
    while left:
        path = left.pop()
        page = found[path] = await site.open(path.removeprefix("/dashboard"), Cookie=cookie)
        if page.status == 303:
            following = [page.headers["Location"]]
        else:
            following = [unescape(each) for each in _links(page).values()]
        for each in following:
            if urlsplit(each).path.startswith("/dashboard") and "static" not in each and each not in {*found, *left}:
                left.append(each)
        assert len(found) < 600
    return found


async def test_a_visitor_of_one_namespace_sees_all_sections_of_it_and_no_word_of_others(
    filled: Plane, guarded: Site
) -> None:
    anna = await _visitor(filled, guarded, "anna", ["shop"])
    home = await eventually(lambda: guarded.open(Cookie=anna), lambda page: "shop/shopzz" in page.text)
    assert set(SECTIONS) < set(_links(home))
    assert "3 objects of 5 are not as declared" in home.text
    assert "Only of the namespace shop, which you are allowed to read." in home.text
    assert "not allowed" not in home.text
    assert _namespaces(home) == ["all that you may read", "shop"]
    assert "of shopzz" in home.text, "the Events of that namespace"
    found = json.loads((await guarded.open("/find?q=zz", Cookie=anna)).source)["found"]
    assert {each["title"] for each in found} == {"shopzz"}
    assert "/dashboard/objects/core/pods/shop/shopzz" in {each["path"] for each in found}

    pages = await _crawl(guarded, anna)
    # The page Resources offers the namespace that has resources, and Home names what is not shown of it.
    mine = {path: page for path, page in pages.items() if not path.endswith("?namespace=default")}
    assert [path for path, page in mine.items() if page.status not in (200, 303)] == []
    for path, page in pages.items():
        # Her own contract names what it depends on, and the list of objects has the kinds that she may not list.
        assert [each for each in ("pay", "treasury") if each in page.source] == [], path
    seen = {urlsplit(path).path for path in pages}
    assert [each for each in await _local_pages(filled.client) if not any(map(each, seen))] == [], "all were looked at"


async def _local_pages(client: Client) -> list[Callable[[str], object]]:
    """What recognizes the path of each page that a visitor of one namespace may see."""
    sections = [*await open_sections(declared_sections(), client), workloads_section(client)]
    found: list[str] = []
    for each in sections:
        # A difference needs two revisions, and is about one Pacto.
        views = [path for path in each.views if "{namespace}" in path and not path.endswith("/diff")]
        found += [*each.local_lists, *(views if each.local_questions else ())]
    return [re.compile(re.sub(r"\{\w+\}", "[^/]+", each)).fullmatch for each in found]


async def test_what_is_in_other_namespaces_is_refused_whatever_the_address(filled: Plane, guarded: Site) -> None:
    anna = await _visitor(filled, guarded, "anna", ["shop"])
    await eventually(lambda: guarded.open(Cookie=anna), lambda page: "shop/shopzz" in page.text)
    for path in (
        "/contracts/treasury/treasuryzz",
        "/contracts/treasury/treasuryzz/diff",
        "/images/treasury/treasuryzz",
        "/policies/treasury/treasuryzz",
        "/cluster-policies/treasuryzz-all",
        "/sync/policies/treasury/treasuryzz",
        "/sync/repositories/treasury/treasuryzz",
        "/sync/servers/treasury/treasuryzz",
        *(f"{each}?namespace=treasury" for each in ("/contracts", "/images", "/policies", "/sync", "/workloads")),
        "/contracts/treasury/treasuryzz?namespace=shop",
        "/sync/repositories?namespace=treasury",
        "/contracts/graph?namespace=treasury",
    ):
        page = await guarded.open(path, Cookie=anna)
        assert page.status == 403, path
        assert "1.0.0" not in page.source, path
    page = await guarded.open("/contracts/treasury/treasuryzz", Cookie=anna)
    assert page.document.one("h1").text == "Not allowed"
    assert "You are not allowed to list pactos and list pactorevisions in the namespace treasury." in page.text
    assert "homeostat auth grant list pactos.pacto.trianalab.io --user anna -n treasury" in page.text
    assert _links(page)["Contracts that you are allowed to read"] == "/dashboard/contracts"
    for path in ("/contracts/graph?focus=treasuryzz", "/contracts/graph?focus=payzz"):
        assert (await guarded.open(path, Cookie=anna)).status == 404, path
    home = await guarded.open("?namespace=treasury", Cookie=anna)
    assert (home.status, "treasuryzz" in home.source) == (200, False)
    assert "You see nothing that is declared" in home.text
    proof = (await guarded.open(Cookie=anna)).document.all("input", name="proof")[0].attributes["value"]
    for path in ("/contracts/treasury/treasuryzz/reconcile", "/sync/policies/treasury/treasuryzz/sync"):
        assert (await guarded.send(path, {"proof": proof}, Cookie=anna)).status == 403, path


async def test_a_visitor_of_two_namespaces_sees_both_and_may_choose_one(filled: Plane, guarded: Site) -> None:
    ben = await _visitor(filled, guarded, "ben", ["shop", "pay"])
    home = await eventually(lambda: guarded.open(Cookie=ben), lambda page: "pay/payzz" in page.text)
    assert "6 objects of 10 are not as declared" in home.text
    assert "Only of the namespaces pay, shop, which you are allowed to read." in home.text
    assert _namespaces(home) == ["all that you may read", "pay", "shop"]
    both = await guarded.open("/contracts", Cookie=ben)
    assert [each.text for each in both.document.all("th", scope="row")] == ["payzzpay", "shopzzshop"]
    assert "Only of the namespaces pay, shop" in both.text
    one = await guarded.open("?namespace=pay", Cookie=ben)
    assert "3 objects of 5 are not as declared" in one.text
    assert ("pay/payzz" in one.text, "shop/shopzz" in one.text) == (True, False)
    assert _links(one)["Sync"] == "/dashboard/sync?namespace=pay"
    chosen = await guarded.open("/sync?namespace=pay", Cookie=ben)
    assert [each.text for each in chosen.document.all("th", scope="row")] == ["payzzpay"]
    graph = await guarded.open("/contracts/graph", Cookie=ben)
    assert ("payzz" in graph.text, "treasuryzz" in graph.text) == (True, False)


async def test_a_namespace_is_chosen_in_a_browser_and_stays(
    filled: Plane, guarded: Site, tab: Tab, troubles: list[str]
) -> None:
    name, _, value = (await _visitor(filled, guarded, "ben", ["shop", "pay"])).partition("=")
    await eventually(lambda: guarded.open(Cookie=f"{name}={value}"), lambda page: "pay/payzz" in page.text)
    await tab.context.add_cookies([{"name": name, "value": value, "url": f"{guarded.url}/dashboard"}])
    await tab.goto(f"{guarded.url}/dashboard")
    title = tab.get_by_role("heading", level=1)
    await expect(title).to_contain_text("6 objects of 10 are not as declared")
    await tab.get_by_label("Namespace").select_option("pay")
    await expect(title).to_contain_text("3 objects of 5 are not as declared")
    sections = tab.get_by_role("navigation", name="Sections")
    await sections.get_by_role("link", name="Contracts").click()
    await expect(tab.get_by_text("1 contract", exact=True)).to_be_visible()
    await tab.goto(f"{guarded.url}/dashboard/objects")
    await expect(tab).to_have_url(f"{guarded.url}/dashboard/objects?namespace=pay")
    await tab.get_by_label("Namespace").select_option("shop")
    here = "/dashboard/objects?namespace=shop"
    await expect(sections.get_by_role("link", name="Objects")).to_have_attribute("href", here)
    await tab.goto(f"{guarded.url}/dashboard/objects/core/pods")
    await expect(tab).to_have_url(f"{guarded.url}/dashboard/objects/core/pods?namespace=shop")
    await expect(tab.get_by_role("link", name="shopzz").first).to_be_visible()
    assert troubles == []


async def test_the_namespace_that_was_chosen_last_is_remembered_for_lists_of_objects(
    filled: Plane, guarded: Site
) -> None:
    ben = await _visitor(filled, guarded, "ben", ["shop", "pay"])
    index = await eventually(lambda: guarded.open("/objects", Cookie=ben), lambda page: "Choose a" in page.text)
    assert "Choose a namespace: pay, shop." in index.text
    assert _namespaces(index) == ["choose one", "pay", "shop"]
    assert "not allowed" not in index.text
    chosen = await guarded.open(_links(index)["pay"].removeprefix("/dashboard"), Cookie=ben)
    assert chosen.document.one("li", id="kind-pacto.pacto.trianalab.io").text.endswith("1")
    kept = chosen.headers["Set-Cookie"]
    assert kept.startswith("homeostat_namespace=pay; Path=/dashboard; Max-Age=")
    assert kept.endswith("; HttpOnly; SameSite=Strict")
    both = f"{ben}; {kept.partition(';')[0]}"
    for path in ("/objects", "/objects/apps/deployments"):
        again = await guarded.open(f"{path}?q=a", Cookie=both)
        assert (again.status, again.headers["Location"]) == (303, f"/dashboard{path}?q=a&namespace=pay")
    assert (await guarded.open("/objects?namespace=", Cookie=both)).status == 200, "who wants another one may choose it"
    for typed in ("treasury", "nowhere", "%22%3E"):
        mistaken = await guarded.open(f"/objects?namespace={typed}", Cookie=ben)
        assert (mistaken.status, "Set-Cookie" in mistaken.headers) == (200, False), typed
    hostile = f'{ben}; homeostat_namespace="><script>'
    assert "<script>" not in (await guarded.open("/objects", Cookie=hostile)).text


async def test_the_only_namespace_of_a_visitor_need_not_be_chosen(filled: Plane, guarded: Site) -> None:
    anna = await _visitor(filled, guarded, "anna", ["shop"])
    found = await eventually(lambda: guarded.open("/objects", Cookie=anna), lambda page: page.status == 303)
    assert found.headers["Location"] == "/dashboard/objects?namespace=shop"


async def test_who_may_change_one_namespace_has_its_buttons_and_no_others(filled: Plane, guarded: Site) -> None:
    eve = await _visitor(filled, guarded, "eve", ["shop"], role="edit")
    path = "/sync/policies/shop/shopzz"
    page = await eventually(lambda: guarded.open(path, Cookie=eve), lambda page: page.status == 200)
    proof = page.document.all("input", name="proof")[0].attributes["value"]
    assert "Sync now" in [each.text for each in page.document.all("button")]
    assert (await guarded.send(f"{path}/sync", {"proof": proof}, Cookie=eve)).status == 303
    synced = await filled.client.get(SYNC_POLICY.kind.path("shop", "shopzz"))
    assert REQUESTED in synced["metadata"]["annotations"]
    other = await guarded.send("/sync/policies/pay/payzz/sync", {"proof": proof}, Cookie=eve)
    assert other.status == 403


async def test_everything_that_somebody_may_read_is_not_everything(plane: Plane, guarded: Site) -> None:
    await install(plane.client, contracts.KINDS)
    await plane.client.create("/api/v1/namespaces", {"metadata": {"name": "shop"}})
    rules = [rule(PACTO.kind.group, [each.kind.plural for each in (PACTO, PACTO_REVISION)], ["get", "list"])]
    await plane.client.create(f"{_ROLES}/clusterroles", {"metadata": {"name": "reader"}, "rules": rules})
    for namespace, state in (("shop", "Compliant"), ("default", "NonCompliant")):
        spec = {"contractRef": {"inline": "x"}, "target": {"serviceName": "a"}}
        await declare(plane.client, PACTO.kind, "a", namespace=namespace, spec=spec, status={"contractStatus": state})
    anna = await _visitor(plane, guarded, "anna", ["shop"], role="reader")
    home = await eventually(lambda: guarded.open(Cookie=anna), lambda page: "is as declared" in page.text)
    assert "Everything that you may read is as declared: 1 object" in home.text
    assert "because you are not allowed to list their objects there: Images, Policies, Sync, Workloads." in home.text
    assert (await guarded.open("/sync", Cookie=anna)).status == 403


@asynccontextmanager
async def _beside(plane: Plane, rules: Sequence[JsonObject], namespace: str = "") -> AsyncIterator[Site]:
    """The dashboard with an account of its own, which is allowed this in the namespace, or in all."""
    token = Tokens(plane.settings.data / "tokens.json").create("dashboard", now=time.time(), groups=())
    of_cluster = [each for each in READS if each["apiGroups"][0] in _CLUSTER_GROUPS]
    subjects = [{"kind": "User", "apiGroup": _RBAC, "name": "dashboard"}]
    for name, allowed, place in (("cluster", [*of_cluster, *_OWN_RECORDS], ""), ("dashboard", rules, namespace)):
        await plane.client.create(f"{_ROLES}/clusterroles", {"metadata": {"name": name}, "rules": allowed})
        ref = {"apiGroup": _RBAC, "kind": "ClusterRole", "name": name}
        path = f"{_ROLES}/namespaces/{place}/rolebindings" if place else f"{_ROLES}/clusterrolebindings"
        await plane.client.create(path, {"metadata": {"name": name}, "roleRef": ref, "subjects": subjects})
    endpoint = load_endpoint([plane.settings.data / "kubeconfig"])
    async with (
        open_client(replace(endpoint, token=token, certificate=None, key=None)) as client,
        serve_rest(
            client,
            plane.private,
            environment=ADMIN,
            is_open=False,
            namespace=namespace or "default",
            within=namespace,
        ) as server,
        aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as session,
    ):
        yield Site(session, f"http://127.0.0.1:{server.port}")


@pytest.fixture
def cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "open_identity", partial(open_identity, cost=CHEAP))


async def test_a_dashboard_of_one_namespace_shows_it_to_its_visitors(filled: Plane, cheap: None) -> None:
    async with _beside(filled, READS, "shop") as site:
        anna = await _visitor(filled, site, "anna", ["shop", "pay"])
        home = await eventually(lambda: site.open(Cookie=anna), lambda page: "shop/shopzz" in page.text)
        assert "3 objects of 5 are not as declared" in home.text
        assert "Only of the namespace shop, which you are allowed to read." in home.text
        elsewhere = await site.open("?namespace=pay", Cookie=anna)
        assert (elsewhere.status, "payzz" in elsewhere.text) == (200, False)


async def test_where_bindings_cannot_be_read_a_namespace_is_entered_once(filled: Plane, cheap: None) -> None:
    async with _beside(filled, [each for each in READS if "rolebindings" not in each["resources"]]) as beside:
        anna = await _visitor(filled, beside, "anna", ["shop"])
        home = await beside.open(Cookie=anna)
        assert "You see nothing that is declared" in home.text
        assert "not allowed to list their objects in all namespaces" in home.text
        assert home.document.one("input", name="namespace").attributes["value"] == ""
        entered = await eventually(
            lambda: beside.open("?namespace=shop", Cookie=anna), lambda page: "shop/shopzz" in page.text
        )
        remembered = f"{anna}; {entered.headers['Set-Cookie'].partition(';')[0]}"
        again = await beside.open(Cookie=remembered)
        assert "shop/shopzz" in again.text
        assert "Only of the namespace shop" in again.text
