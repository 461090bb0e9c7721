"""Services over HTTP, as the cluster has them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from homeostat.operators.contracts.engine.services.catalogue import Catalogue
from homeostat.plane import Plane
from homeostat.testing.eventually import eventually
from tests.holds import measured_turns
from tests.web.contracts.calling import OCI, Api, open_api, status_of

CONTRACT = (
    'pactoVersion: "1.0"\nservice: {name: rates, version: 1.0.0}\ninterfaces: [{name: web, type: http, port: 80}]\n'
)


@pytest.fixture
async def api(plane: Plane) -> AsyncIterator[Api]:
    async with open_api(plane.client) as api:
        await api.declare("ledger", status_of("ledger", "rates", ports={"missing": [8080]}, contractStatus="Warning"))
        await api.declare(
            "shop", status_of("shop", "ledger", policies=[{"name": "p", "hasSchema": False, "ref": f"{OCI}/rates"}])
        )
        await api.declare("rates", status_of("rates"), inline=CONTRACT)
        await eventually(lambda: api.get("/api/services"), lambda told: len(told.body) == 3)
        yield api


async def test_a_server_reports_its_health_and_its_sources(api: Api) -> None:
    assert (await api.get("/health")).body["status"] == "ok"
    assert (await api.get("/metrics")).body == {"serviceCount": 3, "sourceCount": 3}
    sources = (await api.get("/api/sources")).body
    assert {each["type"]: each["enabled"] for each in sources["sources"]} == {
        "k8s": True,
        "oci": True,
        "cache": True,
        "local": False,
    }
    assert sources["discovering"] is False


async def test_the_same_is_served_below_a_prefix(api: Api) -> None:
    assert (await api.get("/contracts/api/services")).body == (await api.get("/api/services")).body
    assert (await api.get("/contracts/health")).status == 200


async def test_a_list_shows_how_many_services_each_takes_down(api: Api) -> None:
    told = await api.get("/api/services")
    assert {each["name"]: each["blastRadius"] for each in told.body} == {"ledger": 1, "rates": 2, "shop": 0}


async def test_an_unchanged_list_is_not_sent_again(api: Api) -> None:
    first = await api.get("/api/services")
    again = await api.get("/api/services", If_None_Match=first.headers["ETag"])
    assert (again.status, again.body) == (304, b"")
    await api.declare("cart", status_of("cart"))
    await eventually(
        lambda: api.get("/api/services", If_None_Match=first.headers["ETag"]), lambda told: told.status == 200
    )


async def test_a_list_is_filtered_and_paged(api: Api) -> None:
    async def names(query: str) -> list[str]:
        return [each["name"] for each in (await api.get(f"/api/services?{query}")).body]

    assert await names("status=Warning") == ["ledger"]
    assert await names("q=A") == ["rates"]
    assert await names("namespace=other") == []
    told = await api.get("/api/services?limit=2")
    assert ([each["name"] for each in told.body], told.headers["Link"]) == (
        ["ledger", "rates"],
        '</api/services?limit=2&after=rates>; rel="next"',
    )
    assert await names("limit=2&after=rates") == ["shop"]
    assert (await api.get("/api/services?limit=0")).status == 422


async def test_details_of_a_service(api: Api) -> None:
    body = (await api.get("/api/services/ledger")).body
    assert (body["name"], body["contractStatus"], body["blastRadius"]) == ("ledger", "Warning", 1)
    assert [each["title"] for each in body["insights"]] == ["Contract has warnings", "Missing ports: 8080"]
    assert body["instances"] == [
        {"namespace": "default", "pacto": "ledger", "version": "1.0.0", "contractStatus": "Warning"}
    ]
    assert (await api.get("/api/services/nobody")).status == 404
    assert (await api.get("/api/services/ledger?namespace=other")).status == 404


async def test_the_worst_pacto_of_a_service_is_shown_unless_a_namespace_is_named(api: Api, plane: Plane) -> None:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "test"}}
    await plane.client.create("/api/v1/namespaces", namespace)
    await api.declare("ledger", status_of("ledger", contractStatus="NonCompliant"), namespace="test")
    found = await eventually(lambda: api.get("/api/services/ledger"), lambda told: len(told.body["instances"]) == 2)
    assert found.body["namespace"] == "test"
    assert (await api.get("/api/services/ledger?namespace=default")).body["contractStatus"] == "Warning"


async def test_edges_are_shown_as_a_graph_a_tree_and_dependents(api: Api) -> None:
    nodes = {each["id"]: each for each in (await api.get("/api/graph")).body["nodes"]}
    assert [(each["targetId"], each["type"], each["resolved"]) for each in nodes["shop"]["edges"]] == [
        ("ledger", "dependency", True),
        ("rates", "reference", True),
    ]
    tree = (await api.get("/api/services/shop/graph")).body["root"]
    assert tree["dependencies"][0]["node"]["dependencies"][0]["node"]["name"] == "rates"
    assert (await api.get("/api/services/ledger/dependents")).body == [
        {"name": "shop", "version": "1.0.0", "contractStatus": "Compliant", "required": True, "compatibility": "^1.0.0"}
    ]
    assert (await api.get("/api/services/nobody/dependents")).body == []
    assert (await api.get("/api/services/nobody/graph")).status == 404


async def test_requests_for_dependents_share_turns(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 300 services with 300 dependencies each one request takes 16 ms, and all that came together took one turn."""
    needed = [f"d{at}" for at in range(10)]
    for number in range(15):
        await api.declare(f"u{number}", status_of(f"u{number}", "rates", *needed))
    await eventually(lambda: api.get("/api/services"), lambda told: len(told.body) == 18)
    loop, compared, most, is_over = asyncio.get_running_loop(), 0, 0, False
    target_of = Catalogue.target_of

    def counted(catalogue: Catalogue, ref: str) -> str:
        nonlocal compared
        compared += 1
        return target_of(catalogue, ref)

    def tick() -> None:
        nonlocal compared, most
        most, compared = max(most, compared), 0
        if not is_over:
            loop.call_soon(tick)

    monkeypatch.setattr(Catalogue, "target_of", counted)
    monkeypatch.setattr("homeostat.edge.turn.TURN_S", 0.0)
    tick()
    answers = await asyncio.gather(*(api.get("/api/services/rates/dependents") for _ in range(8)))
    is_over = True
    assert [len(each.body) for each in answers] == [16] * 8
    assert most <= 8 + 2 * (len(needed) + 1), "the first service of each, and another one or two"


