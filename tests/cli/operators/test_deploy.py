"""`homeostat deploy`: what is printed for any set of operators is accepted by a server, and asks for no more than it
needs.
"""

from __future__ import annotations

import asyncio
import re
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from homeostat.objects import yaml
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import DEPLOYMENT
from homeostat.web.certificates.authority import make_certificates
from tests.cli.applying import apply
from tests.cli.running import Cli
from tests.cluster.fixtures import Api
from tools.build_kubectl import find_kubectl
from tools.fetch_servers import find_program

GREETER = Path(__file__).parents[3] / "examples" / "greeter" / "greeter.py"
SERVICE = "homeostat-policy-webhook"
CONFIGURATION = f"/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/{SERVICE}"


def monitoring_kind(plural: str, kind: str) -> JsonObject:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.monitoring.coreos.com"},
        "spec": {
            "group": "monitoring.coreos.com",
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }


KINDS = {"servicemonitors": "ServiceMonitor", "prometheusrules": "PrometheusRule"}
MONITORING = [monitoring_kind(plural, kind) for plural, kind in KINDS.items()]


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_certificates(tmp_path_factory.mktemp("tls"), "ops")


def write_certificates(directory: Path, namespace: str) -> Path:
    made = make_certificates(SERVICE, namespace, (), now=datetime.now(UTC), life=timedelta(days=1))
    for name, data in (("ca.crt", made.authority), ("tls.crt", made.certificate), ("tls.key", made.key)):
        (directory / name).write_bytes(data)
    return directory


def documents(cli: Cli, *arguments: str | Path) -> list[JsonObject]:
    printed = cli.here("deploy", *arguments)
    assert printed.code == 0, printed.err
    return list(yaml.load_all(printed.out.encode()))


def one(found: list[JsonObject], kind: str, name: str = "") -> JsonObject:
    (match,) = [each for each in found if each["kind"] == kind and name in ("", each["metadata"]["name"])]
    return match


