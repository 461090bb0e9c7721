"""The dashboard beside a cluster works with the permissions that the chart grants, and needs no others."""

from __future__ import annotations

import aiohttp
import pytest

from homeostat.client.base import Client
from homeostat.client.in_process import InProcess
from homeostat.objects.json import JsonObject
from homeostat.objects.roles import rule
from homeostat.operators import actions
from homeostat.operators.actions.api import RESOURCES
from homeostat.operators.dashboard.access import RULES as DASHBOARD_RULES
from homeostat.plane import Plane
from homeostat.server.access.user import User
from homeostat.web.actions.access import RULES
from tests.web.actions.shelf import World
from tests.web.dashboard.site import Site, note
from tests.web.rest import serve_rest

_ACCOUNT = "face"
_RBAC = "rbac.authorization.k8s.io"


async def _grant(plane: Plane, kind: str, place: str, rules: list[JsonObject]) -> None:
    path = f"/apis/{_RBAC}/v1{place}/{kind.lower()}"
    await plane.client.create(f"{path}s", {"metadata": {"name": _ACCOUNT}, "rules": rules})
    subject = {"kind": "User", "apiGroup": _RBAC, "name": _ACCOUNT}
    ref = {"apiGroup": _RBAC, "kind": kind, "name": _ACCOUNT}
    await plane.client.create(
        f"{path}bindings", {"metadata": {"name": _ACCOUNT}, "roleRef": ref, "subjects": [subject]}
    )


async def test_its_pages_follow_changes(
    plane: Plane, site: Site, shelf: World, caplog: pytest.LogCaptureFixture
) -> None:
    await site.declare("/resources", note("a"))
    await site.shows("/resources/1", "phase-ready")
    await _grant(plane, "ClusterRole", "", [*actions.RULES, *RULES.cluster, *DASHBOARD_RULES.cluster])
    await _grant(plane, "Role", "/namespaces/default", [*RULES.namespace, *RULES.leases])
    client = Client(InProcess(plane.app.handle, {"user": User(_ACCOUNT)}))
    async with (
        serve_rest(client, plane.private, namespace="default", environment={}, is_open=True) as server,
        aiohttp.ClientSession() as session,
    ):
        own = Site(session, f"http://127.0.0.1:{server.port}")
        await own.shows("/runs", "1 run ended")
        await site.declare("/resources", note("b"))
        for path, text in (("/runs", "2 runs ended"), ("/resources", "2 resources"), ("", "2 objects")):
            await own.shows(path, text)
    assert [each.message for each in caplog.records if each.levelname != "INFO"] == []


async def test_the_rest_api_alone_needs_no_permissions_of_the_dashboard(
    plane: Plane, site: Site, shelf: World, caplog: pytest.LogCaptureFixture
) -> None:
    await site.declare("/resources", note("a"))
    await _grant(plane, "ClusterRole", "", [*actions.RULES, *RULES.cluster])
    await _grant(plane, "Role", "/namespaces/default", [*RULES.namespace, *RULES.leases])
    client = Client(InProcess(plane.app.handle, {"user": User(_ACCOUNT)}))
    headers = {"Authorization": f"Bearer {await _visitor_token(plane)}"}
    async with (
        serve_rest(
            client, plane.private, namespace="default", environment={}, is_open=False, has_dashboard=False
        ) as server,
        aiohttp.ClientSession(headers=headers) as session,
    ):
        url = f"http://127.0.0.1:{server.port}"
        async with session.get(f"{url}/api/v1/resources") as answer:
            assert [each["name"] for each in await answer.json()] == ["a"]
        async with session.get(f"{url}/dashboard") as answer:
            assert answer.status == 404
    assert [each.message for each in caplog.records if each.levelname != "INFO"] == []


async def _visitor_token(plane: Plane) -> str:
    """Of a service account that may read resources."""
    accounts, roles = "/api/v1/namespaces/default/serviceaccounts", f"/apis/{_RBAC}/v1/namespaces/default/role"
    metadata: JsonObject = {"metadata": {"name": "visitor"}}
    await plane.client.create(accounts, metadata)
    await plane.client.create(f"{roles}s", {**metadata, "rules": [rule(RESOURCES, ["*"], ["get"])]})
    subject = {"kind": "ServiceAccount", "name": "visitor", "namespace": "default"}
    ref = {"apiGroup": _RBAC, "kind": "Role", "name": "visitor"}
    await plane.client.create(f"{roles}bindings", {**metadata, "roleRef": ref, "subjects": [subject]})
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    token: str = (await plane.client.create(f"{accounts}/visitor/token", request))["status"]["token"]
    return token
