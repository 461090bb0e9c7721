"""The operator on a server: what it reports, when it writes, and what it leaves alone."""

from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path

import pytest
from aiohttp import web

from homeostat.cli.operators.deploy.access import access_documents
from homeostat.external.rest.client import RestClient
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import CONFIG_MAP, DEPLOYMENT, SECRET, SERVICE
from homeostat.operators import contracts
from homeostat.operators.contracts.api import PACTO, REQUESTED
from homeostat.runtime.installation import install
from homeostat.runtime.manager import Manager
from homeostat.testing.eventually import eventually
from tests.cli.applying import apply
from tests.cli.permissions import Noting, Used, acting_as, granted_by
from tests.cluster.fixtures import Api
from tests.external.oci.signing import Key, Signed, public_pem, signing_key
from tests.external.registries import running_registry
from tests.external.servers import serving
from tests.operators.contracts.live import HEALTH, Live, contract, operating
from tests.operators.contracts.pushing import PASSWORD, USER, push, push_files, registry_of

_ACCOUNT = "checker"


async def _declare_bound(live: Live, text: str) -> None:
    await live.run()
    await live.declare(contractRef={"inline": text}, target={"serviceName": "quay"})


async def test_a_pass_that_changes_nothing_writes_nothing(api: Api, tmp_path: Path) -> None:
    async with operating(api, tmp_path) as live:
        await _declare_bound(live, contract())
        await live.shows(
            contractStatus="Compliant", currentRevision=(await eventually(live.revisions))[0]["metadata"]["name"]
        )
        before = (await live.get())["metadata"]["resourceVersion"]
        # A reconciliation whose result is the same, and a change of the workload that no check sees.
        await live.client.merge(DEPLOYMENT.path(live.namespace, "quay"), {"metadata": {"labels": {"a": "b"}}})
        await live.change({"metadata": {"annotations": {REQUESTED: "1"}}})
        await asyncio.sleep(0.5)
        after = await live.get()
        assert int(after["metadata"]["resourceVersion"]) > int(before)
        assert [each["operation"] for each in after["metadata"]["managedFields"] if each.get("subresource")] == [
            "Update"
        ]
        written = after["metadata"]["resourceVersion"]
        await live.client.merge(DEPLOYMENT.path(live.namespace, "quay"), {"metadata": {"labels": {"a": "c"}}})
        await asyncio.sleep(0.5)
        assert (await live.get())["metadata"]["resourceVersion"] == written


async def test_a_condition_keeps_its_transition_time_until_its_status_changes(api: Api, tmp_path: Path) -> None:
    async with operating(api, tmp_path) as live:
        await _declare_bound(live, contract())
        first = await live.says("ServiceExists", "True", "Found")
        await asyncio.sleep(1.1)
        await live.client.merge(SERVICE.path(live.namespace, "quay"), {"spec": {"ports": [{"port": 9090}]}})
        changed = await live.says("PortsValid", "False", "MissingPorts")
        kept = await live.says("ServiceExists", "True", "Found")
        assert kept["lastTransitionTime"] == first["lastTransitionTime"]
        assert changed["lastTransitionTime"] > first["lastTransitionTime"]
        assert changed["message"] == 'Service "quay" lacks ports 8080; it has ports 9090'


async def test_conditions_and_series_of_checks_that_no_longer_apply_are_removed(api: Api, tmp_path: Path) -> None:
    series = "pacto_contract_validation_result|{}|quay".format
    async with operating(api, tmp_path) as live:
        await _declare_bound(live, contract())
        await live.shows(contractStatus="Compliant")
        assert live.figures()[series("PortsValid")] == 1
        await live.change({"spec": {"target": None}})
        obj = await live.shows(contractStatus="Reference", resources=None, ports=None)
        assert [each["type"] for each in obj["status"]["conditions"]] == ["ContractValid"]
        assert series("PortsValid") not in live.figures()
        await live.client.delete(PACTO.kind.path(live.namespace, "quay"))
        await eventually(lambda: not live.figures())


