"""`homeostat contract check`: a contract and manifests or a plane in, verdicts and an exit code out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.cli.contract.workspace import Workspace
from tests.cli.running import Cli, Up, make_cli, running

CONTRACT = """\
pactoVersion: "1.2"
service:
  name: mill
  version: 1.0.0
  image: {ref: registry.example.org/mill:1.0.0}
interfaces:
  - {name: web, type: http, port: 8080}
runtime:
  workload: service
  state: {type: stateless, persistence: {scope: local, durability: ephemeral}, dataCriticality: low}
  lifecycle: {upgradeStrategy: rolling, gracefulShutdownSeconds: 30}
  health: {interface: web, path: /health, initialDelaySeconds: 5}
"""
SERVICE = """\
apiVersion: v1
kind: Service
metadata: {name: mill}
spec:
  ports: [{port: 8080}]
"""
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: mill}
spec:
  selector: {matchLabels: {app: mill}}
  template:
    metadata: {labels: {app: mill}}
    spec:
      containers:
        - name: main
          image: registry.example.org/mill:1.0.0
          readinessProbe:
            initialDelaySeconds: 5
            httpGet: {path: /health, port: 8080}
"""
GOOD = f"{SERVICE}---\n{DEPLOYMENT}"
OTHER_IMAGE = GOOD.replace("mill:1.0.0", "mill:1.1.0")
CLAIM = "  volumeClaimTemplates: [{metadata: {name: data}}]\n"
STATEFUL = GOOD.replace("kind: Deployment", "kind: StatefulSet") + CLAIM


@pytest.fixture
def mill(bare: Workspace) -> Workspace:
    bare.write({"mill/pacto.yaml": CONTRACT, "good.yaml": GOOD, "image.yaml": OTHER_IMAGE, "stateful.yaml": STATEFUL})
    return bare


@pytest.mark.parametrize(
    ("arguments", "code", "status"),
    [
        (("-f", "good.yaml"), 0, "Compliant"),
        (("-f", "good.yaml", "--strict"), 0, "Compliant"),
        (("-f", "image.yaml"), 0, "Warning"),
        (("-f", "image.yaml", "--strict"), 1, "Warning"),
        (("-f", "stateful.yaml"), 1, "NonCompliant"),
        (("-f", "good.yaml", "--workload", "StatefulSet/mill"), 1, "NonCompliant"),
        (("-f", "good.yaml", "--service", "other", "--workload", "deploy/mill"), 1, "NonCompliant"),
        (("-f", "good.yaml", "--workload", "mill"), 0, "Compliant"),
    ],
)
def test_the_status_decides_on_the_exit_code(
    mill: Workspace, arguments: tuple[str, ...], code: int, status: str
) -> None:
    done = mill.run("check", "mill", *arguments, "-o", "json")
    assert (done.code, done.json["contractStatus"]) == (code, status)


def test_the_json_is_the_status_that_the_operator_would_write(mill: Workspace) -> None:
    found = mill.run("check", "mill", "-f", "image.yaml", "-o", "json").json
    assert found["summary"] == {"total": 10, "passed": 9, "failed": 1}
    assert found["contract"]["serviceName"] == "mill"
    assert found["ports"] == {"expected": [8080], "observed": [8080]}
    assert found["target"] == {"namespace": "", "workload": "mill", "kind": "Deployment", "service": "mill"}
    conditions = {each["type"]: (each["status"], each["reason"]) for each in found["conditions"]}
    assert list(conditions)[:2] == ["ContractValid", "ServiceExists"]
    assert conditions["ImageMatch"] == ("False", "Mismatch")
    (finding,) = found["findings"]
    assert (finding["type"], finding["source"], finding["line"]) == ("ImageMatch", "image.yaml", 17)
    assert finding["field"] == "spec.template.spec.containers[0].image"
    assert mill.run("check", "mill", "-f", "image.yaml", "-o", "json").json == found


def test_the_global_format_counts_too(mill: Workspace) -> None:
    assert mill.run("--output-format", "json", "check", "mill", "-f", "good.yaml").json["contractStatus"] == "Compliant"


def test_a_table_says_what_is_wrong_and_where(mill: Workspace) -> None:
    done = mill.run("check", "mill", "-f", "image.yaml")
    assert done.rows[1][:3] == ["medium", "ImageMatch", "Deployment/mill"]
    assert done.rows[1][-1] == "image.yaml:17"
    assert done.rows[-1] == ["mill@1.0.0", "1", "1", "Warning"]


