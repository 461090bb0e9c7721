"""The dashboards: every query is answered by a real Prometheus that scrapes a plane with all operators at work."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen

import msgspec

from homeostat.cli.monitoring.grafana import signals_dashboard
from homeostat.edge.metrics.histogram import Histogram
from homeostat.objects import yaml
from homeostat.objects.json import JsonObject
from homeostat.operators.policy.live.pod_health import PodHealth
from homeostat.operators.policy.metrics import Series
from tests.cli.demo.test_demo import Demo, demo
from tests.cli.monitoring.test_alerts import all_signals
from tests.cli.policy_files import write
from tests.ports import free_port
from tests.web.reviewing import complete_metrics
from tools.fetch_servers import find_program, library_path

__all__ = ["demo"]
_WITHIN_S = 30.0
_NO_OBJECTS = "the demo has no object of this sort"
_NO_WEBHOOK = "the admission webhook is a process of its own, which the demo does not run"
KNOWN_EMPTY = {
    "plane": {"Audit events dropped": "the plane has no audit log"},
    "runtime": {"Leases with a leader": "one process takes part in no election"},
    "contracts": {
        "Changes of served OpenAPI documents": _NO_OBJECTS,
        "Score": _NO_OBJECTS,
        "Gates that are unmet": _NO_OBJECTS,
        "Time until the gate drops": _NO_OBJECTS,
    },
    "policy": dict.fromkeys(
        (
            *("Reviews", "Denials", "Duration of reviews, p99", "Reviews cut short", "Invalid policies"),
            *("Time until the certificate expires", "Part of the certificate's life that is left"),
            *("Certificate renewals", "Failed certificate renewals"),
        ),
        _NO_WEBHOOK,
    ),
    "sync": {"Failed syncs by reason": "no sync fails in the demo"},
}


class Prometheus:
    def __init__(self, url: str) -> None:
        self._url = url

    def query(self, expression: str) -> list[Any]:
        with urlopen(f"{self._url}/api/v1/query?{urlencode({'query': expression})}", timeout=10) as answer:
            found = msgspec.json.decode(answer.read())
        assert found["status"] == "success", found
        return list(found["data"]["result"])

    def wait_for(self, expression: str) -> None:
        end = time.monotonic() + _WITHIN_S
        while True:
            try:
                if self.query(expression):
                    return
            except OSError:
                pass
            assert time.monotonic() < end, f"not within {_WITHIN_S:g} s: {expression}"
            time.sleep(0.2)


@contextmanager
def scraping(demo: Demo, folder: Path) -> Iterator[Prometheus]:
    """As docs/runbooks.md configures it, but more often."""
    data, port = demo.folder / "homeostat-demo" / "plane", free_port()
    config = yaml.load((data / "kubeconfig").read_bytes())
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "prometheus"}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "system:monitoring"}
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "scraper"},
        "roleRef": role,
        "subjects": [subject],
    }
    demo.run("apply", "-f", str(write(folder / "binding.yaml", binding)))
    (folder / "token").write_text(demo.run("token", "create", "prometheus"))
    job = {
        "job_name": "plane",
        "scheme": "https",
        "honor_labels": True,
        "authorization": {"credentials_file": "token"},
        "tls_config": {"ca_file": str(data / "pki" / "ca.crt")},
        "static_configs": [{"targets": [config["clusters"][0]["cluster"]["server"].removeprefix("https://")]}],
    }
    often = {"scrape_interval": "1s", "evaluation_interval": "2s"}
    settings = {"global": often, "rule_files": ["rules.yaml"], "scrape_configs": [job]}
    (folder / "rules.yaml").write_text(demo.run("monitoring", "rules", "--job", "plane"))
    command = [
        str(find_program("prometheus")),
        f"--config.file={write(folder / 'prometheus.yml', settings)}",
        f"--storage.tsdb.path={folder / 'tsdb'}",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, env=library_path(), stdout=log, stderr=log)
    try:
        yield Prometheus(f"http://127.0.0.1:{port}")
    finally:
        process.terminate()
        process.wait(30)


def expressions(dashboard: JsonObject) -> dict[str, str]:
    """By the title of the panel, with all jobs and namespaces chosen."""
    targets = {each["title"]: each["targets"][0]["expr"] for each in dashboard["panels"] if each["type"] != "row"}
    return {title: re.sub(r"\$(job|namespace)\b", ".*", expression) for title, expression in targets.items()}


def test_every_panel_shows_data_or_is_known_to_be_empty(demo: Demo, tmp_path: Path) -> None:
    with scraping(demo, tmp_path) as prometheus:
        for each in (
            'homeostat_actions_resources{phase="failed"} > 0',
            'pacto_contract_status{status="NonCompliant"} == 1',
            "declarest_operator_syncpolicy_reconcile_total > 0",
            "gitops_last_success_timestamp > 0",
            "devopspolicy_violations_total == 3",
            "count_over_time(up[1m]) > 3",
            'ALERTS{alertname="PactoContractNonCompliant"}',
            'ALERTS{alertname="ActionsResourcesFailed"}',
        ):
            prometheus.wait_for(each)
        empty = {
            signals.name: {
                title
                for title, expression in expressions(signals_dashboard(signals)).items()
                if not prometheus.query(expression)
            }
            for signals in all_signals()
        }
        alerting = {each["metric"]["alertname"] for each in prometheus.query("ALERTS")}
    assert {name: titles for name, titles in empty.items() if titles} == {
        name: set(titles) for name, titles in KNOWN_EMPTY.items()
    }
    # Those of the plane are about faults that it does not have.
    assert not {each for each in alerting if each.startswith("HomeostatPlane")}


def test_panels_of_the_webhook_are_about_metrics_that_it_has() -> None:
    series = (Series(lambda: ({}, Histogram((1.0,)))), PodHealth(), complete_metrics())
    known = {family.name for each in series for family in each.collect()}
    known |= {f"{each}_total" for each in known} | {f"{each}_bucket" for each in known}
    (policy,) = [each for each in all_signals() if each.name == "policy"]
    panels = [panel.expression for row in policy.panels.values() for panel in row]
    used = {name for each in panels for name in re.findall(r"(?:webhook|devopspolicy)_[a-z_]+", each)}
    assert used
    assert used <= known
