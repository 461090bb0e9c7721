"""Permissions: a visitor sees and does what the server allows, with the visitor's own credentials."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from homeostat.client.connect import open_client
from homeostat.client.endpoint.kubeconfig import load_endpoint
from homeostat.objects.errors import UnauthorizedError
from homeostat.objects.json import Json, JsonObject
from homeostat.objects.kind import POD
from homeostat.objects.roles import rule
from homeostat.plane import Plane, Settings, open_plane
from homeostat.server.access.tokens.file import Tokens
from homeostat.testing.eventually import eventually
from homeostat.web.dashboard.objects.access import may
from tests.web.dashboard.declaring import visitor
from tests.web.dashboard.objects.seed import DEPLOYMENTS, bind, seed
from tests.web.dashboard.site import Page, Site

_WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
RBAC = "rbac.authorization.k8s.io"
WEB = "/objects/apps/deployments/shop/web"


@pytest.fixture
async def plane(tmp_path: Path) -> AsyncIterator[Plane]:
    """One that asks for credentials."""
    (tmp_path / "plane").mkdir(mode=0o700)
    operators = frozenset({"housekeeping", "actions"})
    async with open_plane(Settings(data=tmp_path / "plane", port=0, operators=operators)) as plane:
        yield plane


async def test_visitors_see_and_do_what_the_server_allows_them(plane: Plane, guarded: Site) -> None:
    await seed(plane.client)
    await bind(plane.client, "viewer", "view")
    token = Tokens(plane.settings.data / "tokens.json").create("viewer", now=time.time(), groups=())
    signed_in = await eventually(lambda: guarded.send("/login", {"token": token}), lambda page: page.status == 303)
    cookie = signed_in.headers["Set-Cookie"].partition(";")[0]

    async def seen(path: str) -> Page:
        return await guarded.open(path, Cookie=cookie)

    page = await eventually(lambda: seen(WEB), lambda page: page.status == 200)
    assert "Edit" not in [each.text for each in page.document.all("a", class_="button")]
    assert page.document.all("a", class_="danger") == []
    assert "homeostat delete" not in page.text
    sent = {
        "proof": page.document.all("input", name="proof")[0].attributes["value"],
        "text": "x",
        "basis": "1",
        "step": "apply",
        "uid": "x",
    }
    for action in ("edit", "delete", "rollback"):
        assert (await seen(f"{WEB}/{action}")).status == 403, action
        assert (await guarded.send(f"{WEB}/{action}", sent, Cookie=cookie)).status == 403, action
    assert (await seen("/objects/create?group=core&plural=configmaps&namespace=shop")).status == 403
    listed = (await seen("/objects/core/configmaps?namespace=shop")).document
    assert (listed.all("a", class_="button"), listed.all("input", type="checkbox")) == ([], [])
    bulk = {**sent, "operation": "delete", "from": "shop", "object:shop/owned": "x"}
    assert (await guarded.send("/objects/core/configmaps/bulk", bulk, Cookie=cookie)).status == 403
    for step in ("preview", "apply"):
        text = "{apiVersion: v1, kind: ConfigMap, metadata: {name: mine, namespace: shop}}"
        form = await guarded.send("/objects/create", {**sent, "text": text, "step": step}, Cookie=cookie)
        assert 'cannot create resource "configmaps"' in form.document.one("p", role="alert").text
    assert (await guarded.open("/objects/create")).status == 303
    assert "secrets is forbidden" in (await seen("/objects/core/secrets")).text
    assert (await seen("/objects/core/secrets/shop/db")).status == 403
    index = (await seen("/objects")).document
    assert ("Secret" in index.one("details", id="not-allowed").text, index.all("li", id="kind-secret")) == (True, [])
    assert "Create object" not in [each.text for each in index.all("a", class_="button")]
    assert (await seen("/objects")).document.all("li", id="kind-configmap") != []
    found = json.loads((await seen("/find?q=web")).source)["found"]
    assert [each["path"] for each in found if each["title"] == "web"] == [f"/dashboard{WEB}"]
    assert all("/secrets/" not in each["path"] for each in json.loads((await seen("/find?q=db")).source)["found"])
    assert (await plane.client.get(f"{DEPLOYMENTS}/web"))["spec"]["replicas"] == 2

    patcher = await visitor(plane, guarded, "patcher", [rule("apps", ["deployments"], ["get", "list", "patch"])])
    refused = await guarded.open(f"{WEB}/rollback", Cookie=patcher)
    assert refused.status == 403
    assert 'Its revisions cannot be read: replicasets.apps is forbidden: User "patcher"' in refused.text

    admin = await guarded.send("/login", {"username": "admin", "password": "correct horse"})
    session = admin.headers["Set-Cookie"].partition(";")[0]
    bearer = await guarded.bearer("admin", "correct horse")
    await guarded.declare("/users", {"username": "clerk", "password": "a password"}, Authorization=bearer)
    login = await guarded.send("/login", {"username": "clerk", "password": "a password"})
    clerk = login.headers["Set-Cookie"].partition(";")[0]
    assert (await guarded.open("/objects", Cookie=clerk)).status == 403
    assert "Objects" not in (await guarded.open("", Cookie=clerk)).document.one("nav").text
    assert json.loads((await guarded.open("/find?q=web", Cookie=clerk)).source) == {"found": []}
    assert (await guarded.open("/objects", Cookie=session)).status == 200
    assert (await guarded.open("/find?q=web")).status == 401


async def test_a_visitor_of_one_namespace_is_led_to_it_and_sees_it_alone(plane: Plane, guarded: Site) -> None:
    await seed(plane.client)
    cookie = await visitor(plane, guarded, "vera", [])
    role: JsonObject = {"apiGroup": RBAC, "kind": "ClusterRole", "name": "edit"}
    subjects: list[Json] = [{"kind": "User", "apiGroup": RBAC, "name": "vera"}]
    binding = {"apiVersion": f"{RBAC}/v1", "kind": "RoleBinding", "metadata": {"name": "vera"}}
    bindings = f"/apis/{RBAC}/v1/namespaces/shop/rolebindings"
    await plane.client.create(bindings, {**binding, "roleRef": role, "subjects": subjects})
    assert "Only of the namespace shop, which you are allowed to read." in (await guarded.open(Cookie=cookie)).text
    where = "What you are allowed to see in one namespace is on the page Objects."
    assert where in (await guarded.open("/contracts", Cookie=cookie)).text, "its kinds are not installed"
    assert (await guarded.open("/objects", Cookie=cookie)).headers["Location"] == "/dashboard/objects?namespace=shop"
    index = await guarded.open("/objects?namespace=", Cookie=cookie)
    assert "Choose a namespace: shop." in index.text
    assert index.document.all("section", class_="group") == []
    buttons = [each.text for each in index.document.all("a", class_="button")]
    assert buttons == [], "who may create nothing in all namespaces has no button"
    listed = await guarded.open("/objects/apps/deployments?namespace=", Cookie=cookie)
    assert "If you are allowed to list them in one namespace, enter it above." in listed.text
    shop = await guarded.open("/objects?namespace=shop", Cookie=cookie)
    assert [each.text for each in shop.document.all("a", class_="button")] == ["Create object"]
    assert shop.document.all("li", id="kind-deployment.apps") != []
    listed = await guarded.open("/objects/apps/deployments?namespace=shop", Cookie=cookie)
    assert (listed.document.all("p", role="alert"), len(listed.document.all("input", form="bulk")) > 0) == ([], True)
    assert (await guarded.open("/objects/core/configmaps?namespace=default", Cookie=cookie)).document.one(
        "p", role="alert"
    )


async def test_beside_a_cluster_too_the_visitors_token_replaces_the_servers_certificate(plane: Plane) -> None:
    await bind(plane.client, "viewer", "view")
    token = Tokens(plane.settings.data / "tokens.json").create("viewer", now=time.time(), groups=())
    async with open_client(load_endpoint([plane.settings.data / "kubeconfig"])) as own:
        for _ in range(2):
            assert await may(own, "delete", POD, "default")
            visitor = own.bearing(token)
            answer = await visitor.create(_WHO, {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"})
            assert answer["status"]["userInfo"]["username"] == "viewer"
            assert await may(visitor, "list", POD, "default")
            assert not await may(visitor, "delete", POD, "default")
        with pytest.raises(UnauthorizedError):
            await own.bearing("nobody's").get("/api/v1/namespaces")