async def kubectl(api: Api, home: Path, text: str, *arguments: str) -> str:
    program = await asyncio.create_subprocess_exec(
        find_kubectl(),
        *("--kubeconfig", str(api.kubeconfig), "--cache-dir", str(home)),
        *arguments,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    out, _ = await program.communicate(text.encode())
    assert program.returncode == 0, out.decode()
    return out.decode()


@pytest.mark.parametrize("way", [(), ("--server-side",)], ids=["by the client", "by the server"])
async def test_kubectl_applies_what_is_printed_at_once(
    api: Api, cli: Cli, tmp_path: Path, way: tuple[str, ...]
) -> None:
    namespace = f"{api.namespace}-ops"
    await apply(api.client, *MONITORING)
    tls = write_certificates(tmp_path, namespace)
    printed = cli.here(
        *("deploy", "--operators", f"policy,actions,{GREETER}", "-n", namespace, "--monitoring", "--tls", tls)
    )
    try:
        told = await kubectl(api, tmp_path / "cache", printed.out, "apply", *way, "-f", "-")
        count = len(list(yaml.load_all(printed.out.encode())))
        # Definitions that another test put onto the shared cluster are configured with a warning.
        assert len([each for each in told.splitlines() if not each.startswith("Warning: ")]) == count
        found = await api.client.get(DEPLOYMENT.path(namespace, "homeostat"))
    finally:
        # The cluster is shared, and a webhook is asked by all of it.
        await api.client.delete(CONFIGURATION)
    arguments = found["spec"]["template"]["spec"]["containers"][0]["args"]
    assert arguments[:4] == ["run", "--operators", "policy,actions,/operators/greeter.py", "--leader-elect"]


def test_documents_come_before_those_that_need_them(cli: Cli, certificates: Path) -> None:
    found = documents(cli, "--operators", f"policy,{GREETER}", "-n", "ops", "--tls", certificates, "--monitoring")
    kinds = [each["kind"] for each in found]
    firsts = [
        kinds.index(each)
        for each in (
            *("CustomResourceDefinition", "Namespace", "ServiceAccount", "ConfigMap", "Secret", "Deployment"),
            *("PodDisruptionBudget", "Service", "ValidatingWebhookConfiguration", "ServiceMonitor", "PrometheusRule"),
        )
    ]
    assert firsts == sorted(firsts)
    assert all(kind != "CustomResourceDefinition" for kind in kinds[kinds.index("Namespace") :])


def test_what_is_deployed_keeps_the_hardest_of_our_own_rules(cli: Cli, certificates: Path) -> None:
    image = f"registry.example.com/homeostat:1.0@sha256:{'0' * 64}"
    printed = cli.here("deploy", "--operators", "policy", "--tls", certificates, "-n", "ops", "--image", image)
    done = cli.here("policy", "check", "-", "--bundle", "hardened", "-o", "json", stdin=printed.out)
    assert (done.code, done.json["violations"]) == (0, [])
    assert done.json["scores"][0]["pods"] == 2


def test_the_roles_are_those_that_rbac_prints(cli: Cli) -> None:
    rbac = cli.here("rbac", "--operators", "policy,actions", "--leader-elect", "-n", "ops")
    expected = list(yaml.load_all(rbac.out.encode()))
    found = documents(cli, "--operators", "policy,actions", "-n", "ops")
    at = found.index(expected[0])
    assert found[at : at + len(expected)] == expected


def test_a_file_is_mounted_and_its_pods_are_replaced_when_it_changes(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "greeter.py"
    path.write_text(GREETER.read_text())
    before = documents(cli, "--operators", path)
    assert one(before, "ConfigMap")["data"] == {"greeter.py": GREETER.read_text()}
    path.write_text(f"{GREETER.read_text()}\n# changed\n")
    after = documents(cli, "--operators", path)
    templates = [one(each, "Deployment")["spec"]["template"]["metadata"] for each in (before, after)]
    assert templates[0] != templates[1]


def test_operators_that_work_in_one_namespace_have_permissions_in_no_other(cli: Cli) -> None:
    found = documents(cli, "--operators", GREETER, "--within", "shop")
    assert [each["metadata"]["namespace"] for each in found if each["kind"] == "Role"] == ["shop", "homeostat"]
    assert not [each for each in found if each["kind"] == "ClusterRoleBinding"]
    assert one(found, "Deployment")["spec"]["template"]["spec"]["containers"][0]["args"][3:5] == ["--namespace", "shop"]


def test_a_single_process_has_no_budget_that_would_keep_its_node(cli: Cli) -> None:
    assert [each for each in documents(cli, "--operators", GREETER) if each["kind"] == "PodDisruptionBudget"]
    alone = documents(cli, "--operators", GREETER, "--replicas", "1")
    assert not [each for each in alone if each["kind"] == "PodDisruptionBudget"]


def test_json_is_one_list_of_the_same_documents(cli: Cli) -> None:
    assert cli.here("deploy", "--operators", GREETER, "-o", "json").json["items"] == documents(
        cli, "--operators", GREETER
    )


def test_a_webhook_without_a_certificate_is_left_out_and_says_how_to_add_it(cli: Cli) -> None:
    printed = cli.here("deploy", "--operators", "policy", "-n", "ops")
    assert "Webhook" not in printed.out
    assert f"homeostat policy webhook cert-generate --service-name {SERVICE} --namespace ops" in printed.err


def test_a_certificate_for_another_service_is_refused(cli: Cli, certificates: Path) -> None:
    done = cli.here("deploy", "--operators", "policy", "-n", "other", "--tls", certificates)
    assert done.code == 1
    assert done.err.startswith(f"error: {certificates}/tls.crt is for {SERVICE}.ops.svc")
    assert f"the API server asks for {SERVICE}.other.svc" in done.err


def test_a_directory_without_a_certificate_is_refused(cli: Cli, tmp_path: Path) -> None:
    done = cli.here("deploy", "--operators", "policy", "--tls", tmp_path)
    assert (done.code, done.out) == (1, "")
    assert "--tls names a directory with ca.crt, tls.crt and tls.key" in done.err


@pytest.mark.parametrize("option", ["--namespace", "--within"])
def test_a_name_that_no_namespace_can_have_is_refused(cli: Cli, option: str) -> None:
    done = cli.here("deploy", "--operators", GREETER, option, "Not_A_Name")
    assert done.code == 2
    assert '"Not_A_Name" cannot be the name of a Namespace' in done.err


def test_nothing_here_names_an_operator() -> None:
    package = Path(__file__).parents[3] / "homeostat" / "cli" / "operators" / "deploy"
    imported = {
        each for path in package.glob("*.py") for each in re.findall(r"homeostat\.operators\.(\w+)", path.read_text())
    }
    assert imported <= {"access", "catalog", "dashboard"}


def test_prometheus_accepts_the_alert_rules(cli: Cli, tmp_path: Path) -> None:
    rules = one(documents(cli, "--operators", "policy,actions", "--monitoring"), "PrometheusRule")
    path = tmp_path / "rules.yaml"
    path.write_bytes(yaml.dump(rules["spec"]))
    command = [str(find_program("promtool")), "check", "rules", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done.stderr
    assert f"SUCCESS: {sum(len(each['rules']) for each in rules['spec']['groups'])} rules found" in done.stdout


def test_alerts_are_about_the_services_that_are_deployed_and_objects_keep_their_namespace(cli: Cli) -> None:
    found = documents(cli, "--operators", "policy", "--monitoring", "-n", "ops")
    rules = {each["alert"]: each for group in one(found, "PrometheusRule")["spec"]["groups"] for each in group["rules"]}
    assert '{job="homeostat", namespace="ops"}' in rules["HomeostatNoLeader"]["expr"]
    assert f'{{job="{SERVICE}"}}' in rules["PolicyInvalid"]["expr"]
    assert 'devopspolicy_health_score{job="homeostat"}' in rules["PolicyScoreLow"]["expr"]
    (endpoint,) = one(found, "ServiceMonitor")["spec"]["endpoints"]
    assert endpoint["honorLabels"]
    assert sorted(one(found, "ConfigMap")["data"]) == ["homeostat-policy.json", "homeostat-runtime.json"]


def test_faces_are_served_with_the_certificate_given_and_by_the_service(cli: Cli, certificates: Path) -> None:
    found = documents(cli, "--operators", "actions", "--faces-tls", certificates, "-n", "ops")
    container = one(found, "Deployment")["spec"]["template"]["spec"]["containers"][0]
    assert container["args"][3:9] == [
        *("--rest-port", "0.0.0.0:8000", "--faces-cert", "/faces-tls/tls.crt"),
        *("--faces-key", "/faces-tls/tls.key"),
    ]
    assert {each["name"]: each["port"] for each in one(found, "Service")["spec"]["ports"]} == {
        "metrics": 9090,
        "faces": 8000,
    }
    secret = one(found, "Secret", "homeostat-faces-tls")
    assert sorted(secret["data"]) == ["tls.crt", "tls.key"]
    assert one(found, "ClusterRole", "homeostat-faces")["rules"]


def test_a_face_that_api_servers_call_requires_a_certificate_for_its_service(cli: Cli, certificates: Path) -> None:
    printed = cli.here("deploy", "--operators", "sync", "--faces-tls", certificates, "-n", "ops")
    assert "the API server asks for homeostat.ops.svc; to add it: put a certificate" in printed.err
    assert not {"ValidatingWebhookConfiguration", "SYNC_ADMISSION"} & {*re.findall(r"\w+", printed.out)}


def test_faces_without_a_certificate_are_left_out_and_said_so(cli: Cli) -> None:
    printed = cli.here("deploy", "--operators", "actions")
    assert "left out REST API" in printed.err
    assert "8000" not in printed.out


def test_run_takes_the_arguments_of_the_deployment(cli: Cli, certificates: Path) -> None:
    found = documents(cli, "--operators", "actions", "--faces-tls", certificates)
    arguments = one(found, "Deployment")["spec"]["template"]["spec"]["containers"][0]["args"]
    own = [each.replace("/faces-tls", str(certificates)) for each in arguments]
    done = cli.here(*own, "--kubeconfig", "/none")
    assert (done.code, "/none, which does not exist" in done.err) == (1, True), done.err
