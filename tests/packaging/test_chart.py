"""The chart: its generated files are up to date, and it installs what `homeostat deploy` prints."""

from __future__ import annotations

import base64
import json
import re
import shlex
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509

from homeostat import __version__
from homeostat.cli.operators.deploy import chosen_operators
from homeostat.cli.operators.deploy.manifests import deployment_documents
from homeostat.cli.operators.deploy.site import Site
from homeostat.cli.operators.deploy.tls import TlsFiles
from homeostat.objects import yaml
from homeostat.objects.json import JsonObject
from homeostat.operators.catalog import OURS
from homeostat.web.certificates.authority import Certificates, renew_certificate
from tests.packaging.charting import CHART, Helm, HelmError, all_of, one, open_helm
from tools.build_cluster import KUBERNETES
from tools.generate_manifests import stale_files

HOOK = "homeostat-policy-webhook"
TLS = TlsFiles(b"authority", b"certificate", b"key", b"authority key")
SERVED = {"faces": {"enabled": True}, "webhooks": {"enabled": True}}
MONITORED = {"serviceMonitor": {"enabled": True}, "prometheusRule": {"enabled": True}, "dashboards": {"enabled": True}}
PLANE = {"enabled": True, "metrics": {"secret": "scraper"}}
REPLICAS = {
    **PLANE,
    "replicas": 3,
    "database": {"url": "postgresql://plane@db.example/plane", "passwordSecret": {"name": "db"}},
    "persistence": {"accessMode": "ReadWriteMany"},
}
INGRESS = {"enabled": True, "hosts": ["ops.example.com"], "className": "nginx", "tlsSecret": "ops-tls"}
ROUTE = {"enabled": True, "hostnames": ["ops.example.com"], "parentRefs": [{"name": "gateway"}]}
FILES: dict[str, list[Any]] = {
    "volumes": [{"name": "keys", "secret": {"secretName": "keys"}}],
    "volumeMounts": [{"name": "keys", "mountPath": "/keys", "readOnly": True}],
}
VALUES: dict[str, dict[str, Any]] = {
    "as it is": {},
    "one operator": {"operators": ["images"], "replicas": 1},
    "one namespace": {"watchNamespace": "shop", **SERVED},
    "everything": {**SERVED, "monitoring": MONITORED, "networkPolicy": {"enabled": True}, "plane": PLANE},
    "cert-manager": {**SERVED, "certificates": {"source": "cert-manager"}, "monitoring": MONITORED},
    "openshift": {**SERVED, "certificates": {"source": "openshift"}, "monitoring": MONITORED},
    "secrets": {
        **SERVED,
        "certificates": {"source": "secret", "authority": "PEM", "secrets": {"faces": "mine", "policy": "hook"}},
    },
    "the plane alone": {"operators": [], "plane": {"enabled": True}},
    "replicas": {"operators": [], "plane": REPLICAS, "networkPolicy": {"enabled": True}},
    "exposed": {
        "faces": {"enabled": True, "ingress": INGRESS, "httpRoute": ROUTE},
        "plane": {**PLANE, **FILES, "ingress": INGRESS, "httpRoute": ROUTE},
        **FILES,
    },
    "own": {"operators": [], "ownOperators": [{"name": "greeter", "source": "KINDS = ()", "rules": []}]},
}


NO_DASHBOARD = {"enabled": True, "dashboard": False}


@pytest.fixture(scope="module")
def helm(tmp_path_factory: pytest.TempPathFactory) -> Helm:
    return open_helm(tmp_path_factory.mktemp("helm"))


def test_generated_files_are_up_to_date() -> None:
    assert stale_files() == [], "run: make format"


def test_the_schema_names_every_operator_and_every_value() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text())
    assert schema["properties"]["operators"]["items"]["enum"] == list(OURS)
    values = yaml.load((CHART / "values.yaml").read_bytes())
    assert values["operators"] == list(OURS)
    assert sorted(schema["properties"]) == sorted([*values, "global"])