def test_github_shows_findings_at_their_lines(mill: Workspace) -> None:
    out = mill.run("check", "mill", "-f", "image.yaml", "-o", "github").out
    assert out.startswith("::warning file=image.yaml,line=17,title=ImageMatch::Deployment/mill: ")


def test_sarif_and_junit_carry_the_findings(mill: Workspace) -> None:
    done = mill.run("check", "mill", "-f", "stateful.yaml", "-o", "sarif", "--output-file", "found.sarif")
    assert done.code == 1
    results = json.loads((mill.directory / "found.sarif").read_text())["runs"][0]["results"]
    assert {each["ruleId"] for each in results} == {"StateModelMatch", "UpgradeStrategyMatch"}
    assert '<testsuite name="mill@1.0.0"' in mill.run("check", "mill", "-f", "stateful.yaml", "-o", "junit").out


def test_standard_input_directories_and_lists_are_read(mill: Workspace) -> None:
    assert mill.run("check", "mill", "-f", "-", stdin=GOOD).code == 0
    mill.write({"k8s/base/service.yaml": SERVICE, "k8s/apps.yml": DEPLOYMENT, "k8s/readme.md": "kind: Service"})
    assert mill.run("check", "mill", "-f", "k8s").code == 0
    items = [_parsed(SERVICE), _parsed(DEPLOYMENT)]
    mill.write({"list.json": json.dumps({"apiVersion": "v1", "kind": "List", "items": items})})
    assert mill.run("check", "mill", "-f", "list.json").code == 0


def test_missing_objects_point_to_the_contract(mill: Workspace) -> None:
    mill.write({"none.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: mill}\n"})
    done = mill.run("check", "mill", "-f", "none.yaml", "-o", "github")
    assert done.code == 1
    assert [line.partition(",title=")[0] for line in done.out.splitlines()] == [
        "::error file=mill/pacto.yaml,line=3",
        "::error file=mill/pacto.yaml,line=3",
    ]


def test_an_invalid_contract_is_reported_at_its_lines(mill: Workspace) -> None:
    mill.write({"mill/pacto.yaml": CONTRACT.replace("port: 8080", "port: 80800")})
    done = mill.run("check", "mill", "-f", "good.yaml", "-o", "github")
    assert (done.code, done.out.partition("::Contract")[0]) == (
        1,
        "::error file=mill/pacto.yaml,line=7,title=SCHEMA_VIOLATION",
    )
    mill.write({"mill/pacto.yaml": f"{CONTRACT}mystery: 1\n"})
    assert "file=mill/pacto.yaml,line=13" in mill.run("check", "mill", "-f", "good.yaml", "-o", "github").out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("nowhere", "-f", "good.yaml"), "does not exist"),
        ((".", "-f", "good.yaml"), "no pacto.yaml"),
        (("mill", "-f", "nowhere.yaml"), "there is no file or directory nowhere.yaml"),
        (("mill", "-f", "good.yaml", "--workload", "Pod/mill"), "is not KIND/NAME"),
        (("mill", "-f", "good.yaml", "--probe"), "excludes --context, --kubeconfig and --probe"),
        (("mill", "-f", "two.yaml"), "choose with --workload KIND/NAME"),
        (("oci://127.0.0.1:1/UPPER", "-f", "good.yaml"), "UPPER"),
    ],
)
def test_wrong_usage_is_exit_code_2(mill: Workspace, arguments: tuple[str, ...], says: str) -> None:
    names = ("a", "b")
    mill.write({"two.yaml": "---\n".join(DEPLOYMENT.replace("{name: mill}", f"{{name: {each}}}") for each in names)})
    done = mill.run("check", *arguments)
    assert (done.code, says in done.err) == (2, True), done.err


def test_a_registry_that_cannot_be_reached_is_exit_code_3(mill: Workspace) -> None:
    assert mill.run("check", "oci://127.0.0.1:1/mill:1.0.0", "-f", "good.yaml").code == 3


def test_a_file_that_cannot_be_read_makes_a_good_result_incomplete(mill: Workspace) -> None:
    mill.write({"bad.yaml": "a: [\n"})
    done = mill.run("check", "mill", "-f", "good.yaml", "-f", "bad.yaml")
    assert done.code == 4
    assert "bad.yaml" in done.err


