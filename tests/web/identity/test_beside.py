"""On a plane and beside a real cluster alike: users, roles and webhooks."""

from __future__ import annotations

import pytest

from homeostat.objects.errors import InvalidError
from homeostat.runtime.faces.private import NamespaceSecrets
from homeostat.testing.eventually import eventually
from homeostat.web.actions.webhooks.api import REST_WEBHOOK
from homeostat.web.identity.api import REST_ROLE, REST_USER
from tests.cluster.fixtures import Api
from tests.web.faces import ADMIN, open_face


async def test_users_roles_and_webhooks_live_on_any_kubernetes_api(api: Api) -> None:
    async with open_face(api.client, ADMIN, namespace=api.namespace, own=api.namespace) as face:
        admin = await face.nobody.login("admin", "correct horse")
        role = await admin.post("/custom-roles", {"name": "lookers", "system_permissions": ["view_webhooks"]})
        user = {"username": "anna", "password": "a password", "custom_role_id": role.body["id"]}
        made = await admin.post("/users", user)
        assert (made.status, made.body["custom_role_id"]) == (201, role.body["id"])
        anna = await face.nobody.login("anna", "a password")
        assert (await anna.get("/admission-webhooks")).status == 200
        hook = {"name": "h", "webhook_url": "https://example.com", "webhook_type": "validating"}
        assert (await admin.post("/admission-webhooks", hook)).status == 201
        permission = await admin.post(f"/custom-roles/{role.body['id']}/permissions", {"resource_type_name": "Db"})
        assert permission.status == 201
        assert (await admin.put(f"/users/{made.body['id']}", {"password": "another one"})).status == 200
        assert (await anna.get("/auth/me")).status == 401
        assert (await admin.get(f"/users/{made.body['id']}")).body["last_login_at"].endswith("Z")
        assert (await admin.delete(f"/custom-roles/{role.body['id']}")).status == 204
        assert (await admin.get("/custom-roles")).body == []


async def test_what_is_declared_with_kubectl_counts_there(api: Api) -> None:
    async with open_face(api.client, ADMIN, namespace=api.namespace, own=api.namespace) as face:
        admin = await face.nobody.login("admin", "correct horse")
        kinds = {"users": (REST_USER, {}), "custom-roles": (REST_ROLE, {"name": "r"})}
        kinds["admission-webhooks"] = (REST_WEBHOOK, {"name": "w", "url": "https://example.com", "type": "mutating"})
        for path, (kind, spec) in kinds.items():
            body = {
                "apiVersion": kind.kind.api_version,
                "kind": kind.kind.kind,
                "metadata": {"name": "x"},
                "spec": spec,
            }
            await api.client.create(kind.kind.path(api.namespace), body)
            told = await eventually(lambda path=path: admin.get(f"/{path}"), lambda told: told.body)  # type: ignore[misc]
            assert all(each["id"] for each in told.body)


async def test_a_hash_is_in_no_object_but_its_secret_and_goes_with_its_user(api: Api) -> None:
    async with open_face(api.client, ADMIN, namespace=api.namespace, own=api.namespace) as face:
        await face.nobody.login("admin", "correct horse")
        path = REST_USER.kind.path(api.namespace, "admin")
        user = await api.client.get(path)
        assert "scrypt" not in str(user)
        private = NamespaceSecrets(api.client, api.namespace)
        assert (await private.read(user["spec"]["passwordSecret"]) or b"").startswith(b"scrypt$")
        await api.client.delete(path)
        await eventually(lambda: private.read(user["spec"]["passwordSecret"]), lambda found: found is None)


async def test_an_invalid_object_is_refused_by_the_server(api: Api) -> None:
    async with open_face(api.client, ADMIN, namespace=api.namespace, own=api.namespace):
        kind = REST_WEBHOOK.kind
        spec = {"name": "w", "url": "https://example.com", "type": "watching"}
        body = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": "x"}, "spec": spec}
        with pytest.raises(InvalidError, match=r"spec\.type"):
            await api.client.create(kind.path(api.namespace), body)
