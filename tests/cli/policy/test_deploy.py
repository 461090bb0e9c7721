"""`homeostat policy deploy`: what is printed is accepted by a server, suffices, and keeps our own rules."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from homeostat.cli.operators.deploy.site import Site
from homeostat.cli.operators.deploy.workloads import workload_documents
from homeostat.cli.policy.deploy import OPERATOR, WEBHOOK, access_documents, components, monitoring_documents
from homeostat.client.base import Client
from homeostat.client.connect import open_client
from homeostat.client.endpoint.endpoint import Endpoint
from homeostat.objects import yaml
from homeostat.objects.errors import ForbiddenError
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import DEPLOYMENT, NAMESPACE, POD, SECRET
from homeostat.operators.policy.access import webhook_rules
from homeostat.operators.policy.api import CLUSTER_DEVOPS_POLICY, DEVOPS_POLICY, KINDS
from homeostat.operators.policy.live.pod_health import PodHealth
from homeostat.operators.policy.metrics import Series
from homeostat.plane import Plane, Settings, open_plane
from homeostat.runtime.installation import install
from homeostat.testing.eventually import eventually
from tests.cli.applying import apply
from tests.cli.policy_files import BARE, deployment
from tests.cli.running import Cli
from tests.cluster.fixtures import Api

SITE = Site(name="kube-devops", namespace="ops", image="registry.example.com/homeostat:1.0")
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


async def test_every_document_is_accepted_by_a_server(api: Api) -> None:
    site = msgspec.structs.replace(SITE, namespace=f"{api.namespace}-ops")
    await apply(api.client, MONITORS)
    await install(api.client, KINDS)
    definitions = [each.definition() for each in KINDS]
    documents = [
        *definitions,
        *access_documents(site),
        *workload_documents(site, components(site)),
        *monitoring_documents(site),
    ]
    await eventually(lambda: apply(api.client, *documents), lambda _: True)
    found = await api.client.get(DEPLOYMENT.path(site.namespace, OPERATOR))
    arguments = found["spec"]["template"]["spec"]["containers"][0]["args"]
    assert arguments[:4] == ["run", "--operators", "policy", "--leader-elect"]


def _namespace(name: str) -> JsonObject:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


async def test_a_read_only_operator_may_not_change_workloads(tmp_path: Path) -> None:
    async with plane_of(tmp_path) as plane:
        await apply(plane.client, *access_documents(SITE, can_enforce=False), _namespace("shop"))
        await plane.client.create(DEPLOYMENT.path("shop"), deployment(BARE))
        async with acting_as(plane, OPERATOR) as client:
            await client.list(DEPLOYMENT.path("shop"))
            with pytest.raises(ForbiddenError):
                await client.merge(DEPLOYMENT.path("shop", "web"), {"spec": {"replicas": 0}})


async def test_the_webhook_reads_policies_and_namespaces_and_writes_its_own_secret_alone(tmp_path: Path) -> None:
    async with plane_of(tmp_path) as plane:
        await install(plane.client, KINDS)
        await apply(plane.client, *access_documents(SITE))
        async with acting_as(plane, WEBHOOK) as client:
            for kind in (DEVOPS_POLICY.kind, CLUSTER_DEVOPS_POLICY.kind, NAMESPACE):
                await client.list(kind.path(""))
            with pytest.raises(ForbiddenError):
                await client.list(POD.path(""))
            for name in (f"{WEBHOOK}-tls", "other"):
                body = {"metadata": {"name": name}, "data": {}}
                await plane.client.create(SECRET.path(SITE.namespace), body)
            await client.merge(SECRET.path(SITE.namespace, f"{WEBHOOK}-tls"), {"data": {"tls.crt": ""}})
            with pytest.raises(ForbiddenError):
                await client.get(SECRET.path(SITE.namespace, "other"))
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
        (("rbac",), 11),
        (("generate-rbac",), 11),
        (("rbac", "--alone"), 3),
        (("rbac", "--alone", "--read-only"), 3),
        (("deployments",), 6),
        (("monitoring",), 3),
        (("all",), 20),
        (("generate-all", "--monitoring"), 23),
    ],
)
def test_every_document_parses(cli: Cli, arguments: tuple[str, ...], kinds: int) -> None:
    documents = list(yaml.load_all(cli.here("policy", "deploy", *arguments).out.encode()))
    assert len(documents) == kinds
    assert all(each["apiVersion"] and each["kind"] and each["metadata"]["name"] for each in documents)
    assert cli.here("policy", "deploy", *arguments, "-o", "json").json["items"] == documents


def test_a_single_replica_has_no_budget_that_would_block_the_drain_of_its_node(cli: Cli) -> None:
    for arguments in (("all",), ("deployments",)):
        printed = cli.here("policy", "deploy", *arguments, "--replicas", "1").out
        kinds = {each["kind"] for each in yaml.load_all(printed.encode())}
        assert ("Deployment" in kinds, "PodDisruptionBudget" in kinds) == (True, False)


@pytest.mark.parametrize("options", [(), ("--read-only",)], ids=["enforces", "reads"])
def test_an_operator_alone_has_an_account_a_role_of_seven_rules_and_a_binding(
    cli: Cli, options: tuple[str, ...]
) -> None:
    printed = cli.here("policy", "deploy", "rbac", "--alone", *options).out
    account, role, binding = yaml.load_all(printed.encode())
    assert [each["kind"] for each in (account, role, binding)] == [
        "ServiceAccount",
        "ClusterRole",
        "ClusterRoleBinding",
    ]
    assert len(role["rules"]) == 7
    patched = {name for rule in role["rules"] if "patch" in rule["verbs"] for name in rule["resources"]}
    assert ("deployments" in patched) == (not options)
    assert binding["subjects"][0]["name"] == account["metadata"]["name"]


def test_the_dashboard_shows_every_metric_in_places_that_do_not_overlap() -> None:
    from homeostat.edge.metrics.histogram import Histogram
    from tests.web.reviewing import complete_metrics

    text = monitoring_documents(SITE)[-1]["data"]["kube-devops.json"]
    series = Series(lambda: ({}, Histogram((1.0,))))
    for each in (series, PodHealth(), complete_metrics()):
        for family in each.collect():
            assert family.name in text
    panels = [each["gridPos"] for each in msgspec.json.decode(text)["panels"]]
    cells = [(x, y) for p in panels for x in range(p["x"], p["x"] + p["w"]) for y in range(p["y"], p["y"] + p["h"])]
    assert len(cells) == len(set(cells))
    assert len(panels) >= 25
    assert max(x for x, _ in cells) == 23


def test_objects_with_a_counterpart_have_the_names_of_the_original() -> None:
    workloads = workload_documents(SITE, components(SITE))
    names = {(each["kind"], each["metadata"]["name"]) for each in (*workloads, *monitoring_documents(SITE))}
    for component in ("reconcile", "webhook"):
        for kind in ("Deployment", "PodDisruptionBudget", "Service", "ServiceMonitor"):
            assert (kind, f"kube-devops-{component}") in names
    assert ("ConfigMap", "kube-devops-grafana-dashboard") in names
    labels = {each["metadata"]["labels"]["app.kubernetes.io/component"] for each in workloads}
    assert labels == {"reconcile", "webhook"}
    shown = msgspec.json.decode(monitoring_documents(SITE)[-1]["data"]["kube-devops.json"])
    assert (shown["uid"], shown["title"]) == ("kube-devops-overview", "kube-devops Observability")
    assert shown["tags"] == ["kubernetes", "kube-devops"]


def test_the_definitions_that_are_kept_are_those_of_the_code(cli: Cli) -> None:
    kept = Path(__file__).parents[3] / "deploy" / "crds" / "policy.yaml"
    assert kept.read_text() == cli.here("crds", "--operators", "policy").out