def test_a_contract_of_a_registry_is_checked(space: Workspace) -> None:
    space.push("c/mill:1.0.0", {"pacto.yaml": CONTRACT})
    space.write({"good.yaml": GOOD})
    found = space.run("check", f"oci://{space.registry}/c/mill", "-f", "good.yaml", "-o", "json").json
    assert (found["contractStatus"], found["contract"]["version"]) == ("Compliant", "1.0.0")


def _parsed(text: str) -> Any:
    from homeostat.objects import yaml

    return yaml.load(text.encode())


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    with running(make_cli(tmp_path_factory.mktemp("up") / "data")) as up:
        yield up


def test_a_live_workload_is_checked(plane: Up, tmp_path: Path) -> None:
    (tmp_path / "mill").mkdir()
    (tmp_path / "mill/pacto.yaml").write_text(CONTRACT)
    (tmp_path / "good.yaml").write_text(GOOD)
    assert plane.cli("contract", "check", tmp_path / "mill", "-n", "default").code == 1
    assert plane.cli("apply", "-f", tmp_path / "good.yaml").code == 0
    done = plane.cli("contract", "check", tmp_path / "mill", "-o", "json")
    assert (done.code, done.json["contractStatus"], done.json["target"]["namespace"]) == (0, "Compliant", "default")
    assert [each["type"] for each in done.json["conditions"]][-1] == "HealthTimingMatch"
    named = plane.cli("contract", "check", tmp_path / "mill", "--workload", "sts/mill", "-o", "json")
    assert (named.code, named.json["contractStatus"]) == (1, "NonCompliant")


def test_a_cluster_that_does_not_show_the_target_is_unknown(plane: Up, tmp_path: Path) -> None:
    (tmp_path / "mill").mkdir()
    (tmp_path / "mill/pacto.yaml").write_text(CONTRACT)
    config = tmp_path / "stranger.kubeconfig"
    config.write_text(plane.cli("token", "create", "stranger", "-o", "kubeconfig").out)
    config.chmod(0o600)
    done = plane.cli("contract", "check", tmp_path / "mill", "--kubeconfig", config, "-n", "default", "-o", "json")
    assert (done.code, done.json["contractStatus"]) == (4, "Unknown")
    assert done.json["findings"][0]["type"] == "RuntimeObserved"
    assert "stranger" in done.json["findings"][0]["message"]


@pytest.mark.parametrize(("status", "verdict"), [(200, "True"), (503, "False")])
def test_endpoints_are_probed_on_request(plane: Up, tmp_path: Path, status: int, verdict: str) -> None:
    """The plane runs no Pods: a proxy answers for the Service."""

    class Proxy(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.server.seen = self.path  # type: ignore[attr-defined]
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    (tmp_path / "mill").mkdir()
    (tmp_path / "mill/pacto.yaml").write_text(CONTRACT)
    (tmp_path / "good.yaml").write_text(GOOD)
    assert plane.cli("apply", "-f", tmp_path / "good.yaml").code == 0
    with ThreadingHTTPServer(("127.0.0.1", 0), Proxy) as proxy:
        Thread(target=proxy.serve_forever, daemon=True).start()
        environment = {**plane.cli.environment, "HTTP_PROXY": f"http://127.0.0.1:{proxy.server_port}"}
        done = Cli(environment)("contract", "check", tmp_path / "mill", "--probe", "-o", "json")
        proxy.shutdown()
    assert proxy.seen == "http://mill.default.svc:8080/health"  # type: ignore[attr-defined]
    (found,) = [each for each in done.json["conditions"] if each["type"] == "HealthEndpointValid"]
    assert found["status"] == verdict
    assert done.json["endpoints"]["health"]["statusCode"] == status


def test_a_cluster_that_cannot_be_reached_is_exit_code_3(mill: Workspace) -> None:
    cluster = {"server": "http://127.0.0.1:1"}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "a",
        "clusters": [{"name": "a", "cluster": cluster}],
        "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
        "users": [{"name": "a", "user": {}}],
    }
    mill.write({"config": json.dumps(config)})
    assert mill.run("check", "mill", "--kubeconfig", "config").code == 3