async def test_references_are_shown_from_both_ends(api: Api) -> None:
    of_shop, of_rates = await api.get("/api/services/shop/refs"), await api.get("/api/services/rates/refs")
    assert [(each["name"], each["refType"]) for each in of_shop.body["references"]] == [("rates", "policy")]
    assert [each["name"] for each in of_rates.body["referencedBy"]] == ["shop"]
    assert (await api.get("/api/services/nobody/refs")).body == {"references": [], "referencedBy": []}


async def test_recorded_versions_are_listed_newest_first(api: Api) -> None:
    await api.record("rates", "1.0.0")
    await api.record("rates", "1.2.0")
    told = await eventually(lambda: api.get("/api/services/rates/versions"), lambda told: len(told.body) == 2)
    assert [(each["version"], each.get("isCurrent", False)) for each in told.body] == [
        ("1.2.0", False),
        ("1.0.0", True),
    ]
    body = (await api.get("/api/services/rates")).body
    assert (body["latestAvailable"], body["updateAvailable"]) == ("1.2.0", True)
    assert (await api.get("/api/services/nobody/versions")).body == []


async def test_an_inline_contract_is_shown_from_its_text(api: Api) -> None:
    assert (await api.get("/api/services/rates/versions/1.0.0")).body["name"] == "rates"
    assert (await api.get("/api/services/rates/versions/9.9.9")).status == 404
    sources = (await api.get("/api/services/rates/sources")).body
    assert [each["sourceType"] for each in sources["sources"]] == ["k8s"]
    told = await api.get("/api/diff?from_name=rates&to_name=rates")
    assert (told.body["classification"], told.body["changes"]) == ("NON_BREAKING", [])
    assert (await api.get("/api/diff?from_name=rates")).status == 422
    assert (await api.get("/api/diff?from_name=rates&to_name=nobody")).status == 404


async def test_a_large_inline_contract_is_parsed_beside_the_event_loop(api: Api) -> None:
    large = CONTRACT.replace("rates", "slow") + f"metadata: {{{','.join(f'k{at}: [1, 2, 3]' for at in range(3000))}}}"
    await api.declare("slow", status_of("slow"), inline=large)
    await eventually(lambda: api.get("/api/services"), lambda told: len(told.body) == 4)
    async with measured_turns() as turns:
        shown = await api.get("/api/services/slow")
        compared = await api.get("/api/diff?from_name=slow&to_name=slow")
    assert (shown.body["name"], compared.body["changes"]) == ("slow", [])
    assert turns.longest_s < 0.1


async def test_a_deleted_pacto_is_gone(api: Api) -> None:
    await api.client.delete("/apis/pacto.trianalab.io/v1alpha1/namespaces/default/pactos/shop")
    await eventually(lambda: api.get("/api/services"), lambda told: len(told.body) == 2)
    assert (await api.get("/api/services/ledger/dependents")).body == []


async def test_the_api_describes_itself(api: Api) -> None:
    document = (await api.get("/openapi")).body
    assert {"/api/services", "/api/services/{name}/versions/{version}", "/api/diff", "/health"} <= set(
        document["paths"]
    )
    assert (await api.get("/openapi.json")).body == document
    assert b"/api/resolve" in (await api.get("/docs")).body
    shared = (await api.get("/contracts/docs")).body
    for part in (b"/contracts/api/diff", b'data-path="/contracts/api/services"', b'href="/contracts/openapi"'):
        assert part in shared, "on the port that faces share"
    schemas = (await api.get("/schemas")).body["schemas"]
    assert "Listed" in schemas
    assert (await api.get("/schemas/Listed.json")).body["properties"]["blastRadius"]["type"] == "integer"
    assert (await api.get("/schemas/None")).status == 404


async def test_diagnostics_are_served_on_request_only(api: Api, plane: Plane) -> None:
    assert (await api.get("/api/debug/sources")).status == 404
    async with open_api(plane.client, PACTO_DASHBOARD_DIAGNOSTICS="true") as debug:
        assert (await debug.get("/api/debug/sources")).body["live"]["serviceNames"] == ["ledger", "rates", "shop"]
        services = (await debug.get("/api/debug/services")).body
    assert [(each["sourceType"], each["count"]) for each in services["perSource"]] == [("k8s", 3), ("oci", 0)]
    assert services["aggregatedList"][0]["mergedSource"] == "k8s"