@pytest.mark.parametrize("case", ["as it is", "everything"])
def test_lint_finds_nothing(helm: Helm, case: str) -> None:
    assert "0 chart(s) failed" in helm("lint", str(CHART), "--strict", *helm.values(VALUES[case]))


@pytest.fixture(scope="module")
def rendered(helm: Helm) -> dict[str, list[JsonObject]]:
    return {name: helm.template(values) for name, values in VALUES.items()}


def test_every_object_has_a_name_of_its_own(rendered: dict[str, list[JsonObject]]) -> None:
    for case, found in rendered.items():
        names = [(each["kind"], each["metadata"].get("namespace"), each["metadata"]["name"]) for each in found]
        assert len(names) == len(set(names)), case
        assert not re.findall(r"@(?:namespace|service|within)@", str(found)), case


def deployed(values: dict[str, Any]) -> list[JsonObject]:
    """What `homeostat deploy` prints for them."""
    operators = values.get("operators", list(OURS))
    is_monitored = "monitoring" in values
    tls, faces = (TLS if each in values else None for each in ("webhooks", "faces"))
    return deployment_documents(
        Site(namespace="ops", replicas=values.get("replicas", 2)),
        chosen_operators(",".join(operators)),
        within=values.get("watchNamespace", ""),
        tls=tls,
        faces_tls=faces,
        is_monitored=is_monitored,
    )


def pod(deployment: JsonObject) -> JsonObject:
    """Its Pods, without labels and what only a chart says."""
    spec: JsonObject = json.loads(json.dumps(deployment["spec"]["template"]["spec"]))
    del spec["topologySpreadConstraints"]
    (container,) = spec["containers"]
    del container["name"]
    container.pop("imagePullPolicy", None)
    container["ports"].sort(key=lambda each: each["name"])
    container.get("env", []).sort(key=lambda each: each["name"])
    return spec


_EXTENDS = re.compile("rbac.authorization.k8s.io/aggregate-to-")


def granted(found: list[JsonObject], namespace: str | None) -> set[tuple[str, str, str, tuple[str, ...]]]:
    """Verbs on resources, in all namespaces or in one."""
    roles = [each for each in all_of(found, "ClusterRole", "Role") if each["metadata"].get("namespace") == namespace]
    return {
        (group, resource, verb, tuple(rule.get("resourceNames", ())))
        for role in roles
        for rule in role["rules"]
        for group in rule.get("apiGroups", [""])
        for resource in rule.get("resources") or rule.get("nonResourceURLs", ())
        for verb in rule["verbs"]
    }


@pytest.mark.parametrize("case", ["as it is", "one operator", "one namespace", "everything"])
def test_the_chart_installs_what_deploy_prints(rendered: dict[str, list[JsonObject]], case: str) -> None:
    ours, printed = rendered[case], deployed(VALUES[case])
    ours = [each for each in ours if "plane" not in each["metadata"]["name"]]
    for deployment in all_of(printed, "Deployment"):
        assert pod(one(ours, "Deployment", deployment["metadata"]["name"])) == pod(deployment)
    for service in all_of(printed, "Service"):
        ports = one(ours, "Service", service["metadata"]["name"])["spec"]["ports"]
        assert sorted(ports, key=str) == sorted(service["spec"]["ports"], key=str)
    # Of each operator alone: together with an operator of cluster-scoped kinds, all would write Events everywhere.
    alone = [
        each for name in VALUES[case].get("operators", OURS) for each in deployed({**VALUES[case], "operators": [name]})
    ]
    for namespace in (None, "ops", "default", "shop"):
        assert granted(ours, namespace) == granted(alone, namespace), namespace
    for kind in ("Deployment", "Service", "Secret", "PodDisruptionBudget", "CustomResourceDefinition"):
        assert names(ours, kind) == names(printed, kind)
    if case == "everything":
        alerts = [one(each, "PrometheusRule")["spec"]["groups"] for each in (ours, printed)]
        assert alerts[0][0]["name"] == "homeostat-plane"
        assert alerts[0][1:] == alerts[1]
        assert names(ours, "ServiceMonitor") == names(printed, "ServiceMonitor")


