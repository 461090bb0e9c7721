"""Who may create resources does not get the operator's own permissions by writing what the operator relies on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from homeostat.cli.operators.deploy.reserved import reserved_documents
from homeostat.client.base import Client
from homeostat.objects.errors import ApiError, ForbiddenError
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import CONFIG_MAP, SECRET
from homeostat.operators.actions.api import COUNTERS, KINDS, RESOURCE_TYPE
from homeostat.operators.catalog import find_operator
from homeostat.plane import Plane, Settings, open_plane
from homeostat.runtime.installation import install
from homeostat.server.admission.reserved import Reservations
from homeostat.testing.eventually import eventually
from homeostat.web.kit.records import ids
from tests.cli.applying import apply
from tests.operators.actions.things import ShelfPlugin, Things, managed

pytestmark = pytest.mark.asyncio(loop_scope="module")
RBAC = "/apis/rbac.authorization.k8s.io/v1"
RUN = {
    "ticket": "mine",
    "purpose": "apply",
    "trigger": "initial",
    "digest": "0",
    "generation": 1,
    "began": "2026-01-01T00:00:00.000000Z",
}
STATUSES = {
    "a run in a repository of others": {"run": {**RUN, "handle": {"runId": 1, "repository": "acme/payroll"}}},
    "the object of somebody else": {"outputs": {"id": "theirs"}},
    "nothing to destroy": {"isDestroyed": True},
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def plane(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Plane]:
    settings = Settings(data=tmp_path_factory.mktemp("plane"), port=0, operators=frozenset({"housekeeping"}))
    async with open_plane(settings) as plane:
        await install(plane.client, KINDS)
        yield plane


@pytest.fixture(scope="module")
def admin(plane: Plane) -> Client:
    return plane.client


async def holder(admin: Client, account: str, role: str) -> Client:
    """A service account with a role in the namespace."""
    await admin.create("/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": account}})
    subject = {"kind": "ServiceAccount", "name": account, "namespace": "default"}
    ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role}
    bound = {"metadata": {"name": account}, "roleRef": ref, "subjects": [subject]}
    await admin.create(f"{RBAC}/namespaces/default/rolebindings", bound)
    path = f"/api/v1/namespaces/default/serviceaccounts/{account}/token"
    return admin.bearing((await admin.create(path, {"spec": {"expirationSeconds": 600}}))["status"]["token"])


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def editor(admin: Client) -> Client:
    """With what `edit` has here and in a cluster: everything on resources of types, and Secrets."""
    rules = [{"apiGroups": [group], "resources": ["*"], "verbs": ["*"]} for group in ("resources.homeostat.dev", "")]
    await admin.create(f"{RBAC}/clusterroles", {"metadata": {"name": "editing"}, "rules": rules})
    return await holder(admin, "editor", "editing")


@pytest.mark.parametrize("status", STATUSES.values(), ids=STATUSES.keys())
async def test_the_status_of_a_resource_is_its_operators(
    admin: Client, editor: Client, tmp_path: Path, status: JsonObject
) -> None:
    things = Things("shelf", {}, tmp_path, shelf=ShelfPlugin())
    async with managed(admin, things):
        name = "-".join(status).lower()
        await editor.create(things.path(), things.thing(name))
        kept = await eventually(lambda: admin.get(things.path(name)), lambda obj: obj["status"].get("outputs"))
        with pytest.raises(
            ForbiddenError, match=r'things/status.* "resourcetypes/status" in API group "homeostat.dev"'
        ):
            await editor.merge(f"{things.path(name)}/status", {"status": status})
        with pytest.raises(ForbiddenError):
            await editor.update(f"{things.path(name)}/status", {**kept, "status": status})
        # The declaration is the user's.
        await editor.merge(things.path(name), {"metadata": {"labels": {"mine": "yes"}}, "status": status})
        # The operator may write its own status meanwhile.
        found = (await admin.get(things.path(name)))["status"]
        assert not [each for each in status if found.get(each) == status[each]]


async def test_the_state_of_a_plugin_is_the_operators(admin: Client, editor: Client) -> None:
    path, state = SECRET.path("default"), {"metadata": {"name": "homeostat-state-1"}, "stringData": {"part": "mine"}}
    with pytest.raises(ForbiddenError, match='"homeostat-state-1" is forbidden: its operator writes it'):
        await editor.create(path, state)
    await admin.create(path, state)
    with pytest.raises(ForbiddenError):
        await editor.merge(f"{path}/homeostat-state-1", {"stringData": {"part": "other"}})
    await editor.create(path, {"metadata": {"name": "mine"}})
    # Whoever cleans up a namespace may.
    await editor.delete(f"{path}/homeostat-state-1")


async def test_who_may_do_everything_in_a_namespace_is_not_the_operator(admin: Client) -> None:
    owner = await holder(admin, "owner", "cluster-admin")
    with pytest.raises(ForbiddenError, match="its operator writes it"):
        await owner.create(SECRET.path("default"), {"metadata": {"name": "homeostat-state-3"}})


async def test_the_numbers_of_the_rest_api_are_not_set_back(admin: Client, editor: Client) -> None:
    # A number that is given twice is that of another user, whose token is still valid.
    assert COUNTERS == ids.COUNTERS
    path = CONFIG_MAP.path("default")
    await admin.create(path, {"metadata": {"name": COUNTERS}, "data": {"users": "7"}})
    with pytest.raises(ForbiddenError):
        await editor.merge(f"{path}/{COUNTERS}", {"data": {"users": "1"}})


async def test_an_operator_beside_the_plane_writes_what_is_reserved(admin: Client, tmp_path: Path) -> None:
    group = RESOURCE_TYPE.kind.group
    rules = [
        {"apiGroups": ["resources.homeostat.dev"], "resources": ["*"], "verbs": ["*"]},
        {"apiGroups": [group], "resources": ["resourcetypes/status"], "verbs": ["patch"]},
    ]
    await admin.create(f"{RBAC}/clusterroles", {"metadata": {"name": "operating"}, "rules": rules})
    account = await holder(admin, "operator", "operating")
    subject = {"kind": "ServiceAccount", "name": "operator", "namespace": "default"}
    ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "operating"}
    bound = {"metadata": {"name": "operator"}, "roleRef": ref, "subjects": [subject]}
    await admin.create(f"{RBAC}/clusterrolebindings", bound)
    things = Things("shelf", {}, tmp_path, shelf=ShelfPlugin())
    async with managed(admin, things):
        await admin.create(things.path(), things.thing("beside"))
        await eventually(lambda: admin.get(things.path("beside")), lambda obj: obj["status"].get("outputs"))
    written = await account.merge(f"{things.path('beside')}/status", {"status": {"message": "seen"}})
    assert written["status"]["message"] == "seen"


async def test_a_cluster_refuses_the_same_by_a_policy(
    plane: Plane, editor: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plane.admission, "reserved", Reservations())
    admin = plane.client
    await apply(admin, *reserved_documents({"actions": find_operator("actions").reserved}, labels={}))
    things = Things("shelf", {}, tmp_path, shelf=ShelfPlugin())

    async def refusal(path: str, body: JsonObject) -> str:
        try:
            await editor.merge(path, body)
        except ForbiddenError as error:
            return str(error)
        return ""

    async with managed(admin, things):
        await editor.create(things.path(), things.thing("cluster"))
        await eventually(lambda: admin.get(things.path("cluster")), lambda obj: obj["status"].get("outputs"))
        reason = await eventually(lambda: refusal(f"{things.path('cluster')}/status", {"status": {"message": "a"}}))
        assert "the operator writes it, and relies on it" in reason
        await editor.merge(things.path("cluster"), {"metadata": {"labels": {"mine": "yes"}}})
    state = {"metadata": {"name": "homeostat-state-2"}}
    with pytest.raises(ApiError, match="relies on it"):
        await editor.create(SECRET.path("default"), state)
    await admin.create(SECRET.path("default"), state)
    await editor.create(SECRET.path("default"), {"metadata": {"name": "free"}})


async def test_who_may_not_read_a_spec_reads_no_record_of_it() -> None:
    rules = find_operator("actions").user_rules
    viewed, edited = ({name for each in level for name in each["resources"]} for level in (rules.view, rules.edit))
    # Plans and logs repeat values of specs.
    assert not viewed & {"*", "reconciliations", "runoutputs"}
    assert edited >= {"*", "reconciliations", "runoutputs"}
