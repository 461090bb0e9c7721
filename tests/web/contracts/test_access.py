"""Who sees which services, and which web pages may call the API."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from homeostat.objects.json import JsonObject
from homeostat.plane import Plane, Settings, open_plane
from homeostat.server.access.tokens.file import Tokens
from homeostat.testing.eventually import eventually
from homeostat.web.contracts.settings import read_settings
from tests.web.contracts.calling import Api, open_api, review_gate, status_of

RBAC = "/apis/rbac.authorization.k8s.io/v1"
USERS: dict[str, tuple[str, ...]] = {"root": ("system:masters",), "all": (), "one": (), "stranger": ()}
READS: JsonObject = {"apiGroups": ["pacto.trianalab.io"], "resources": ["pactos"], "verbs": ["list"]}
CREATES: JsonObject = {"apiGroups": ["pacto.trianalab.io"], "resources": ["pactos"], "verbs": ["list", "create"]}


async def _bind(plane: Plane, user: str, rule: JsonObject, namespace: str = "") -> None:
    below = f"{RBAC}/namespaces/{namespace}" if namespace else RBAC
    kind, bindings = ("Role", "rolebindings") if namespace else ("ClusterRole", "clusterrolebindings")
    await plane.client.create(f"{below}/{kind.lower()}s", {"metadata": {"name": user}, "rules": [rule]})
    binding = {
        "metadata": {"name": user},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": user},
        "subjects": [{"kind": "User", "name": user, "apiGroup": "rbac.authorization.k8s.io"}],
    }
    await plane.client.create(f"{below}/{bindings}", binding)


@pytest.fixture
async def reviewed(tmp_path: Path) -> AsyncIterator[tuple[Api, dict[str, str]]]:
    """A plane that asks for credentials, with Pactos in two namespaces, and tokens by user."""
    data = tmp_path / "plane"
    data.mkdir(mode=0o700)
    async with open_plane(Settings(data=data, port=0, operators=frozenset())) as plane:
        tokens = Tokens(data / "tokens.json")
        made = {name: tokens.create(name, now=time.time(), groups=groups) for name, groups in USERS.items()}
        await plane.client.create(
            "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "pay"}}
        )
        await _bind(plane, "all", READS)
        await _bind(plane, "one", CREATES, "pay")
        async with open_api(plane.client, gate=review_gate(plane.client)) as api:
            await api.declare("ledger", status_of("ledger"), namespace="pay")
            await api.declare("shop", status_of("shop", "ledger"), namespace="default")
            await api.declare("cart", status_of("cart", "ledger", "shop"), namespace="pay")
            await eventually(lambda: api.get("/api/services", token=made["root"]), lambda told: len(told.body) == 3)
            yield api, made


async def test_a_caller_sees_the_namespaces_whose_pactos_they_may_list(reviewed: tuple[Api, dict[str, str]]) -> None:
    api, tokens = reviewed

    async def seen(user: str) -> object:
        told = await api.get("/api/services", token=tokens.get(user, "wrong"))
        if told.status != 200:
            return told.status
        return {each["name"]: each["blastRadius"] for each in told.body}

    everything = {"cart": 0, "ledger": 2, "shop": 1}
    assert await seen("root") == everything
    assert await seen("all") == everything
    # What lies in another namespace is not even counted.
    assert await seen("one") == {"cart": 0, "ledger": 1}
    assert await seen("stranger") == 403
    assert await seen("nobody") == 401


async def test_services_of_other_namespaces_look_like_ones_that_do_not_exist(
    reviewed: tuple[Api, dict[str, str]],
) -> None:
    api, tokens = reviewed
    one = tokens["one"]
    assert (await api.get("/api/services/shop", token=one)).status == 404
    nodes = {each["id"]: each["status"] for each in (await api.get("/api/graph", token=one)).body["nodes"]}
    assert nodes == {"cart": "Compliant", "ledger": "Compliant", "shop": "external"}
    assert [each["name"] for each in (await api.get("/api/services/ledger/dependents", token=one)).body] == ["cart"]
    assert (await api.get("/api/services/shop/versions", token=one)).body == []
    assert (await api.get("/metrics", token=one)).body["serviceCount"] == 2


async def test_a_restricted_view_follows_changes(reviewed: tuple[Api, dict[str, str]]) -> None:
    api, tokens = reviewed
    assert len((await api.get("/api/services", token=tokens["one"])).body) == 2
    await api.declare("rates", status_of("rates"), namespace="pay")
    await api.declare("mail", status_of("mail"), namespace="default")
    found = await eventually(lambda: api.get("/api/services", token=tokens["one"]), lambda told: len(told.body) == 3)
    assert [each["name"] for each in found.body] == ["cart", "ledger", "rates"]


async def test_a_registry_is_read_for_those_who_may_create_pactos(reviewed: tuple[Api, dict[str, str]]) -> None:
    api, tokens = reviewed
    body = {"ref": "not a reference"}
    assert (await api.post("/api/resolve", body, token=tokens["all"])).status == 403
    assert (await api.post("/api/resolve", body, token=tokens["one"])).status == 403
    assert (await api.post("/api/resolve", body | {"namespace": "pay"}, token=tokens["one"])).status == 422
    assert (await api.post("/api/versions", body, token=tokens["all"])).status == 403


async def test_what_describes_the_api_is_public(reviewed: tuple[Api, dict[str, str]]) -> None:
    api, _ = reviewed
    assert [(await api.get(each)).status for each in ("/health", "/openapi", "/docs", "/schemas")] == [200] * 4
    assert [(await api.get(each)).status for each in ("/metrics", "/api/sources", "/api/graph")] == [401] * 3


async def test_pages_of_other_origins_change_nothing(plane: Plane) -> None:
    async with open_api(plane.client) as api:
        own = api.url
        assert (await api.post("/api/refresh", Origin="https://evil.example.org")).status == 403
        assert (await api.post("/api/refresh", Sec_Fetch_Site="cross-site")).status == 403
        assert (await api.post("/api/refresh", Origin=own)).body == {"status": "ok", "refreshed": True}
        assert (await api.post("/api/refresh")).body == {"status": "ok", "refreshed": False}
        told = await api.get("/health", Origin="https://evil.example.org")
        assert "Access-Control-Allow-Origin" not in told.headers
        assert (await api.ask("OPTIONS", "/api/refresh", Origin="https://evil.example.org")).status == 403


async def test_one_other_origin_may_be_allowed(plane: Plane) -> None:
    portal = "https://portal.example.org"
    async with open_api(plane.client, PACTO_DASHBOARD_CORS_ORIGIN=portal) as api:
        told = await api.get("/api/services", Origin=portal)
        assert (told.status, told.headers["Access-Control-Allow-Origin"], told.headers["Vary"]) == (
            200,
            portal,
            "Origin",
        )
        assert (await api.post("/api/refresh", Origin=portal)).status == 200
        preflight = await api.ask("OPTIONS", "/api/refresh", Origin=portal)
        assert (preflight.status, preflight.headers["Access-Control-Allow-Methods"]) == (204, "GET, POST")
        assert (await api.post("/api/refresh", Origin="https://evil.example.org")).status == 403


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PACTO_DASHBOARD_CORS_ORIGIN", "*"),
        ("PACTO_DASHBOARD_CORS_ORIGIN", "https://a.example.org/path"),
        ("PACTO_DASHBOARD_DIAGNOSTICS", "maybe"),
        ("PACTO_DASHBOARD_NAMESPACE", "No Such"),
        ("PACTO_DASHBOARD_REPO", "nginx"),
        ("PACTO_CACHE_DIR", "cache"),
        ("PACTO_NO_CACHE", "perhaps"),
    ],
)
def test_an_invalid_setting_is_refused_by_name(name: str, value: str) -> None:
    with pytest.raises(ValueError, match=name):
        read_settings({name: value})
