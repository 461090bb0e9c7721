"""What the API reads from a real registry."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from homeostat.external.oci.auth import OneCredential
from homeostat.external.oci.registry import Registry
from homeostat.external.rest.client import RestClient
from homeostat.external.secrets.credentials import BasicAuth
from homeostat.external.secrets.docker_config import RegistryCredential
from homeostat.objects.kind import CONFIG_MAP
from homeostat.plane import Plane
from homeostat.testing.eventually import eventually
from tests.external.oci.signing import Signed, public_pem, signing_key
from tests.external.registries import PASSWORD, USER, running_registry, with_passwords
from tests.web.contracts.bundles import push
from tests.web.contracts.calling import Api, open_api, status_of


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_registry(tmp_path_factory.mktemp("registry")) as host:
        yield host


@pytest.fixture
async def api(plane: Plane, host: str) -> AsyncIterator[Api]:
    """A ledger whose version 1.1.0 runs, of three versions."""
    digests = {"1.0.0": await push(host, "1.0.0"), "1.1.0": await push(host, "1.1.0")}
    await push(host, "2.0.0", port=9090)
    async with open_api(plane.client) as api:
        name = await api.record("ledger", "1.1.0", oci=f"{host}/contracts/ledger:1.1.0", digest=digests["1.1.0"])
        contract = {"resolvedRef": f"{host}/contracts/ledger:1.1.0", "owner": {"team": "finance"}}
        interfaces = [{"name": "web", "type": "http", "port": 8080, "hasContractFile": True}]
        status = status_of("ledger", version="1.1.0", contract=contract, currentRevision=name, interfaces=interfaces)
        await api.declare("ledger", status, oci=f"{host}/contracts/ledger:1.1.0")
        await eventually(
            lambda: api.get("/api/services/ledger/versions"),
            lambda told: len(told.body) == 3 and told.body[1].get("digest"),
        )
        yield api


async def test_details_show_the_contents_of_the_bundle(api: Api) -> None:
    body = (await api.get("/api/services/ledger")).body
    assert (body["sources"], body["versionPolicy"], body["docs"][0]["title"]) == (
        ["k8s", "oci"],
        "pinned-tag",
        "Runbook",
    )
    assert body["interfaces"][0]["endpoints"] == [{"method": "POST", "path": "/pay", "summary": "Pay"}]
    sources = (await api.get("/api/services/ledger/sources")).body
    assert [each["sourceType"] for each in sources["sources"]] == ["k8s", "oci"]
    assert "docs" not in sources["sources"][0]["service"]
    assert sources["merged"]["docs"] == body["docs"]


async def test_versions_of_the_registry_are_listed_and_classified_once_they_are_pulled(api: Api, host: str) -> None:
    told = (await api.get("/api/services/ledger/versions")).body
    assert [(each["version"], each.get("source", "k8s"), each.get("isCurrent", False)) for each in told] == [
        ("2.0.0", "oci", False),
        ("1.1.0", "k8s", True),
        ("1.0.0", "oci", False),
    ]
    fetched = await api.post("/api/versions", {"ref": f"oci://{host}/contracts/ledger", "fetch": True})
    assert fetched.body == {"versions": ["2.0.0", "1.1.0", "1.0.0"], "fetched": 3}
    classified = (await api.get("/api/services/ledger/versions")).body
    assert [each.get("classification") for each in classified] == ["BREAKING", "NON_BREAKING", None]


async def test_a_version_is_shown_and_compared(api: Api) -> None:
    old = (await api.get("/api/services/ledger/versions/1.0.0")).body
    assert (old["version"], old["contractStatus"], old["history"]["version"]) == ("1.0.0", "Unknown", "1.0.0")
    current = (await api.get("/api/services/ledger/versions/1.1.0")).body
    assert (current["contractStatus"], current["history"]["isCurrent"]) == ("Compliant", True)
    query = "from_name=ledger&from_version=1.0.0&to_name=ledger&to_version=2.0.0"
    found = (await api.get(f"/api/diff?{query}")).body
    assert (found["from"]["version"], found["to"]["version"], found["classification"]) == ("1.0.0", "2.0.0", "BREAKING")
    assert {each["path"] for each in found["changes"]} == {"service.version", "interfaces.port"}


async def test_a_reference_is_resolved(api: Api, host: str) -> None:
    found = await api.post("/api/resolve", {"ref": f"oci://{host}/contracts/ledger", "compatibility": "^1.0.0"})
    assert (found.status, found.body["name"], found.body["version"]) == (200, "ledger", "1.1.0")


@pytest.mark.parametrize(
    ("ref", "compatibility", "status"),
    [
        ("{host}/contracts/ledger:9.9.9", "", 404),
        ("{host}/contracts/nothing", "", 404),
        ("{host}/contracts/ledger", "^7.0.0", 422),
        ("{host}/contracts/ledger", "nonsense", 422),
        ("not a reference", "", 422),
        ("127.0.0.1:1/contracts/ledger:1.0.0", "", 502),
    ],
)
async def test_a_failure_says_whose_it_is(api: Api, host: str, ref: str, compatibility: str, status: int) -> None:
    body = {"ref": ref.format(host=host), "compatibility": compatibility}
    assert (await api.post("/api/resolve", body)).status == status


async def test_details_are_there_without_the_registry(plane: Plane) -> None:
    async with open_api(plane.client) as api:
        status = status_of("far", contract={"resolvedRef": "127.0.0.1:1/contracts/far:1.0.0"})
        await api.declare("far", status, oci="127.0.0.1:1/contracts/far")
        told = await eventually(lambda: api.get("/api/services/far"), lambda told: told.status == 200)
        assert told.body["sectionMeta"]["docs"]["state"] == "unavailable"
        assert [each["version"] for each in (await api.get("/api/services/far/versions")).body] == ["1.0.0"]
        assert (await api.get("/api/services/far/versions/1.0.0")).status == 502


async def test_a_bundle_is_pulled_with_the_pull_secret_of_its_pacto_only(plane: Plane, tmp_path: Path) -> None:
    keychain = OneCredential(RegistryCredential(basic=BasicAuth(USER, PASSWORD)))
    with running_registry(tmp_path, with_passwords(tmp_path)) as host:
        digest = await push(host, "1.0.0", keychain=keychain)
        data = {"username": USER, "password": PASSWORD}
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "pull"}, "stringData": data}
        await plane.client.create("/api/v1/namespaces/default/secrets", secret)
        async with open_api(plane.client) as api:
            ref = f"{host}/contracts/ledger:1.0.0"
            for name, pull in (("ledger", "pull"), ("thief", "")):
                revision = await api.record(name, "1.0.0", oci=ref, digest=digest)
                status = status_of(name, contract={"resolvedRef": ref}, currentRevision=revision)
                await api.declare(name, status, oci=ref, **({"pullSecretRef": pull} if pull else {}))
            await eventually(
                lambda: api.get("/api/services/ledger"), lambda told: told.status == 200 and "docs" in told.body
            )
            stolen = await eventually(lambda: api.get("/api/services/thief"), lambda told: told.status == 200)
            assert "docs" not in stolen.body
            assert (await api.post("/api/resolve", {"ref": ref})).status == 403


async def test_a_bundle_is_shown_and_compared_only_if_a_key_that_its_pacto_trusts_has_signed_it(
    plane: Plane, host: str
) -> None:
    key = signing_key()
    digests = {each: await push(host, each, name="vault") for each in ("1.0.0", "1.1.0", "1.2.0")}
    ref = f"{host}/contracts/vault"
    async with open_api(plane.client) as api, RestClient() as client:
        for version in ("1.0.0", "1.1.0"):
            await Signed(Registry(client), ref, digests[version]).tag(key)
        revision = await api.record("vault", "1.1.0", oci=f"{ref}:1.1.0", digest=digests["1.1.0"])
        status = status_of("vault", version="1.1.0", currentRevision=revision)
        trusted: Any = {"kind": "ConfigMap", "name": "keys"}
        await api.declare("vault", status, oci=ref, verifyKeyRef=trusted)
        await eventually(lambda: api.get("/api/services/vault/versions"), lambda told: len(told.body) == 3)

        missing = await api.get("/api/services/vault/versions/1.0.0")
        assert (missing.status, "create it" in str(missing.body)) == (422, True), missing.body
        data = {"cosign.pub": public_pem(key).decode()}
        await plane.client.create(CONFIG_MAP.path("default"), {"metadata": {"name": "keys"}, "data": data})
        assert (await api.get("/api/services/vault")).body["docs"][0]["title"] == "Runbook"
        assert (await api.get("/api/services/vault/versions/1.0.0")).status == 200
        query = "/api/diff?from_name=vault&to_name=vault&from_version=1.0.0&to_version={}"
        assert (await api.get(query.format("1.1.0"))).status == 200
        # Even if somebody has pulled it for themselves.
        assert (await api.post("/api/resolve", {"ref": f"{ref}:1.2.0"})).status == 200
        assert (await api.get(query.format("1.2.0"))).status == 422
        assert (await api.get("/api/services/vault/versions/1.2.0")).status == 422

        other = {"data": {"cosign.pub": public_pem(signing_key()).decode()}}
        await plane.client.merge(CONFIG_MAP.path("default", "keys"), other)
        assert (await api.get(query.format("1.1.0"))).status == 422
        assert "docs" not in (await api.get("/api/services/vault")).body


async def test_configured_repositories_are_shown_without_a_pacto(plane: Plane, host: str) -> None:
    await push(host, "1.0.0", name="rates", port=80)
    await push(host, "1.3.0", name="rates", port=80)
    async with open_api(plane.client, PACTO_DASHBOARD_REPO=f"{host}/contracts/rates, {host}/contracts/absent") as api:
        told = await eventually(lambda: api.get("/api/services"), lambda told: len(told.body) == 1)
        entry = told.body[0]
        assert (entry["name"], entry["version"], entry["source"]) == ("rates", "1.3.0", "oci")
        assert (entry["contractStatus"], entry["complianceStatus"]) == ("Unknown", "REFERENCE")
        assert (await api.get("/api/services/rates")).body["docs"][0]["title"] == "Runbook"
        assert len((await api.get("/api/services/rates/versions")).body) == 2
        assert (await eventually(lambda: api.get("/api/sources"))).body["discovering"] is False
