"""The server gives each Service an address and node ports of its own."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from homeostat.objects.json import decode_stored
from homeostat.plane import Settings, open_plane
from homeostat.server.view.encode import draft_of
from homeostat.store.base import Key, Put
from tests.api.conftest import MERGE_PATCH, Api

SERVICES = "/api/v1/namespaces/default/services"
OWN = f"{SERVICES}/kubernetes"


def _service(name: str, **spec: Any) -> dict[str, Any]:
    spec = {"ports": [{"port": 80}], **spec}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}


async def test_services_created_at_once_have_addresses_and_node_ports_of_their_own(api: Api) -> None:
    bodies = [_service(f"s{number}", type="NodePort") for number in range(200)]
    made = [answer.json["spec"] for answer in await asyncio.gather(*(api("POST", SERVICES, each) for each in bodies))]
    assert len({each["clusterIP"] for each in made}) == len(bodies)
    assert len({each["ports"][0]["nodePort"] for each in made}) == len(bodies)
    assert all(each["clusterIPs"] == [each["clusterIP"]] for each in made)


async def test_one_of_many_that_want_the_same_address_gets_it(api: Api) -> None:
    wanted = [_service(f"s{number}", clusterIP="10.0.0.7") for number in range(20)]
    answers = await asyncio.gather(*(api("POST", SERVICES, each) for each in wanted))
    assert sorted(each.status for each in answers) == [201] + [422] * 19


async def test_a_dry_run_shows_an_address_and_takes_none(api: Api) -> None:
    shown = (await api("POST", SERVICES, _service("web", type="NodePort"), dryRun="All")).json["spec"]
    given = {"clusterIP": shown["clusterIP"], "type": "NodePort", "ports": shown["ports"]}
    assert (await api("POST", SERVICES, _service("other", **given))).status == 201
    assert (await api("POST", SERVICES, _service("web", **given), dryRun="All")).status == 422


async def test_what_a_refused_write_chose_is_free(api: Api) -> None:
    refused = await api("POST", SERVICES, _service("bad", clusterIP="10.0.0.7", sessionAffinity="x"))
    assert refused.json["details"]["causes"][0]["field"] == "spec.sessionAffinity"
    assert (await api("POST", SERVICES, _service("good", clusterIP="10.0.0.7"))).status == 201


async def test_what_a_write_chose_stays_taken_if_nobody_waited_for_its_commit(api: Api) -> None:
    allocator, writer = api.plane.app.backend.allocator, 1
    assert await allocator.allocate(
        writer, _service("web", type="ClusterIP", clusterIP="10.0.0.7"), None, is_trial=False
    )
    allocator.release(writer, is_certain=False)
    assert (await api("POST", SERVICES, _service("other", clusterIP="10.0.0.7"))).status == 422


async def test_a_large_service_written_in_a_thread_gets_an_address_too(api: Api) -> None:
    body = _service("large")
    body["metadata"]["annotations"] = {"example.com/text": "x" * 100_000}
    made = await api("POST", SERVICES, body)
    assert made.json["spec"]["clusterIP"].startswith("10.0.")
    patched = await api("PATCH", f"{SERVICES}/large", {"spec": {"type": "NodePort"}}, type=MERGE_PATCH)
    assert patched.json["spec"]["ports"][0]["nodePort"] >= 30000


async def test_addresses_outlive_the_server_and_services_of_before_get_one_when_they_are_written(
    tmp_path: Path,
) -> None:
    settings = Settings(data=tmp_path, port=0, operators=frozenset())
    async with open_plane(settings) as plane:
        api = Api(plane)
        assert (await api("GET", OWN)).json["spec"]["clusterIP"] == "10.0.0.1"
        await api("POST", SERVICES, _service("web", type="NodePort", clusterIP="10.0.0.7"))
        port = (await api("GET", f"{SERVICES}/web")).json["spec"]["ports"][0]["nodePort"]
        await api("DELETE", OWN)
        await api("POST", SERVICES, _service("kubernetes", clusterIP="None"))
        await _store_without_address(api, "old")
    async with open_plane(settings) as plane:
        api = Api(plane)
        assert (await api("POST", SERVICES, _service("new", clusterIP="10.0.0.7"))).status == 422
        clash = await api("POST", SERVICES, _service("new", type="NodePort", ports=[{"port": 1, "nodePort": port}]))
        assert clash.status == 422
        assert (await api("GET", OWN)).json["spec"]["clusterIP"] == "None", "an address cannot change"
        assert "clusterIP" not in (await api("GET", f"{SERVICES}/old")).json["spec"]
        await api("PATCH", f"{SERVICES}/old", {"metadata": {"labels": {"a": "b"}}}, type=MERGE_PATCH)
        assert "clusterIP" in (await api("GET", f"{SERVICES}/old")).json["spec"]


async def _store_without_address(api: Api, name: str) -> None:
    await api("POST", SERVICES, _service("like", clusterIP="None", selector={"app": "a"}))
    store, registry = api.plane.store, api.plane.app.backend.registry
    record, kind = store.get(Key("services", "default", "like")), registry.find("", "v1", "services")
    assert record is not None
    assert kind is not None
    obj = decode_stored(record.value)
    obj["metadata"]["name"] = name
    obj["spec"] = {field: value for field, value in obj["spec"].items() if not field.startswith("clusterIP")}
    await store.write(Put(Key("services", "default", name), draft_of(kind, obj), 0))


async def test_a_service_is_refused_when_every_address_is_taken(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path, port=0, operators=frozenset(), service_cidr="10.9.0.0/29")
    async with open_plane(settings) as plane:
        api = Api(plane)
        answers = [await api("POST", SERVICES, _service(f"s{number}")) for number in range(6)]
        assert [each.status for each in answers] == [201] * 5 + [500]
        assert "range is full" in answers[-1].json["message"]
        await api("DELETE", f"{SERVICES}/s3")
        assert (await api("POST", SERVICES, _service("next"))).status == 201
