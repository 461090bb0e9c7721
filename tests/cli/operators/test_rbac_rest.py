"""`homeostat rbac --faces` grants exactly what the REST API needs, on a plane and on a real cluster."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from uuid import uuid4

import aiohttp
import pytest

from homeostat.cli.operators.deploy.access import access_documents, face_documents, wide_resources_of_faces
from homeostat.edge.server import serve
from homeostat.objects.crd.custom_kind import CustomKind
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import DEPLOYMENT
from homeostat.objects.roles import service_account
from homeostat.operators import actions
from homeostat.operators.actions.api import RESOURCE_TYPE
from homeostat.operators.actions.plugins.catalog import ACTIONS
from homeostat.operators.actions.types.naming import kind_name, plural_of
from homeostat.operators.catalog import declared_sections
from homeostat.operators.contracts.api import KINDS as CONTRACT_KINDS
from homeostat.operators.dashboard import DASHBOARD
from homeostat.operators.dashboard.access import RULES as DASHBOARD_RULES
from homeostat.operators.images.api import KINDS as IMAGE_KINDS
from homeostat.operators.policy.api import KINDS as POLICY_KINDS
from homeostat.operators.sync.api.kinds import KINDS as SYNC_KINDS
from homeostat.runtime.faces.face import Figures, Surroundings
from homeostat.runtime.faces.private import NamespaceSecrets
from homeostat.runtime.installation import install
from homeostat.runtime.manager import Manager
from homeostat.testing.eventually import eventually
from homeostat.web.actions import serving
from homeostat.web.actions.access import KINDS as FACE_KINDS
from homeostat.web.actions.access import RULES
from homeostat.web.actions.webhooks.api import REST_WEBHOOK
from homeostat.web.dashboard.serving import open_app
from homeostat.web.identity.api import REST_ROLE, REST_USER
from homeostat.web.identity.identity import open_identity
from tests.cli.applying import apply
from tests.cli.operators.test_rbac import is_undefined
from tests.cli.permissions import Noting, Used, acting_as, granted_by
from tests.cli.running import Cli
from tests.cluster.fixtures import Api
from tests.web.actions.shelf import ShelfPlugin, World
from tests.web.faces import ADMIN, CHEAP, Answered, Caller
from tests.web.rest import serve_rest

ACCOUNT = "homeostat"
UNUSED = {
    # A policy that keeps results shows the newest.
    ("policyauditresults", "get"),
    # Of visitors of the dashboard who may read some namespaces: tests/web/dashboard/test_reach.py.
    ("rolebindings", "watch"),
    # No Rollouts are served.
    ("rollouts", "watch"),
    # Buttons, which ask for the session of a browser, and its end.
    ("imageupdates", "create"),
    ("imageupdates", "patch"),
    ("pactos", "patch"),
    ("secrets", "update"),
    ("syncpolicies", "patch"),
}
"""Granted, and not used here."""


@pytest.fixture
def shelf(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ACTIONS, "shelf", "tests.web.actions.shelf:ShelfPlugin")
    monkeypatch.setattr(ShelfPlugin, "world", World())
    monkeypatch.setattr(serving, "open_identity", partial(open_identity, cost=CHEAP))


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


async def done(told: Answered) -> JsonObject:
    assert told.status < 300, told
    return told.body or {}


async def declare_and_withdraw(admin: Caller, name: str) -> None:
    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    wanted = {"name": name, "version": "v1", "schema": schema, "action_plugin": "shelf"}
    kind = await done(await admin.post("/resource-types", wanted))
    body = {"name": "one", "resource_type_name": name, "resource_type_version": "v1", "spec": {"text": "a"}}
    made = await eventually(lambda: admin.post("/resources", body), lambda told: told.status == 201, within_s=30)
    path = f"/resources/{made.body['id']}"
    await done(await admin.put(f"/resource-types/{kind['id']}", {"description": "told"}))
    await eventually(lambda: admin.get(path), lambda told: told.body["status"] == "ready", within_s=30)
    await done(await admin.put(path, {"spec": {"text": "b"}}))
    await done(await admin.post(f"{path}/reconcile"))
    await done(await admin.put(f"{path}/finalizers", {"add": ["example.com/a"], "remove": ["example.com/a"]}))
    for each in ("", path, f"{path}/history", f"{path}/logs", f"{path}/outputs"):
        await done(await admin.get(each or "/resources"))
    await done(await admin.delete(path))
    await eventually(lambda: admin.get(path), lambda told: told.status == 404, within_s=30)
    await done(await admin.get(f"{path}/history"))
    await done(await admin.delete(f"/resource-types/{kind['id']}"))


async def keep_people(admin: Caller, nobody: Caller) -> None:
    role = await done(await admin.post("/custom-roles", {"name": "readers", "permissions": [{"operations": ["READ"]}]}))
    given = {"username": "alice", "password": "correct horse", "custom_role_id": role["id"]}
    user = await done(await admin.post("/users", given))
    await nobody.login("alice", "correct horse")
    await done(await admin.put(f"/users/{user['id']}", {"email": "a@example.com", "custom_role_id": None}))
    await done(await admin.put(f"/users/{user['id']}", {"password": "correct horses"}))
    await done(await admin.put(f"/custom-roles/{role['id']}", {"description": "they read"}))
    await done(await admin.delete(f"/custom-roles/{role['id']}"))
    await done(await admin.delete(f"/users/{user['id']}"))
    hook: JsonObject = {"name": "h", "webhook_url": "https://hooks.example.com", "webhook_type": "validating"}
    hook |= {"operations": ["CREATE"], "failure_policy": "Ignore"}
    number = (await done(await admin.post("/admission-webhooks", hook)))["id"]
    await done(await admin.put(f"/admission-webhooks/{number}", {"ordering": 5}))
    await done(await admin.delete(f"/admission-webhooks/{number}"))


async def test_the_rest_api_does_all_it_can_with_its_rules_and_needs_each(
    api: Api, shelf: None, session: aiohttp.ClientSession, tmp_path: Path
) -> None:
    used: Used = set()
    refused: list[str] = []
    of_sections = (*POLICY_KINDS, *CONTRACT_KINDS, *IMAGE_KINDS, *SYNC_KINDS)
    await install(api.client, (*actions.KINDS, *FACE_KINDS, *of_sections))
    space = api.namespace
    documents = access_documents({}, namespace=space, account=ACCOUNT, has_election=False)
    await apply(api.client, *documents, *face_documents(actions.FACES, served=space, namespace=space, account=ACCOUNT))
    manager = Manager(api.client, namespace=space, directory=tmp_path, environment={})
    manager.add("actions", actions.register)
    async with manager.running(), acting_as(api, space, ACCOUNT) as client:
        own = client.over(lambda transport: Noting(transport, used, refused))
        private = NamespaceSecrets(own, space)
        async with serve_rest(
            own,
            private,
            namespace=space,
            environment=ADMIN,
            is_open=False,
            leases=space,
            identity=lambda: manager.identity,
        ) as server:
            nobody = Caller(f"http://127.0.0.1:{server.port}", session)
            admin = await eventually(lambda: nobody.login("admin", "correct horse"))
            await keep_people(admin, nobody)
            await declare_and_withdraw(admin, f"Rest{uuid4().hex[:8]}")
            await declare_otherwise(api, admin)
            await done(await admin.get("/cluster/nodes"))
            await look_at_pages(session, admin, space)
            await look_at_image(api, session, admin)
            await check_token_of_the_server(api, nobody)
    assert sorted(set(refused)) == []
    granted = granted_by([*RULES.cluster, *DASHBOARD_RULES.cluster, *RULES.namespace, *RULES.leases])
    known = {name for name, _ in granted}
    seen = {(name if name in known else "*", verb) for name, verb in used}
    assert {each for each in granted - seen if each[1] != "list"} == UNUSED


async def declare_otherwise(api: Api, admin: Caller) -> None:
    """What has no number is given one."""
    uses: list[tuple[CustomKind, str, JsonObject]] = [
        (REST_USER, "/users", {}),
        (REST_ROLE, "/custom-roles", {"name": "other"}),
        (REST_WEBHOOK, "/admission-webhooks", {"name": "o", "url": "https://hooks.example.com", "type": "mutating"}),
        (RESOURCE_TYPE, "/resource-types", {"name": f"Other{uuid4().hex[:8]}"}),
    ]
    for kind, path, spec in uses:
        body = {"apiVersion": kind.kind.api_version, "kind": kind.kind.kind, "metadata": {"name": api.namespace}}
        where = kind.kind.path(api.namespace if kind.kind.is_namespaced else "")
        before = len((await admin.get(path)).body)
        await api.client.create(where, {**body, "spec": spec})
        await eventually(partial(admin.get, path), partial(_has_more, before))
    name = kind_name(str(uses[-1][2]["name"]))
    await api.client.delete(RESOURCE_TYPE.kind.path("", api.namespace))
    await is_undefined(api.client, plural_of(name))


def _has_more(before: int, told: Answered) -> bool:
    return len(told.body) > before


async def look_at_pages(session: aiohttp.ClientSession, admin: Caller, namespace: str) -> None:
    """Of other operators."""
    headers = {"Authorization": f"Bearer {admin.token}"}
    pages = (
        "policies",
        f"policies/{namespace}/none",
        "cluster-policies/none",
        "contracts",
        f"contracts/{namespace}/none",
        "contracts/graph",
        "",
        "inputs",
        "inputs/none",
        "runs",
        "images",
        f"images/{namespace}/none",
        "sync",
        f"sync/policies/{namespace}/none",
        "sync/repositories",
        "sync/servers",
    )
    for each in pages:
        async with session.get(f"{admin.url}/dashboard/{each}", headers=headers) as found:
            assert found.status in (200, 404), (each, found.status)


async def look_at_image(api: Api, session: aiohttp.ClientSession, admin: Caller) -> None:
    """Of a workload whose Pods the page counts: here there are none."""
    names = (
        *("enabled", "app_repository", "manifest_repository", "image_name", "deployment_path"),
        *("ssh_key_name", "ssh_key_namespace"),
    )
    labels = {"app": "web"}
    body = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "annotations": {f"gitops.operator.{each}": "acme/web" for each in names}},
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "web", "image": "acme/web:1"}]},
            },
        },
    }
    await api.client.create(DEPLOYMENT.path(api.namespace), body)
    url, headers = f"{admin.url}/dashboard/images/{api.namespace}/web", {"Authorization": f"Bearer {admin.token}"}

    async def page() -> str:
        async with session.get(url, headers=headers) as found:
            return await found.text()

    assert "no Pods" in await eventually(page, lambda text: "Pods run" in text)


async def check_token_of_the_server(api: Api, nobody: Caller) -> None:
    path = f"/api/v1/namespaces/{api.namespace}/serviceaccounts/{ACCOUNT}/token"
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 600}}
    known = nobody.with_token((await api.client.create(path, body))["status"]["token"])
    await done(await known.get("/plugins/actions"))


def test_the_rest_api_has_a_role_of_the_cluster_and_one_of_the_namespace_that_it_serves(cli: Cli) -> None:
    printed = cli.here("rbac", "--operators", "actions", "-n", "ops", "--faces", "shop", "-o", "json").json["items"]
    granted = [each for each in printed if "AdmissionPolicy" not in each["kind"]][4:-1]
    titles = [(each["kind"], each["metadata"]["name"], each["metadata"].get("namespace")) for each in granted]
    assert titles == [
        ("ClusterRole", "homeostat-rest", None),
        ("ClusterRoleBinding", "ops:homeostat:rest", None),
        ("Role", "homeostat-rest", "shop"),
        ("RoleBinding", "ops:homeostat:rest", "shop"),
        ("Role", "homeostat-rest-leases", "ops"),
        ("RoleBinding", "homeostat-rest-leases", "ops"),
    ]
    assert {each["subjects"][0]["namespace"] for each in printed if "subjects" in each} == {"ops"}


def test_only_the_faces_of_the_named_operators_get_permissions(cli: Cli) -> None:
    ended = cli.here("rbac", "--operators", "policy", "--faces", "shop", "--no-dashboard")
    assert (ended.code, ended.out) == (2, "")
    assert "there are none of policy" in ended.err


def test_the_dashboard_of_operators_without_the_rest_api_gets_permissions_to_read(cli: Cli) -> None:
    printed = cli.here("rbac", "--operators", "policy", "-n", "ops", "--faces", "shop", "-o", "json").json["items"]
    (role,) = (
        each for each in printed if each["metadata"]["name"] == "homeostat-rest" and each["kind"] == "ClusterRole"
    )
    changed = {(name, verb) for name, verb in granted_by(role["rules"]) if verb not in ("get", "list", "watch")}
    assert changed == {
        ("tokenreviews", "create"),
        ("subjectaccessreviews", "create"),
        *changed_by_sections(),
    }


def test_without_the_dashboard_the_rest_api_gets_no_permissions_for_it(cli: Cli) -> None:
    def read(*options: str) -> Used:
        words = ("rbac", "--operators", "actions", "-n", "ops", "--faces", "shop", *options, "-o", "json")
        return granted_by([rule for each in cli.here(*words).json["items"] for rule in each.get("rules", ())])

    assert ("pactos", "list") in read()
    assert ("events", "watch") in read()
    assert {("pactos", "list"), ("events", "watch"), ("pods", "list")}.isdisjoint(read("--no-dashboard"))


def changed_by_sections() -> Used:
    """Their buttons are pressed with the visitor's own token, or by who signed in without one."""
    rules = [rule for section in declared_sections() for rule in section.rules]
    return {(name, verb) for name, verb in granted_by(rules) if verb not in ("get", "list", "watch")}


