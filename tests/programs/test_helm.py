"""helm installs, upgrades, rolls back, tests and uninstalls a chart, on a plane with simulated workloads."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.programs.running import find, wait_until
from tests.served import ServedPlane, serve_plane
from tools.build_programs import find_program

CHART = Path(__file__).with_name("chart")
APPS = "/apis/apps/v1/namespaces/store"


class Helm:
    def __init__(self, program: Path, plane: ServedPlane, home: Path) -> None:
        self._program, self.plane = program, plane
        self._environment = {**os.environ, "KUBECONFIG": str(plane.kubeconfig), "HOME": str(home)}

    def __call__(self, *arguments: str, code: int = 0) -> str:
        """What it printed; it must end with this code."""
        command = [str(self._program), *arguments, "--namespace", "store"]
        done = subprocess.run(command, env=self._environment, capture_output=True, text=True, timeout=90)
        assert done.returncode == code, f"helm {' '.join(arguments)}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    def read(self, *arguments: str) -> Any:
        return json.loads(self(*arguments, "--output", "json"))

    def find(self, path: str) -> Any:
        return find(self.plane, path)

    def find_rolled_out(self, name: str, replicas: int) -> Any:
        """The Deployment, once its status has these replicas: helm waits for its ReplicaSet, which is earlier."""

        def rolled_out() -> Any:
            found = self.find(f"{APPS}/deployments/{name}")
            status = found.get("status", {})
            counts = [status.get(each) for each in ("replicas", "updatedReplicas", "readyReplicas")]
            is_seen = status.get("observedGeneration") == found["metadata"]["generation"]
            return found if is_seen and counts == [replicas] * 3 else None

        return wait_until(rolled_out, f"Deployment {name} has {replicas} ready replicas")


@pytest.fixture(scope="module")
def helm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Helm]:
    program = find_program("helm")
    folder = tmp_path_factory.mktemp("helm")
    with serve_plane(folder / "data", options=["--operators", "none", "--workloads", "simulated"]) as plane:
        yield Helm(program, plane, folder)


def test_a_release_lives_from_install_to_uninstall(helm: Helm) -> None:
    helm("install", "shop", str(CHART), "--create-namespace", "--wait", "--timeout", "60s")
    helm.find_rolled_out("shop", 2)
    assert helm.find("/apis/shop.example.com/v1/namespaces/store/orders/shop")["spec"] == {"items": 2}
    seen = helm.find("/api/v1/namespaces/store/configmaps/shop-seen")["data"]
    assert seen.pop("server").startswith("v1.34.")
    assert seen == {"orders": "true", "phase": "Active"}
    assert helm.find("/apis/batch/v1/namespaces/store/jobs/shop-prepare") is None, "the hook deletes its Job"
    [release] = helm.read("list")
    assert (release["name"], release["revision"], release["status"]) == ("shop", "1", "deployed")

    helm("upgrade", "shop", str(CHART), "--set", "replicas=3,image=nginx:1.30", "--wait", "--timeout", "60s")
    upgraded = helm.find_rolled_out("shop", 3)
    assert upgraded["metadata"]["labels"]["revision"] == "2"

    helm("rollback", "shop", "1", "--wait", "--timeout", "60s")
    rolled_back = helm.find_rolled_out("shop", 2)
    assert rolled_back["spec"]["template"]["spec"]["containers"][0]["image"] == "nginx:1.29"
    history = helm.read("history", "shop")
    assert [(each["revision"], each["status"]) for each in history] == [
        (1, "superseded"),
        (2, "superseded"),
        (3, "deployed"),
    ]

    assert "Phase:          Succeeded" in helm("test", "shop", "--timeout", "60s")

    helm("uninstall", "shop", "--wait", "--timeout", "60s")
    assert helm.find(f"{APPS}/deployments/shop") is None
    assert helm.find("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/orders.shop.example.com") is not None
    assert helm.read("list") == []


def prepare_namespace(helm: Helm) -> None:
    """Creates the namespace and the chart's kind, unless another test has: a dry run creates neither."""
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    order = yaml.safe_load((CHART / "crds" / "orders.yaml").read_text())
    for path, body in (("/api/v1/namespaces", {"metadata": {"name": "store"}}), (definitions, order)):
        if helm.find(f"{path}/{body['metadata']['name']}") is None:
            helm.plane.ask("POST", path, body)


def test_a_dry_run_on_the_server_renders_what_is_there_and_stores_nothing(helm: Helm) -> None:
    prepare_namespace(helm)
    helm("install", "dry", str(CHART), "--create-namespace", "--dry-run=server")
    printed = helm("upgrade", "dry", str(CHART), "--install", "--dry-run=server", "--debug")
    assert 'phase: "Active"' in printed
    assert helm.find(f"{APPS}/deployments/dry") is None
    assert helm.read("list", "--all") == []


def test_an_upgrade_that_never_gets_ready_fails_and_is_rolled_back(helm: Helm) -> None:
    helm("install", "frail", str(CHART), "--create-namespace", "--wait", "--timeout", "60s")
    broken = ["--set", "image=nginx:broken", "--atomic", "--timeout", "3s"]
    rule = {
        "metadata": {"name": "faults", "labels": {"simulation.homeostat.dev/rules": "true"}},
        "data": {"broken": 'image: "*:broken"\noutcome: image-pull-error\n'},
    }
    helm.plane.ask("POST", "/api/v1/namespaces/store/configmaps", rule)
    assert "context deadline exceeded" in helm("upgrade", "frail", str(CHART), *broken, code=1)
    [release] = helm.read("list")
    assert (release["revision"], release["status"]) == ("3", "deployed")
    kept = helm.find(f"{APPS}/deployments/frail")
    assert kept["spec"]["template"]["spec"]["containers"][0]["image"] == "nginx:1.29"
    helm("uninstall", "frail")