async def test_what_cannot_be_listed_is_unknown_and_not_absent(plane: Api, tmp_path: Path) -> None:
    await install(plane.client, contracts.KINDS)
    rules = [each for each in contracts.RULES if "deployments" not in each["resources"]]
    await _grant(plane, rules)
    async with acting_as(plane, plane.namespace, _ACCOUNT) as client, operating(plane, tmp_path, client=client) as live:
        await _declare_bound(live, contract())
        condition = await live.says("RuntimeObserved", "False", "ObservationFailed")
        assert "deployments" in condition["message"]
        await live.shows(contractStatus="Unknown", summary={"total": 1, "passed": 0, "failed": 1})
        await eventually(lambda: live.events("ObservationFailed"))


async def _grant(api: Api, rules: list[dict[str, object]]) -> None:
    given = access_documents({"contracts": rules}, namespace=api.namespace, account=_ACCOUNT, has_election=False)
    await apply(api.client, *given)


async def test_the_operator_does_all_it_can_with_its_rules_and_needs_each(
    plane: Api, tmp_path: Path, registries: tuple[str, str]
) -> None:
    used: Used = set()
    refused: list[str] = []
    await install(plane.client, contracts.KINDS)
    await _grant(plane, contracts.RULES)
    await push(registries[1], "port/rules:1.0.0", contract())
    async with acting_as(plane, plane.namespace, _ACCOUNT) as account:
        client = account.over(lambda transport: Noting(transport, used, refused))
        environment = {"CONTRACTS_REVISION_LIMIT": "1"}
        async with operating(plane, tmp_path, client=client, environment=environment) as live:
            await live.client.create(SECRET.path(live.namespace), _basic_secret())
            ref = {"oci": f"{registries[1]}/port/rules", "pullSecretRef": "creds"}
            for kind in ("Deployment", "StatefulSet", "ReplicaSet", "Job", "CronJob"):
                target = {"serviceName": "quay", "workloadRef": {"kind": kind, "name": "quay"}}
                await live.declare(kind.lower(), contractRef=ref, target=target)
                await live.shows(kind.lower(), contractStatus="NonCompliant", contractVersion="1.0.0")
            key_map = {"kind": "ConfigMap", "name": "keys"}
            await live.client.create(CONFIG_MAP.path(live.namespace), _key_map(signing_key()))
            await live.declare("signed", contractRef={**ref, "verifyKeyRef": key_map})
            await live.says("Reconciling", "True", "SignaturePending", "signed")
            await live.declare("inline", contractRef={"inline": contract()})
            await live.shows("inline", contractStatus="Reference")
            await live.change({"spec": {"contractRef": {"inline": contract("2.0.0")}}}, "inline")
            await live.shows("inline", contractVersion="2.0.0")
            # Only the newest is kept.
            await eventually(
                live.revisions,
                lambda found: (
                    [each["spec"]["version"] for each in found if "inline" in each["spec"]["source"]] == ["2.0.0"]
                ),
            )
    assert refused == []
    unused = granted_by(contracts.RULES) - used
    # These servers list by watching. Owner references are checked by an admission plugin that is off here.
    assert {each for each in unused if each[1] != "list"} <= {("events", "patch"), ("pactos/finalizers", "update")}


def _basic_secret() -> dict[str, object]:
    return {"metadata": {"name": "creds"}, "stringData": {"username": USER, "password": PASSWORD}}


def _docker_secret(host: str, password: str) -> dict[str, object]:
    auth = base64.b64encode(f"{USER}:{password}".encode()).decode()
    config = json.dumps({"auths": {f"https://{host}/v2/": {"auth": auth}}})
    return {
        "metadata": {"name": "creds"},
        "type": "kubernetes.io/dockerconfigjson",
        "stringData": {".dockerconfigjson": config},
    }