async def test_the_dashboard_alone_shows_all_pages_with_its_rules(api: Api, session: aiohttp.ClientSession) -> None:
    refused: list[str] = []
    await install(api.client, (*actions.KINDS, *POLICY_KINDS, *CONTRACT_KINDS, *SYNC_KINDS, *IMAGE_KINDS))
    space = api.namespace
    documents = access_documents({}, namespace=space, account=ACCOUNT, has_election=False)
    await apply(api.client, *documents, *face_documents([DASHBOARD], served=space, namespace=space, account=ACCOUNT))
    async with acting_as(api, space, ACCOUNT) as client:
        own = client.over(lambda transport: Noting(transport, set(), refused))
        surroundings = Surroundings(
            client=own,
            private=NamespaceSecrets(own, space),
            namespace=space,
            environment={},
            is_open=False,
            figures=Figures(lambda _: None),
            identity=str,
            leases=space,
            sections=declared_sections,
        )
        async with open_app(surroundings) as app:
            server = await serve(app)
            try:
                visitor = Caller(f"http://127.0.0.1:{server.port}", session, token=await visitor_token(api))
                await look_at_pages(session, visitor, space)
                await look_at_image(api, session, visitor)
            finally:
                await server.stop(grace_s=3.0)
    assert sorted(set(refused)) == []