@pytest.mark.parametrize("printed", [False, True], ids=["chart", "deploy"])
def test_within_a_namespace_nothing_is_granted_elsewhere(rendered: dict[str, list[JsonObject]], printed: bool) -> None:
    """Neither Secrets nor the objects that users declare; except the webhook of policies, which serves all.

    Roles that extend those of users are bound to nobody here.
    """
    found = deployed(VALUES["one namespace"]) if printed else rendered["one namespace"]
    found = [each for each in found if not any(map(_EXTENDS.match, each["metadata"].get("labels", {})))]
    everywhere = granted([each for each in found if not each["metadata"]["name"].endswith("webhook")], None)
    namespaced = {"secrets", "configmaps", "pactos", "syncpolicies", "imageupdates", "devopspolicies", "deployments"}
    assert {(resource, verb) for _, resource, verb, _ in everywhere if resource in namespaced} == set()
    assert ("", "events", "list", ()) not in everywhere
    assert "secrets" not in {resource for _, resource, _, _ in granted(found, None)}
    near = granted(found, "shop")
    assert {("", "secrets", "get", ()), ("declarest.io", "syncpolicies", "patch", ())} <= near


def names(found: list[JsonObject], kind: str) -> set[str]:
    return {each["metadata"]["name"] for each in all_of(found, kind)}


def webhooks(found: list[JsonObject]) -> list[JsonObject]:
    return [hook for each in all_of(found, "ValidatingWebhookConfiguration") for hook in each["webhooks"]]


def test_api_servers_call_what_deploy_configures(rendered: dict[str, list[JsonObject]]) -> None:
    for case in ("everything", "one namespace"):
        ours, printed = (list(map(untrusted, webhooks(each))) for each in (rendered[case], deployed(VALUES[case])))
        assert sorted(ours, key=str) == sorted(printed, key=str)


def untrusted(webhook: JsonObject) -> JsonObject:
    """Without its authority."""
    client = dict(webhook["clientConfig"])
    assert client.pop("caBundle")
    return {**webhook, "clientConfig": client}


def test_a_generated_certificate_is_trusted_and_can_be_renewed(rendered: dict[str, list[JsonObject]]) -> None:
    found = rendered["everything"]
    for secret, service in (("homeostat-faces-tls", "homeostat"), (f"{HOOK}-tls", HOOK)):
        data = {key: base64.b64decode(text) for key, text in one(found, "Secret", secret)["data"].items()}
        bundles = {
            hook["clientConfig"]["caBundle"]
            for hook in webhooks(found)
            if hook["clientConfig"]["service"]["name"] == service
        }
        assert bundles == {base64.b64encode(data["ca.crt"]).decode()}
        held = Certificates(data["ca.crt"], data["ca.key"], data["tls.crt"], data["tls.key"])
        later = datetime.now(UTC) + timedelta(days=300)
        for each in (held, renew_certificate(held, now=later)):
            leaf = x509.load_pem_x509_certificate(each.certificate)
            leaf.verify_directly_issued_by(x509.load_pem_x509_certificate(each.authority))
            covered = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
            assert f"{service}.ops.svc" in covered.get_values_for_type(x509.DNSName)