async def test_a_pull_secret_that_is_corrected_counts_at_once(
    api: Api, tmp_path: Path, registries: tuple[str, str]
) -> None:
    private = registries[1]
    await push(private, "port/rotated:1.0.0", contract())
    async with operating(api, tmp_path) as live:
        await live.declare(contractRef={"oci": f"{private}/port/rotated", "pullSecretRef": "creds"})
        obj = await live.shows(contractStatus="NonCompliant")
        assert obj["status"]["validation"]["errors"][0]["path"] == "spec.contractRef.pullSecretRef"
        assert "resolutionPolicy" not in obj["status"]
        path = SECRET.path(live.namespace)
        await live.client.create(path, _docker_secret("elsewhere.example.org", PASSWORD))
        obj = await live.shows(contractStatus="NonCompliant")
        await eventually(
            live.get, lambda obj: "no credentials for" in obj["status"]["validation"]["errors"][0]["message"]
        )
        await live.client.merge(SECRET.path(live.namespace, "creds"), _docker_secret(private, "wrong"))
        await live.shows(contractStatus="NonCompliant", resolutionPolicy="Latest")
        await live.client.merge(SECRET.path(live.namespace, "creds"), _docker_secret(private, PASSWORD))
        await live.shows(contractStatus="Reference", contractVersion="1.0.0")
        assert "wrong" not in json.dumps(await live.get())


async def test_what_one_credential_loaded_is_not_shown_to_a_pacto_without_it(
    plane: Api, tmp_path: Path, registries: tuple[str, str]
) -> None:
    private = registries[1]
    await push(private, "port/shared:1.0.0", contract())
    async with operating(plane, tmp_path) as live:
        await live.client.create(SECRET.path(live.namespace), _basic_secret())
        await live.declare("with", contractRef={"oci": f"{private}/port/shared", "pullSecretRef": "creds"})
        obj = await live.shows("with", contractStatus="Reference")
        (revision,) = [
            each for each in await live.revisions() if each["metadata"]["name"] == obj["status"]["currentRevision"]
        ]
        digest = revision["spec"]["source"]["digest"]
        await live.declare("without", contractRef={"oci": f"{private}/port/shared"})
        await live.declare("pinned", contractRef={"oci": f"{private}/port/shared@{digest}"})
        await live.shows("without", contractStatus="NonCompliant")
        await live.shows("pinned", contractStatus="NonCompliant")


def _key_map(key: Key) -> dict[str, object]:
    return {"metadata": {"name": "keys"}, "data": {"cosign.pub": public_pem(key).decode()}}


async def test_an_unsigned_contract_is_not_used_until_a_trusted_key_has_signed_it(
    plane: Api, tmp_path: Path, registries: tuple[str, str]
) -> None:
    host, (old, new) = registries[0], (signing_key(), signing_key())
    digest = await push(host, "port/signed:1.0.0", contract())
    ref = {"oci": f"{host}/port/signed", "verifyKeyRef": {"name": "keys"}}
    async with operating(plane, tmp_path) as live, RestClient() as client:
        signed = Signed(registry_of(client), f"{host}/port/signed", digest)
        await live.declare(contractRef=ref)
        obj = await live.shows(contractStatus="NonCompliant")
        assert obj["status"]["validation"]["errors"][0]["path"] == "spec.contractRef.verifyKeyRef"
        await live.says("SignatureVerified", "Unknown", "KeyUnusable")
        keys = {"metadata": {"name": "keys"}, "stringData": {"cosign.pub": "no key"}}
        await live.client.create(SECRET.path(live.namespace), keys)
        await eventually(
            live.get, lambda obj: "not a public key" in obj["status"]["validation"]["errors"][0]["message"]
        )
        # Two keys, as while one replaces the other.
        pem = (public_pem(old) + public_pem(new)).decode()
        await live.client.merge(SECRET.path(live.namespace, "keys"), {"stringData": {"cosign.pub": pem}})
        condition = await live.says("Reconciling", "True", "SignaturePending")
        assert digest in condition["message"]
        assert "has no signature" in condition["message"]
        obj = await live.shows(contractVersion=None, contract=None)
        assert await live.revisions() == []
        await signed.tag(new)
        await live.change({"metadata": {"annotations": {REQUESTED: "now"}}})
        await live.shows(contractStatus="Reference", contractVersion="1.0.0")
        await live.says("SignatureVerified", "True", "Verified")
        await live.client.merge(
            SECRET.path(live.namespace, "keys"), {"stringData": {"cosign.pub": public_pem(old).decode()}}
        )
        await live.says("SignatureVerified", "False", "SignatureInvalid")
        await live.shows(contractStatus="NonCompliant", contractVersion=None)
        # Who does not ask for a signature is not affected.
        await live.declare("other", contractRef={"oci": f"{host}/port/signed"})
        obj = await live.shows("other", contractStatus="Reference")
        assert "SignatureVerified" not in {each["type"] for each in obj["status"]["conditions"]}