async def visitor_token(api: Api) -> str:
    """Of an account that may read everything."""
    name = f"visitor-{api.namespace}"
    account = service_account({"name": name, "namespace": api.namespace})
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": api.namespace}],
    }
    await apply(api.client, account, binding)
    path = f"/api/v1/namespaces/{api.namespace}/serviceaccounts/{name}/token"
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 600}}
    return str((await api.client.create(path, body))["status"]["token"])


async def test_within_a_namespace_the_dashboard_reads_no_other(
    api: Api, session: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "open_identity", partial(open_identity, cost=CHEAP))
    refused: list[str] = []
    kinds = (*actions.KINDS, *FACE_KINDS, *POLICY_KINDS, *CONTRACT_KINDS, *SYNC_KINDS, *IMAGE_KINDS)
    await install(api.client, kinds)
    space = api.namespace
    documents = access_documents({}, namespace=space, account=ACCOUNT, has_election=False)
    wide = wide_resources_of_faces([actions])
    documents += face_documents(actions.FACES, served=space, namespace=space, account=ACCOUNT, wide=wide)
    await apply(api.client, *documents)
    async with acting_as(api, space, ACCOUNT) as client:
        own = client.over(lambda transport: Noting(transport, set(), refused))
        private = NamespaceSecrets(own, space)
        async with serve_rest(
            own, private, namespace=space, environment=ADMIN, is_open=False, leases=space, within=space
        ) as server:
            nobody = Caller(f"http://127.0.0.1:{server.port}", session)
            admin = await eventually(lambda: nobody.login("admin", "correct horse"))
            await look_at_pages(session, admin, space)
            await look_at_image(api, session, admin)
    assert sorted(set(refused)) == []