def test_what_others_certify_has_no_key_of_ours(rendered: dict[str, list[JsonObject]]) -> None:
    for case in ("cert-manager", "openshift", "secrets"):
        found = rendered[case]
        assert not all_of(found, "Secret"), case
        assert "renew" not in str(all_of(found, "Deployment")), case
    injected = one(rendered["cert-manager"], "ValidatingWebhookConfiguration", f"{HOOK}.ops")
    assert injected["metadata"]["annotations"] == {"cert-manager.io/inject-ca-from": f"ops/{HOOK}"}
    assert one(rendered["cert-manager"], "Certificate", HOOK)["spec"]["secretName"] == f"{HOOK}-tls"
    served = one(rendered["openshift"], "Service", HOOK)
    assert list(served["metadata"]["annotations"].values()) == [f"{HOOK}-tls"]
    assert webhooks(rendered["secrets"])[0]["clientConfig"]["caBundle"] == base64.b64encode(b"PEM").decode()


def test_a_plane_is_not_a_client_of_the_cluster_and_keeps_its_volume(rendered: dict[str, list[JsonObject]]) -> None:
    for case in ("the plane alone", "replicas"):
        found = rendered[case]
        assert not all_of(found, "ServiceAccount", "ClusterRole", "Role", "Deployment"), case
        spec = one(found, "StatefulSet")["spec"]["template"]["spec"]
        assert spec["automountServiceAccountToken"] is False
        claim = one(found, "PersistentVolumeClaim")["metadata"]
        assert claim["annotations"] == {"helm.sh/resource-policy": "keep"}
    assert one(rendered["replicas"], "PodDisruptionBudget")


def test_a_file_of_its_own_is_mounted(rendered: dict[str, list[JsonObject]]) -> None:
    found = rendered["own"]
    assert one(found, "ConfigMap")["data"] == {"greeter.py": "KINDS = ()"}
    container = one(found, "Deployment")["spec"]["template"]["spec"]["containers"][0]
    assert container["args"][:3] == ["run", "--operators", "/operators/greeter.py"]


def test_faces_are_exposed_at_a_port_that_their_service_has(rendered: dict[str, list[JsonObject]]) -> None:
    found = rendered["exposed"]
    services = {each["metadata"]["name"]: each for each in all_of(found, "Service")}
    for name in ("homeostat", "homeostat-plane"):
        (rule,) = one(found, "Ingress", name)["spec"]["rules"]
        assert rule["host"] == "ops.example.com"
        backend = rule["http"]["paths"][0]["backend"]["service"]
        (forwarded,) = one(found, "HTTPRoute", name)["spec"]["rules"][0]["backendRefs"]
        ports = {each["name"]: each["port"] for each in services[name]["spec"]["ports"]}
        assert (backend["name"], forwarded["name"]) == (name, name)
        assert forwarded["port"] == ports[backend["port"]["name"]]


def test_volumes_of_users_are_mounted_beside_ours(rendered: dict[str, list[JsonObject]]) -> None:
    for kind, name in (("Deployment", "homeostat"), ("StatefulSet", "homeostat-plane")):
        spec = one(rendered["exposed"], kind, name)["spec"]["template"]["spec"]
        (container,) = spec["containers"]
        assert {each["name"] for each in container["volumeMounts"]} == {each["name"] for each in spec["volumes"]}
        assert spec["volumes"][-1] == FILES["volumes"][0]
        assert container["volumeMounts"][-1] == FILES["volumeMounts"][0]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"operators": []}, "nothing to install: name operators, or set plane.enabled"),
        ({"operators": ["policies"]}, "operators"),
        ({"replica": 3}, "replica"),
        ({"plane": {"enabled": True, "replicas": 2}}, "set plane.database.url to a PostgreSQL"),
        ({"plane": {**REPLICAS, "persistence": {}}}, "set plane.persistence.accessMode to ReadWriteMany"),
        ({"plane": {**PLANE, "database": {"url": "postgresql://plane:word@db/plane"}}}, "database"),
        ({"certificates": {"source": "secret"}, **SERVED}, "set certificates.secrets.policy"),
        ({"ownOperators": [{"name": "greeter"}]}, "neither a source nor a module"),
        ({"plane": {"enabled": True}, "monitoring": MONITORED}, "set plane.metrics.secret"),
        ({"faces": {"ingress": INGRESS}}, "nothing to forward to: set faces.enabled"),
        ({"operators": ["policy"], "faces": {**NO_DASHBOARD, "httpRoute": ROUTE}}, "nothing to forward to"),
        ({"faces": {"enabled": True, "ingress": {"enabled": True}}}, "faces.ingress: set hosts"),
        ({"plane": {"enabled": True, "httpRoute": {"enabled": True}}}, "plane.httpRoute: set parentRefs"),
    ],
    ids=str,
)
def test_values_that_cannot_work_are_refused_with_what_to_do(helm: Helm, values: JsonObject, expected: str) -> None:
    with pytest.raises(HelmError, match=expected):
        helm.template(values)