async def test_a_new_value_of_the_annotation_asks_the_registry_at_once(
    plane: Api, tmp_path: Path, registries: tuple[str, str]
) -> None:
    public = registries[0]
    await push(public, "port/pushed:1.0.0", contract())
    async with operating(plane, tmp_path) as live:
        await live.declare(contractRef={"oci": f"{public}/port/pushed"})
        await live.shows(contractVersion="1.0.0")
        await push(public, "port/pushed:1.1.0", contract("1.1.0"))
        await asyncio.sleep(0.3)
        assert (await live.get())["status"]["contractVersion"] == "1.0.0"
        await live.change({"metadata": {"annotations": {REQUESTED: "now"}}})
        await live.shows(contractVersion="1.1.0")
        assert len(await eventually(live.revisions, lambda found: len(found) == 2)) == 2


async def test_a_slow_endpoint_does_not_delay_the_report(plane: Api, tmp_path: Path) -> None:
    may_answer = asyncio.Event()

    async def stall(_: web.Request) -> web.StreamResponse:
        await may_answer.wait()
        return web.Response(text="ok")

    async with serving(stall) as proxy, operating(plane, tmp_path, environment={"HTTP_PROXY": proxy}) as live:
        await _declare_bound(live, contract(runtime=HEALTH))
        await live.says("HealthEndpointValid", "Unknown", "ProbePending")
        obj = await live.get()
        assert obj["status"]["contractStatus"] == "Compliant"
        assert obj["status"]["summary"]["failed"] == 0
        assert "endpoints" not in obj["status"]
        await live.client.merge(SERVICE.path(live.namespace, "quay"), {"spec": {"ports": [{"port": 9090}]}})
        await live.shows(contractStatus="Warning")
        may_answer.set()
        await live.says("HealthEndpointValid", "True", "OK")


async def test_a_registry_that_stalls_delays_no_other_pacto(plane: Api, tmp_path: Path) -> None:
    async def stall(_: web.Request) -> web.StreamResponse:
        await asyncio.sleep(120)
        return web.Response()

    async with serving(stall) as url, operating(plane, tmp_path) as live:
        host = url.removeprefix("http://")
        for number in range(20):
            await live.declare(f"slow-{number}", contractRef={"oci": f"{host}/port/slow-{number}"})
        await live.declare(contractRef={"inline": contract()})
        await live.shows(contractStatus="Reference")
        await live.says("Reconciling", "True", "LoadingContract", "slow-3")


@pytest.mark.parametrize("version", ["1.0.0+build.7", "2.0.0-RC.1"])
async def test_a_version_that_no_name_can_hold_has_a_revision(plane: Api, tmp_path: Path, version: str) -> None:
    name = "a" * 200
    async with operating(plane, tmp_path) as live:
        await live.declare(name, contractRef={"inline": contract(version)})
        (revision,) = await eventually(live.revisions)
        assert revision["spec"]["version"] == version
        assert (await live.shows(name, contractStatus="Reference"))["status"]["currentRevision"] == revision[
            "metadata"
        ]["name"]


