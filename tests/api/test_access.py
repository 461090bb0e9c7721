"""Who may do what, through the server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from homeostat.operators.catalog import find_operator
from homeostat.plane import Settings, open_plane
from homeostat.plane.admission import reserve_writes
from homeostat.server.access.rbac import authorizer
from homeostat.server.access.rbac.authorizer import Rbac
from homeostat.server.access.user import NOBODY, User
from homeostat.server.admission import chain
from homeostat.store.base import StoreError
from tests.api.conftest import APPLY, Answer, Api, noting_threads
from tests.api.objects import CONFIGMAPS, configmap

RBAC = "/apis/rbac.authorization.k8s.io/v1"
ALICE = User("alice", groups=("system:authenticated",))


def role(*verbs: str, name: str = "reader", resources: list[str] | None = None) -> dict[str, Any]:
    rules = [{"apiGroups": [""], "resources": resources or ["configmaps"], "verbs": list(verbs)}]
    return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": name}, "rules": rules}


def binding(user: str = "alice", name: str = "reader") -> dict[str, Any]:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
        "subjects": [{"kind": "User", "name": user}],
    }


async def grant(api: Api, *verbs: str, resources: list[str] | None = None) -> None:
    created = await api("POST", f"{RBAC}/namespaces/default/roles", role(*verbs, resources=resources))
    assert created.status == 201
    assert (await api("POST", f"{RBAC}/namespaces/default/rolebindings", binding())).status == 201


async def test_a_user_without_permissions_is_forbidden(api: Api) -> None:
    answer = await api("GET", f"{CONFIGMAPS}/a", user=NOBODY)
    assert (answer.status, answer.reason) == (403, "Forbidden")
    assert answer.json["message"] == (
        'configmaps "a" is forbidden: User "system:anonymous" cannot get resource "configmaps" in API group "" '
        'in the namespace "default"'
    )


async def test_a_grant_works_from_the_next_call_on(api: Api) -> None:
    assert (await api("GET", CONFIGMAPS, user=ALICE)).status == 403
    await grant(api, "list")
    assert (await api("GET", CONFIGMAPS, user=ALICE)).status == 200
    assert (await api("GET", CONFIGMAPS, user=ALICE, watch="true")).status == 403
    assert (await api("POST", CONFIGMAPS, configmap(), user=ALICE)).status == 403
    await api("DELETE", f"{RBAC}/namespaces/default/rolebindings/reader")
    assert (await api("GET", CONFIGMAPS, user=ALICE)).status == 403


async def test_a_role_for_one_name_lets_that_name_be_watched(api: Api) -> None:
    await grant(api, "list", "get")
    limited = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"], "resourceNames": ["a"]}]
    path = f"{RBAC}/namespaces/default/roles/reader"
    await api("PATCH", path, {"rules": limited}, type="application/merge-patch+json")
    assert (await api("GET", CONFIGMAPS, user=ALICE, fieldSelector="metadata.name=a")).status == 200
    assert (await api("GET", CONFIGMAPS, user=ALICE, fieldSelector="metadata.name=b")).status == 403
    assert (await api("GET", CONFIGMAPS, user=ALICE)).status == 403


async def test_who_has_very_many_rules_is_decided_on_in_a_thread(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    await grant(api, "get")
    await api("GET", f"{CONFIGMAPS}/a", user=ALICE)
    decided = noting_threads(monkeypatch, authorizer, "_judged")
    monkeypatch.setattr(authorizer, "QUICK_SIZE", 2)
    assert (await api("GET", f"{CONFIGMAPS}/a", user=ALICE)).status == 404
    assert decided == set(), "the decision on the same call is kept"
    assert (await api("GET", "/api/v1/namespaces/default/secrets/a", user=ALICE)).status == 403
    assert decided == {False}


async def test_an_impersonation_is_decided_on_in_a_thread_even_if_nothing_is_kept(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = [{"apiGroups": [""], "resources": ["users", "groups"], "verbs": ["impersonate"]}]
    await api("POST", f"{RBAC}/clusterroles", {"metadata": {"name": "acts"}, "rules": rules})
    ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "acts"}
    bound = {"metadata": {"name": "acts"}, "roleRef": ref, "subjects": [{"kind": "User", "name": "alice"}]}
    await api("POST", f"{RBAC}/clusterrolebindings", bound)
    decided = noting_threads(monkeypatch, authorizer, "_judged")
    monkeypatch.setattr(authorizer, "QUICK_SIZE", 0)
    monkeypatch.setattr(authorizer, "_MAX_VERDICTS", 1)
    headers = {"impersonate-user": "bob", "impersonate-group": "devs"}
    assert (await api("GET", f"{CONFIGMAPS}/a", user=ALICE, headers=headers)).status == 403
    assert decided == {False}, "a role or binding that changes meanwhile has the same effect"


async def test_what_else_a_write_needs_is_decided_on_in_a_thread(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    await grant(api, "update", "create", resources=["endpoints", "secrets"])
    admission = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolic"
    rules = [{"apiGroups": ["admissionregistration.k8s.io"], "resources": ["*"], "verbs": ["create"]}]
    await api("POST", f"{RBAC}/clusterroles", {"metadata": {"name": "admits"}, "rules": rules})
    ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "admits"}
    bound = {"metadata": {"name": "admits"}, "roleRef": ref, "subjects": [{"kind": "User", "name": "alice"}]}
    await api("POST", f"{RBAC}/clusterrolebindings", bound)
    reserve_writes(api.plane.admission.reserved, find_operator("actions"))
    matched = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}]
    policy = {
        "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
        "matchConstraints": {"resourceRules": matched},
        "validations": [{"expression": "true"}],
    }
    params = {"name": "a", "namespace": "default", "parameterNotFoundAction": "Allow"}
    uses = {"policyName": "a", "validationActions": ["Deny"], "paramRef": params}
    decided = noting_threads(monkeypatch, authorizer, "_judged")
    monkeypatch.setattr(authorizer, "QUICK_SIZE", 2)
    core, state = "/api/v1/namespaces/default", {"metadata": {"name": "homeostat-state-1"}}
    for method, path, body, status in (
        ("PUT", f"{core}/endpoints/a", {"metadata": {"name": "a"}}, 201),
        ("POST", f"{core}/secrets", state, 403),
        ("POST", f"{admission}ies", {"metadata": {"name": "a"}, "spec": policy}, 422),
        ("POST", f"{admission}ybindings", {"metadata": {"name": "a"}, "spec": uses}, 422),
    ):
        decided.clear()
        answer = await api(method, path, body, user=ALICE)
        assert (answer.status, decided) == (status, {False}), answer.json


async def test_many_permissions_are_granted_in_a_thread(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    rules = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]
    await api("POST", f"{RBAC}/namespaces/default/roles", {**role("get"), "rules": rules})
    await api("POST", f"{RBAC}/namespaces/default/rolebindings", binding())
    checked = noting_threads(monkeypatch, chain, "check_grant")
    for name, number, expected in (("few", 1, {True}), ("many", 200, {True, False})):
        large = {**role("get", name=name), "rules": role("get")["rules"] * number}
        assert (await api("POST", f"{RBAC}/namespaces/default/roles", large, user=ALICE)).status == 201
        assert checked == expected
    checked.clear()
    monkeypatch.setattr(authorizer, "QUICK_SIZE", 2)
    assert (
        await api("POST", f"{RBAC}/namespaces/default/rolebindings", binding(name="many"), user=ALICE)
    ).status == 201
    assert checked == {False}


async def test_nobody_grants_what_they_do_not_hold(api: Api) -> None:
    await grant(api, "create", "get", resources=["configmaps"])
    more = [{"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles"], "verbs": ["create"]}]
    await api(
        "PATCH",
        f"{RBAC}/namespaces/default/roles/reader",
        {"rules": more + role("get")["rules"]},
        type="application/merge-patch+json",
    )
    held = await api("POST", f"{RBAC}/namespaces/default/roles", role("get", name="same"), user=ALICE)
    assert held.status == 201
    refused = await api("POST", f"{RBAC}/namespaces/default/roles", role("delete", name="more"), user=ALICE)
    assert (refused.status, "not currently held" in refused.json["message"]) == (403, True)


async def test_reviews_answer_for_the_caller_and_for_others(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    await grant(api, "get")
    asked = {"resourceAttributes": {"verb": "get", "resource": "configmaps", "namespace": "default"}}
    path = "/apis/authorization.k8s.io/v1"
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": asked}
    own = await api("POST", f"{path}/selfsubjectaccessreviews", review, user=ALICE)
    assert (own.status, own.json["status"]["allowed"]) == (201, True)
    review = {**review, "kind": "SubjectAccessReview", "spec": {**asked, "user": "bob"}}
    other = await api("POST", f"{path}/subjectaccessreviews", review)
    assert other.json["status"]["allowed"] is False
    rules = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectRulesReview",
        "spec": {"namespace": "default"},
    }
    threads = noting_threads(monkeypatch, Rbac, "grants")
    listed = await api("POST", f"{path}/selfsubjectrulesreviews", rules, user=ALICE)
    assert {"verbs": ["get"], "apiGroups": [""], "resources": ["configmaps"]} in listed.json["status"]["resourceRules"]
    assert threads == {False}, "there may be very many rules"


async def test_impersonation_needs_the_permission_and_then_is_complete(api: Api) -> None:
    headers = {"impersonate-user": "alice"}
    path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    assert (await api("POST", path, review, user=ALICE, headers={"impersonate-user": "root"})).status == 403
    me = await api("POST", path, review, headers=headers)
    assert me.json["status"]["userInfo"]["username"] == "alice"
    assert (await api("GET", CONFIGMAPS, headers={**headers})).status == 403


@pytest.mark.parametrize("authorization", ["Bearer nonsense", "Bearer hst-aaaa-bbbb", "Bearer a.b.c"])
async def test_a_wrong_credential_is_refused_not_ignored(api: Api, authorization: str) -> None:
    answer = await api("GET", "/version", user=None, headers={"authorization": authorization})
    assert (answer.status, answer.reason) == (401, "Unauthorized")


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/healthz", "/version", "/version/"])
async def test_health_and_version_are_public(api: Api, path: str) -> None:
    assert (await api("GET", path, user=NOBODY)).status == 200


async def test_anonymous_users_do_not_see_which_operators_run(api: Api) -> None:
    told, public = [(await api("GET", "/version", user=user)).json for user in (ALICE, NOBODY)]
    assert "operators" in told.pop("homeostat")
    assert public == told


@pytest.mark.parametrize("path", ["/metrics", "/openapi/v3", "/apis"])
async def test_paths_that_are_not_public_require_authentication(api: Api, path: str) -> None:
    assert (await api("GET", path, user=NOBODY)).status == 403
    assert (await api("GET", path)).status == 200


async def test_secrets_are_not_readable_on_disk(api: Api) -> None:
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "s"},
        "stringData": {"password": "hunter2-hunter2"},
    }
    created = await api("POST", "/api/v1/namespaces/default/secrets", secret)
    assert created.json["data"] == {"password": "aHVudGVyMi1odW50ZXIy"}
    assert "stringData" not in created.json
    patched = await api(
        "PATCH",
        "/api/v1/namespaces/default/secrets/s",
        {"stringData": {"password": "hunter3-hunter3"}},
        type="application/merge-patch+json",
    )
    assert patched.json["data"] == {"password": "aHVudGVyMy1odW50ZXIz"}
    stored_now = await api("GET", "/api/v1/namespaces/default/secrets/s")
    assert stored_now.json["data"] == {"password": "aHVudGVyMy1odW50ZXIz"}
    await api("POST", CONFIGMAPS, {**configmap(), "data": {"x": "findable-text"}})
    data = api.plane.settings.data
    stored = b"".join(file.read_bytes() for file in data.glob("homeostat.db*"))
    assert b"findable-text" in stored
    assert b"aHVudGVyMi1odW50ZXIy" not in stored


async def test_a_selector_in_the_query_opens_no_creation(api: Api) -> None:
    limited = role("create", "list")
    limited["rules"][0]["resourceNames"] = ["a"]
    await api("POST", f"{RBAC}/namespaces/default/roles", limited)
    await api("POST", f"{RBAC}/namespaces/default/rolebindings", binding())
    selector: Any = {"fieldSelector": "metadata.name=a"}
    assert (await api("GET", CONFIGMAPS, user=ALICE, **selector)).status == 200
    assert (await api("POST", CONFIGMAPS, configmap("other"), user=ALICE, **selector)).status == 403


LIMITS = {"metadata": {"name": "new"}, "spec": {"limits": []}}


@pytest.mark.parametrize(
    ("method", "path", "body", "content_type"),
    [
        pytest.param("PATCH", f"{CONFIGMAPS}/new", configmap("new"), APPLY, id="apply"),
        pytest.param("PUT", "/api/v1/namespaces/default/limitranges/new", LIMITS, "", id="put"),
    ],
)
async def test_a_write_that_would_create_needs_the_permission_to_create(
    api: Api, method: str, path: str, body: dict[str, Any], content_type: str
) -> None:
    async def write() -> Answer:
        return await api(method, path, body, type=content_type, user=ALICE, fieldManager="m")

    await grant(api, "patch", "update", resources=["configmaps", "limitranges"])
    refused = await write()
    assert refused.status == 403
    assert "cannot create resource" in refused.json["message"]
    await api("DELETE", f"{RBAC}/namespaces/default/roles/reader")
    wider = role("patch", "update", "create", resources=["configmaps", "limitranges"])
    await api("POST", f"{RBAC}/namespaces/default/roles", wider)
    assert (await write()).status == 201


async def test_a_lost_key_of_secrets_is_not_replaced(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path, port=0, operators=frozenset())
    async with open_plane(settings):
        pass
    (tmp_path / "seal.key").rename(tmp_path / "moved")
    with pytest.raises(StoreError, match="restore it"):
        async with open_plane(settings):
            pass
    assert not (tmp_path / "seal.key").exists()