def commands_of_the_page() -> Iterator[tuple[str, list[str]]]:
    """The release and the values of each `helm` command; an upgrade has those of the installation, too."""
    text = (CHART.parents[1] / "docs" / "installing.md").read_text("utf-8").replace("\\\n", " ")
    values: dict[str, list[str]] = {}
    for release, options in re.findall(r"^helm (?:install|upgrade) (\w+) deploy/chart (.+)$", text, re.MULTILINE):
        words = re.sub(r"--namespace \w+|--create-namespace|--reuse-values", "", options)
        values[release] = [*values.get(release, []), *shlex.split(words)]
        yield release, [*values[release]]


def test_any_set_of_operators_has_the_dashboard_unless_it_is_left_out(helm: Helm) -> None:
    for operators, faces, expected in (
        (["policy"], {"enabled": True}, ["--dashboard-port"]),
        (["contracts", "actions"], {"enabled": True}, []),
        (["contracts"], NO_DASHBOARD, ["--no-dashboard"]),
    ):
        documents = helm.template({"operators": operators, "faces": faces})
        (pod,) = (each["spec"]["template"]["spec"] for each in documents if each["kind"] == "Deployment")
        assert [each for each in pod["containers"][0]["args"] if "dashboard" in each] == expected
        roles = [
            each for each in documents if each["kind"].endswith("Role") and "dashboard" in each["metadata"]["name"]
        ]
        assert bool(roles) == (expected != ["--no-dashboard"])


def test_the_commands_of_the_page_install_what_it_says(helm: Helm) -> None:
    found = []
    for release, values in commands_of_the_page():
        text = helm("template", release, str(CHART), "--kube-version", KUBERNETES, *values)
        rendered = [each for each in yaml.load_all(text.encode()) if each]
        found += [
            (each["kind"], each["metadata"]["name"], each["spec"]["replicas"])
            for each in all_of(rendered, "Deployment", "StatefulSet")
        ]
    plane = "plane-homeostat-plane"
    operators = ("Deployment", "operators-homeostat", 2)
    assert found == [operators, operators, ("StatefulSet", plane, 1), ("StatefulSet", plane, 3)]


def test_the_chart_has_the_version_of_the_package() -> None:
    chart = yaml.load((CHART / "Chart.yaml").read_bytes())
    assert (chart["version"], chart["appVersion"]) == (__version__, __version__)


def test_releases_of_one_name_in_two_namespaces_share_no_object(helm: Helm) -> None:
    values = {**SERVED, "crds": {"install": False}, "monitoring": MONITORED}
    first, second = (helm.template(values, namespace=each) for each in ("ops", "lab"))
    keys = [
        {(e["kind"], e["metadata"].get("namespace"), e["metadata"]["name"]) for e in each} for each in (first, second)
    ]
    assert not keys[0] & keys[1]


def test_the_chart_is_small_enough_for_the_record_of_a_release(helm: Helm, tmp_path: Path) -> None:
    helm("package", str(CHART), "--destination", str(tmp_path))
    (packed,) = tmp_path.iterdir()
    # Helm keeps it, and what it renders, in a Secret of at most 1 MiB.
    assert packed.stat().st_size < 200_000