async def test_a_restart_repeats_no_verdict_on_an_endpoint(api: Api, tmp_path: Path) -> None:
    async with operating(api, tmp_path) as live:
        await _declare_bound(live, contract(runtime=HEALTH))
        await live.says("HealthEndpointValid", "False", "ConnectionFailed")
        await live.shows(contractStatus="Warning")
        before, told = await live.get(), await eventually(lambda: live.events("ValidationFailed"))
    async with operating(api, tmp_path) as live:
        await eventually(lambda: "pacto_endpoint_probes_total 1.0" in live.manager.metrics.text().decode())
        await asyncio.sleep(0.3)
        assert (await live.get())["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]
        assert await live.events("ValidationFailed") == told


async def test_a_restart_without_the_registry_keeps_the_verdict(api: Api, tmp_path: Path) -> None:
    with running_registry(tmp_path / "registry") as host:
        await push(host, "port/kept:1.0.0", contract())
        async with operating(api, tmp_path) as live:
            await live.declare(contractRef={"oci": f"{host}/port/kept"})
            await live.shows(contractStatus="Reference", contractVersion="1.0.0")
    async with operating(api, tmp_path) as live:
        condition = await live.says("Ready", "Unknown", "RegistryUnreachable")
        assert condition["message"].startswith("The status is out of date: failed to load the contract: ")
        obj = await live.shows(contractStatus="Reference", contractVersion="1.0.0")
        assert not await live.events("ContractInvalid")
        await live.change({"spec": {"contractRef": {"oci": f"{host}/port/other"}}})
        obj = await live.shows(contractStatus="NonCompliant", contractVersion=None)
        assert "Ready" not in {each["type"] for each in obj["status"]["conditions"]}


async def test_a_served_document_that_lacks_a_path_is_reported_once_also_over_a_restart(
    plane: Api, tmp_path: Path, registries: tuple[str, str]
) -> None:
    host = registries[0]
    served: JsonObject = {"paths": {"/a": {}, "/b": {}}}
    text = contract().replace("port: 8080", "port: 8080, contract: api.json")
    async with RestClient() as client:
        files = {"pacto.yaml": text.encode(), "api.json": json.dumps(served).encode()}
        await push_files(registry_of(client), f"{host}/port/drifts:1.0.0", files)

    async def serve(_: web.Request) -> web.StreamResponse:
        return web.json_response(served)

    async with serving(serve) as proxy:
        environment = {"HTTP_PROXY": proxy}
        async with operating(plane, tmp_path, environment=environment) as live:
            await live.run()
            checks = {"openapi": [{"interface": "web"}], "severities": {"OpenApiMatch": "error"}}
            ref = {"oci": f"{host}/port/drifts"}
            await live.declare(contractRef=ref, target={"serviceName": "quay"}, checks=checks)
            await live.says("OpenApiMatch", "True", "Match")
            del served["paths"]["/b"]
            await live.change({"spec": {"checkIntervalSeconds": 301}})
            condition = await live.says("OpenApiMatch", "False", "BreakingDrift")
            assert "1 breaking, 0 potentially breaking and 0 other changes" in condition["message"]
            obj = await live.shows(contractStatus="NonCompliant")
            url = f"http://quay.{live.namespace}.svc:8080/openapi.json"
            assert obj["status"]["apiDrift"][0]["url"] == url
            series = "pacto_openapi_drift_changes|{}|web|quay".format
            assert live.figures()[series("BREAKING")] == 1
            await eventually(lambda: live.events("OpenApiDrift"))
        async with operating(plane, tmp_path, environment=environment) as live:
            await eventually(lambda: "pacto_endpoint_probes_total 1.0" in live.manager.metrics.text().decode())
            await live.shows(contractStatus="NonCompliant")
            assert [each.get("count", 1) for each in await live.events("OpenApiDrift")] == [1]
            await live.change({"spec": {"checks": None}})
            obj = await live.shows(contractStatus="Compliant", apiDrift=None)
            assert "OpenApiMatch" not in {each["type"] for each in obj["status"]["conditions"]}
            assert series("BREAKING") not in live.figures()


async def test_a_dry_run_loads_contracts_and_gives_verdicts(
    plane: Api, tmp_path: Path, registries: tuple[str, str]
) -> None:
    await install(plane.client, contracts.KINDS)
    await push(registries[0], "port/dry:1.0.0", contract())
    manager = Manager(plane.client, namespace=plane.namespace, directory=tmp_path)
    live = Live(plane.client, plane.namespace, manager)
    for number in range(12):
        await live.declare(
            f"dry-{number}", contractRef={"oci": f"{registries[0]}/port/dry"}, target={"serviceName": "x"}
        )
    manager.add("contracts", contracts.register)
    plans = await manager.plan()
    assert [plan.decision.status["contractStatus"] for plan in plans if plan.decision] == ["NonCompliant"] * 12
    assert str(plans[0].decision.actions[0] if plans[0].decision else "").startswith("create revision dry-")
    assert await live.revisions() == []
    assert "status" not in await live.get("dry-0")
