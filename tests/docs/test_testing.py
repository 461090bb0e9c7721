"""The page about tests: its example passes, by the plugin that the package brings, and clients need no settings."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

from tests.docs.documents import text_of

_EXAMPLE, _LOGIN = re.findall(r"^```python\n(.*?)^```$", text_of("docs/testing.md"), re.MULTILINE | re.DOTALL)
_CLIENTS = """
import os
import time

import kopf.testing
import kr8s
import lightkube
import pytest
from kubernetes.client import CoreV1Api
from kubernetes.config import load_kube_config
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.core_v1 import ConfigMap

SEEN = set()


@pytest.mark.parametrize("turn", range(2))
def test_each_test_has_a_namespace_of_its_own(kubernetes, turn):
    assert kubernetes.namespace not in SEEN
    SEEN.add(kubernetes.namespace)
    client = lightkube.Client()
    assert client.namespace == kubernetes.namespace
    client.create(ConfigMap(metadata=ObjectMeta(name="a"), data={"turn": str(turn)}))
    assert client.get(ConfigMap, "a").data == {"turn": str(turn)}


def test_the_plane_answers_without_http_too(kubernetes_plane):
    with kubernetes_plane.namespace() as other:
        assert other.kubeconfig.stat().st_mode & 0o77 == 0
        found = kubernetes_plane.call(kubernetes_plane.client.get(f"/api/v1/namespaces/{other.namespace}"))
    assert found["status"]["phase"] == "Active"
    assert not other.kubeconfig.exists()
    assert "homeostat-" not in os.environ.get("KUBECONFIG", "")


def test_other_clients_find_the_plane(kubernetes):
    api = kr8s.api(kubeconfig=str(kubernetes.kubeconfig))
    assert api.namespace == kubernetes.namespace
    load_kube_config(str(kubernetes.kubeconfig))
    assert CoreV1Api().read_namespace(kubernetes.namespace).status.phase == "Active"


def test_an_operator_of_kopf_runs_in_the_process(kubernetes):
    client = lightkube.Client()
    client.create(ConfigMap(metadata=ObjectMeta(name="a")))
    words = ["run", "--standalone", "--namespace", kubernetes.namespace, "handlers.py"]
    with kopf.testing.KopfRunner(words, timeout=20) as runner:
        until = time.monotonic() + 20
        while not (client.get(ConfigMap, "a").metadata.labels or {}) and time.monotonic() < until:
            time.sleep(0.02)
    assert runner.exit_code == 0, runner.output
    assert client.get(ConfigMap, "a").metadata.labels == {"stamped": "yes"}
"""
_HANDLERS = f"""
import kopf


{_LOGIN}

@kopf.on.create("configmaps")
def stamp(patch, **_):
    patch.metadata.labels["stamped"] = "yes"
"""


def test_the_example_and_the_clients_pass_with_the_plugin(tmp_path: Path) -> None:
    (tmp_path / "test_settings.py").write_text(_EXAMPLE)
    (tmp_path / "test_clients.py").write_text(_CLIENTS)
    (tmp_path / "handlers.py").write_text(_HANDLERS)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "homeostat.pytest_plugin", "-p", "no:cacheprovider", "."]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "HOME": str(tmp_path)}
    ended = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "6 passed" in ended.stdout


def test_pytest_finds_the_plugin_by_itself() -> None:
    (found,) = entry_points(group="pytest11", name="homeostat")
    assert found.value == "homeostat.pytest_plugin"


def test_the_plugin_costs_a_run_without_it_nothing() -> None:
    program = (
        "import sys, pytest; before = set(sys.modules); import homeostat.pytest_plugin; "
        "print(*(set(sys.modules) - before))"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=True)
    assert sorted(ended.stdout.split()) == ["homeostat", "homeostat.pytest_plugin"]
