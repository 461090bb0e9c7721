"""`homeostat policy deploy`: what is printed is accepted by a server, suffices, and keeps our own rules."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from homeostat.cli.policydashboard import dashboard
from homeostat.cli.policymonitoring import monitoring_documents
from homeostat.cli.policyroles import access_documents, operator_rules, webhook_rules
from homeostat.cli.policysite import OPERATOR, WEBHOOK, Site
from homeostat.cli.policyworkloads import workload_documents
from homeostat.client.base import Client, Response, Transport
from homeostat.client.connect import open_client
from homeostat.client.discovery import fetch_kinds
from homeostat.client.endpoint import Endpoint
from homeostat.objects import yaml
from homeostat.objects.errors import ForbiddenError
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import DEPLOYMENT, EVENT, LEASE, NAMESPACE, POD
from homeostat.operators import policy
from homeostat.operators.policy.api import CLUSTER_DEVOPS_POLICY, DEVOPS_POLICY, FINALIZER, KINDS, POLICY_AUDIT_RESULT
from homeostat.operators.policy.census import Census
from homeostat.operators.policy.series import Series
from homeostat.plane import Plane, Settings, open_plane
from homeostat.runtime.installation import install
from homeostat.runtime.manager import Manager
from homeostat.testing.eventually import eventually
from tests.cli.policyfiles import BARE, deployment, pod
from tests.cli.running import Cli

SITE = Site(namespace="ops", image="registry.example.com/homeostat:1.0")
MONITORS: JsonObject = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "servicemonitors.monitoring.coreos.com"},
    "spec": {
        "group": "monitoring.coreos.com",
        "scope": "Namespaced",
        "names": {"plural": "servicemonitors", "kind": "ServiceMonitor"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}


@asynccontextmanager
async def plane_of(tmp_path: Path) -> AsyncIterator[Plane]:
    settings = Settings(data=tmp_path / "data", port=0, operators=frozenset())
    async with open_plane(settings) as plane:
        yield plane


async def apply(client: Client, *documents: JsonObject) -> None:
    kinds = {(each.api_version, each.kind): each for each in await fetch_kinds(client)}
    for each in documents:
        kind, metadata = kinds[each["apiVersion"], each["kind"]], each["metadata"]
        path = kind.path(metadata.get("namespace", ""), metadata["name"])
        query = {"fieldManager": "test", "fieldValidation": "Strict"}
        await client.request("PATCH", path, query, body=each, content_type="application/apply-patch+yaml")


async def token_of(client: Client, account: str) -> str:
    path = f"/api/v1/namespaces/{SITE.namespace}/serviceaccounts/{account}/token"
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 600}}
    found: str = (await client.create(path, body))["status"]["token"]
    return found


@asynccontextmanager
async def acting_as(plane: Plane, account: str) -> AsyncIterator[Client]:
    authority = (plane.settings.data / "pki" / "ca.crt").read_bytes()
    token = await token_of(plane.client, account)
    async with open_client(Endpoint(server=plane.url, authority=authority, token=token)) as client:
        yield client


class Noting:
    """A transport that notes what is asked, and what was refused."""

    def __init__(self, transport: Transport, asked: set[tuple[str, str]], refused: list[str]) -> None:
        self._transport, self._asked, self._refused = transport, asked, refused

    async def send(self, method: str, path: str, **options: str | bytes) -> Response:
        answer = await self._transport.send(method, path, **options)  # type: ignore[arg-type]
        self._note(method, path, answer.status)
        return answer

    async def stream(self, path: str, **options: str) -> Response | AsyncIterator[bytes]:
        answer = await self._transport.stream(path, **options)
        self._note("WATCH", path, answer.status if isinstance(answer, Response) else 200)
        return answer

    def _note(self, method: str, path: str, status: int) -> None:
        parts = path.strip("/").split("/")[2 if path.startswith("/api/") else 3 :]
        if parts[:1] == ["namespaces"] and len(parts) > 2:
            parts = parts[2:]
        self._asked.add((method, "/".join([parts[0], *parts[2:]]) if parts else ""))
        if status == 403:
            self._refused.append(f"{method} {path}")


async def test_every_document_is_accepted_by_a_server(tmp_path: Path) -> None:
    async with plane_of(tmp_path) as plane:
        await apply(plane.client, MONITORS)
        await install(plane.client, KINDS)
        documents = [*access_documents(SITE), *workload_documents(SITE), *monitoring_documents(SITE)]
        await eventually(lambda: apply(plane.client, *documents), lambda _: True)
        found = await plane.client.get(DEPLOYMENT.path("ops", OPERATOR))
        assert found["spec"]["template"]["spec"]["containers"][0]["args"][:4] == [
            "run",
            "--operators",
            "policy",
            "--leader-elect",
        ]


async def test_the_operator_does_everything_it_can_do_as_its_service_account(tmp_path: Path) -> None:
    asked: set[tuple[str, str]] = set()
    refused: list[str] = []
    async with plane_of(tmp_path) as plane:
        admin = plane.client
        await install(admin, KINDS)
        await apply(admin, *access_documents(SITE), _namespace("shop"))
        async with acting_as(plane, OPERATOR) as client:
            manager = Manager(client.over(lambda transport: Noting(transport, asked, refused)), leases=SITE.namespace)
            manager.add("policy", policy.register)
            async with manager.running():
                await _declare(admin)
                await _check_effects(admin)
    assert refused == []
    wanted = {resource for rule in operator_rules(can_enforce=True) for resource in rule["resources"]}
    used = {resource for _, resource in asked}
    assert wanted - used == {"devopspolicies/finalizers", "clusterdevopspolicies/finalizers"}


async def _declare(admin: Client) -> None:
    await admin.create(DEPLOYMENT.path("shop"), deployment(BARE))
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-5d4f8b9c7f", "uid": "u", "controller": True}
    body = pod(BARE)
    body["metadata"]["ownerReferences"] = [owner]
    await admin.create(POD.path("shop"), body)
    rule = {"name": "account", "expression": "has(object.spec.nothing)"}
    spec = {"enforcementMode": "enforce", "requireLivenessProbe": True, "requireDisruptionBudget": True}
    kept = {"auditResults": {"retention": 1}, "defaultProbe": {"tcpPort": 80}}
    body = {"metadata": {"name": "main"}, "spec": {**spec, **kept, "forbidLatestTag": True, "rules": [rule]}}
    for kind, namespace in ((DEVOPS_POLICY.kind, "shop"), (CLUSTER_DEVOPS_POLICY.kind, "")):
        own = body if namespace else {**body, "spec": {"forbidLatestTag": True}}
        await admin.create(kind.path(namespace), {"apiVersion": kind.api_version, "kind": kind.kind, **own})


async def _check_effects(admin: Client) -> None:
    own, wide = DEVOPS_POLICY.kind.path("shop", "main"), CLUSTER_DEVOPS_POLICY.kind.path("", "main")
    results = POLICY_AUDIT_RESULT.kind.path("shop")
    await eventually(lambda: admin.get(own), lambda each: each["status"]["remediatedWorkloads"])
    await eventually(lambda: admin.get(wide), lambda each: each["status"]["healthScore"] == 95)
    await eventually(lambda: admin.list(EVENT.path("shop")), lambda found: found[0])
    await eventually(lambda: admin.list(results), lambda found: found[0])
    await admin.merge(POD.path("shop", "web", "status"), {"status": {"phase": "Running"}})
    await admin.merge(own, {"spec": {"maxRestartCount": 1, "forbidPendingDuration": 1, "requireReadinessProbe": True}})
    await eventually(lambda: admin.get(own), lambda each: each["status"]["observedGeneration"] == 2)
    assert FINALIZER in (await admin.get(own))["metadata"]["finalizers"]
    assert (await admin.list(LEASE.path(SITE.namespace)))[0]
    for path in (own, wide):
        await admin.delete(path)
    await eventually(lambda: admin.list(DEVOPS_POLICY.kind.path("")), lambda found: not found[0])


def _namespace(name: str) -> JsonObject:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


async def test_a_read_only_operator_may_not_change_workloads(tmp_path: Path) -> None:
    site = msgspec.structs.replace(SITE, can_enforce=False)
    async with plane_of(tmp_path) as plane:
        await apply(plane.client, *access_documents(site), _namespace("shop"))
        await plane.client.create(DEPLOYMENT.path("shop"), deployment(BARE))
        async with acting_as(plane, OPERATOR) as client:
            await client.get(DEPLOYMENT.path("shop", "web"))
            with pytest.raises(ForbiddenError):
                await client.merge(DEPLOYMENT.path("shop", "web"), {"spec": {"replicas": 0}})


async def test_the_webhook_reads_policies_and_namespaces_and_nothing_else(tmp_path: Path) -> None:
    async with plane_of(tmp_path) as plane:
        await install(plane.client, KINDS)
        await apply(plane.client, *access_documents(SITE))
        async with acting_as(plane, WEBHOOK) as client:
            for kind in (DEVOPS_POLICY.kind, CLUSTER_DEVOPS_POLICY.kind, NAMESPACE):
                await client.list(kind.path(""))
            with pytest.raises(ForbiddenError):
                await client.list(POD.path(""))
    assert all(set(rule["verbs"]) <= {"list", "watch"} for rule in webhook_rules())


def test_what_is_deployed_keeps_the_hardest_of_our_own_rules(cli: Cli, tmp_path: Path) -> None:
    image = f"registry.example.com/homeostat:1.0@sha256:{'0' * 64}"
    printed = cli.here("policy", "deploy", "all", "--monitoring", "-n", "ops", "--image", image)
    done = cli.here("policy", "check", "-", "--bundle", "hardened", "-o", "json", stdin=printed.out)
    assert (done.code, done.json["violations"]) == (0, [])
    assert done.json["scores"][0]["pods"] == 2


@pytest.mark.parametrize(
    ("arguments", "kinds"),
    [
        (("rbac",), 9),
        (("generate-rbac",), 9),
        (("deployments",), 6),
        (("monitoring",), 3),
        (("all",), 18),
        (("generate-all", "--monitoring"), 21),
    ],
)
def test_every_document_parses(cli: Cli, arguments: tuple[str, ...], kinds: int) -> None:
    documents = list(yaml.load_all(cli.here("policy", "deploy", *arguments).out.encode()))
    assert len(documents) == kinds
    assert all(each["apiVersion"] and each["kind"] and each["metadata"]["name"] for each in documents)
    assert cli.here("policy", "deploy", *arguments, "-o", "json").json["items"] == documents


def test_the_dashboard_shows_every_metric_in_places_that_do_not_overlap() -> None:
    from homeostat.edge.tally import Tally
    from homeostat.web.admissionmetrics import AdmissionMetrics

    text = msgspec.json.encode(dashboard()).decode()
    series = Series(lambda: ({}, Tally((1.0,))))
    for each in (series, Census(), AdmissionMetrics()):
        for family in each.collect():
            assert family.name in text
    panels = [each["gridPos"] for each in dashboard()["panels"]]
    cells = [(x, y) for p in panels for x in range(p["x"], p["x"] + p["w"]) for y in range(p["y"], p["y"] + p["h"])]
    assert len(cells) == len(set(cells))
    assert len(panels) >= 25
    assert max(x for x, _ in cells) == 23


def test_the_definitions_that_are_kept_are_those_of_the_code(cli: Cli) -> None:
    kept = Path(__file__).parents[2] / "deploy" / "crds" / "policy.yaml"
    assert kept.read_text() == cli.here("crds", "--operators", "policy").out
