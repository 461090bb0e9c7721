"""`homeostat doctor`: what it finds of planes, data directories and clusters that are well, and of others."""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from homeostat.cli.doctor.metrics import Sample, check_metrics
from homeostat.cli.doctor.objects import trouble_of
from homeostat.cli.doctor.permissions import permissions_of
from homeostat.cli.doctor.server import check_version, judge_certificate
from homeostat.cli.doctor.webhooks import check_webhooks
from homeostat.objects import yaml
from homeostat.objects.json import JsonObject
from homeostat.objects.time.timestamp import format_micro_time
from homeostat.server.access.tokens.file import Tokens
from homeostat.server.pki.certificate import Certificate
from homeostat.server.pki.directory import Pki, prepare_pki
from tests.cli.applying import apply
from tests.cli.policy_files import write
from tests.cli.running import Cli, Ended, Up
from tests.cluster.fixtures import Api

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def findings(done: Ended) -> dict[str, JsonObject]:
    return {each["check"]: each for each in done.json["findings"]}


def results(done: Ended) -> dict[str, str]:
    return {name: each["result"] for name, each in findings(done).items()}


def test_a_plane_and_its_data_directory_are_well(up: Up) -> None:
    done = up.cli.here("doctor", "--data", up.data, "-o", "json")
    assert done.code == 0, done.out + done.err
    found = results(done)
    assert {name for name, result in found.items() if result != "OK"} == {"policy: webhook"}
    assert found.keys() >= {
        *("data directory", "disk", "keys", "certificate server", "certificate ca", "database", "connection"),
        *("readiness", "clock", "server certificate", "client certificate", "leases", "queues", "watches", "writes"),
        *("policy: definitions", "policy: permissions of the operator", "policy: objects", "sync: objects"),
    }
    assert done.json["result"] == "OK"


def test_every_finding_that_is_not_well_says_what_to_do(up: Up, tmp_path: Path) -> None:
    lease: JsonObject = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "homeostat-gone", "namespace": "default"},
        "spec": {
            "holderIdentity": "one-that-ended",
            "leaseDurationSeconds": 15,
            "renewTime": format_micro_time(datetime.now(UTC) - timedelta(hours=1)),
        },
    }
    assert up.cli.here("apply", "-f", write(tmp_path / "lease.yaml", lease)).code == 0
    config = tmp_path / "viewer.kubeconfig"
    config.write_text(up.cli.here("token", "create", "viewer", "-o", "kubeconfig").out)
    config.chmod(0o600)
    admin = up.cli.here("doctor", "-o", "json")
    assert (admin.code, admin.json["result"], results(admin)["leases"]) == (0, "WARN", "WARN")
    assert "default/homeostat-gone since 36" in findings(admin)["leases"]["detail"]
    viewer = up.cli.here("doctor", "--kubeconfig", config, "--operators", "policy", "-o", "json")
    assert (viewer.code, results(viewer)["policy: permissions of the operator"]) == (1, "FAIL")
    assert {results(viewer)[each] for each in ("clock", "leases", "metrics", "policy: objects")} == {"SKIPPED"}
    for done in (admin, viewer):
        for each in done.json["findings"]:
            assert each["remedy"] or each["result"] in ("OK", "SKIPPED"), each
    table = up.cli.here("doctor", "--kubeconfig", config, "--operators", "policy")
    assert "see homeostat rbac --operators policy" in table.out
    shown = [line.partition(" FAIL ")[1] for line in table.out.splitlines()[1:]]
    assert shown == sorted(shown, reverse=True), "what failed comes first"


def _condition(kind: str, status: str, reason: str) -> JsonObject:
    return {"conditions": [{"type": kind, "status": status, "reason": reason}]}


@pytest.mark.parametrize(
    ("status", "trouble"),
    [
        (None, ""),
        ({"phase": 7}, ""),
        (_condition("Ready", "True", "Evaluated"), ""),
        (_condition("Ready", "Unknown", "Pinned"), ""),
        (_condition("Ready", "False", "ReconcileFailed"), "ReconcileFailed"),
        (_condition("Stalled", "True", "ProcessingError"), "ProcessingError"),
        ({"phase": "failed"}, "failed"),
        ({"phase": "ready"}, ""),
        ({"contractStatus": "NonCompliant"}, "NonCompliant"),
        ({"contractStatus": "Compliant"}, ""),
        (_condition("Ready", "True", "Evaluated") | {"violations": 3}, "3 violations"),
        ({"violations": 1}, "1 violation"),
        (_condition("Ready", "True", "Success") | {"drifted": 1}, "1 drifted"),
        ({"violations": 0, "drifted": 0}, ""),
        (_condition("Pinned", "True", "Pinned") | {"tag": "1", "wanted": "2"}, "pinned at an older tag"),
        (_condition("Pinned", "True", "Pinned") | {"tag": "2", "wanted": "2"}, ""),
        (_condition("Pinned", "False", "NotPinned") | {"tag": "1", "wanted": "2"}, ""),
    ],
)
def test_the_status_of_an_object_says_what_is_wrong_with_it(status: JsonObject | None, trouble: str) -> None:
    assert trouble_of(status) == trouble


def test_a_server_that_does_not_answer_is_exit_code_3(up: Up, tmp_path: Path) -> None:
    config = yaml.load((up.data / "kubeconfig").read_bytes())
    config["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:1"
    path = write(tmp_path / "config", config)
    path.chmod(0o600)
    done = up.cli.here("doctor", "--kubeconfig", path, "-o", "json")
    assert (done.code, results(done)) == (3, {"connection": "FAIL"})
    process = up.cli.here("doctor", "--kubeconfig", path, "--health", "http://127.0.0.1:1", "-o", "json")
    assert results(process)["process"] == "FAIL"


def _open_key(data: Path) -> None:
    (data / "seal.key").chmod(0o644)


def _lose_key(data: Path) -> None:
    (data / "seal.key").unlink()


def _damage(data: Path) -> None:
    for name in ("homeostat.db-wal", "homeostat.db-shm"):
        (data / name).unlink(missing_ok=True)
    with (data / "homeostat.db").open("r+b") as file:
        file.seek(100)
        file.write(os.urandom(20_000))


def _expire_certificates(data: Path) -> None:
    shutil.rmtree(data / "pki")
    prepare_pki(Pki(data / "pki"), hosts=["localhost"], now=datetime.now(UTC) - timedelta(days=366))


def _expire_token(data: Path) -> None:
    Tokens(data / "tokens.json").create("old", now=time.time() - 100, life_s=1)


@pytest.mark.parametrize(
    ("spoil", "check", "result"),
    [
        (_open_key, "data directory", "FAIL"),
        (_lose_key, "keys", "FAIL"),
        (_damage, "database", "FAIL"),
        (_expire_certificates, "certificate server", "FAIL"),
        (_expire_token, "tokens", "WARN"),
    ],
)
def test_a_data_directory_is_checked_without_a_plane(
    up: Up, tmp_path: Path, cli: Cli, spoil: Callable[[Path], None], check: str, result: str
) -> None:
    data = tmp_path / "copy"
    shutil.copytree(up.data, data)
    (data / "kubeconfig").unlink()
    spoil(data)
    done = cli.here("doctor", "--data", data, "-o", "json")
    found = findings(done)
    assert found[check]["result"] == result
    assert found[check]["remedy"]
    assert found["kubeconfig"]["result"] == "SKIPPED"
    assert done.code == (1 if result == "FAIL" else 0)


def _certificate(start: datetime, end: datetime) -> Certificate:
    return Certificate(b"", b"", "", (), start, end, frozenset())


def test_a_data_directory_without_a_kubeconfig_is_not_taken_for_another_plane(up: Up, tmp_path: Path) -> None:
    data = tmp_path / "restored"
    shutil.copytree(up.data, data)
    (data / "kubeconfig").unlink()
    done = up.cli.here("doctor", "--data", data, "-o", "json")
    found = findings(done)
    assert (done.code, found["kubeconfig"]["result"]) == (0, "SKIPPED")
    assert "connection" not in found


@pytest.mark.parametrize(
    ("life_days", "left_days", "result"),
    [(365, 31, "OK"), (365, 29, "WARN"), (365, -1, "FAIL"), (6, 1.5, "OK"), (6, 0.5, "WARN"), (-5, -6, "FAIL")],
)
def test_a_certificate_that_expires_soon_for_its_life_is_a_warning(
    life_days: float, left_days: float, result: str
) -> None:
    end = NOW + timedelta(days=left_days)
    found = judge_certificate("x", _certificate(end - timedelta(days=life_days), end), NOW, "renew it")
    assert found.result == result
    assert bool(found.remedy) == (result != "OK")


def test_stuck_queues_silent_watches_and_paused_operators_are_found_in_metrics() -> None:
    samples = [
        Sample("homeostat_queue_oldest_wait_seconds", {"controller": "policy"}, 301.0),
        Sample("homeostat_queue_oldest_wait_seconds", {"controller": "sync-policy"}, 1.0),
        Sample("homeostat_watch_last_event_age_seconds", {"path": "/api/v1/pods"}, 400.0),
        Sample("homeostat_watch_synced", {"path": "/api/v1/secrets"}, 0.0),
        Sample("homeostat_store_failures", {}, 2.0),
        Sample("homeostat_effects_paused", {}, 1.0),
    ]
    found = {each.check: each for each in check_metrics(samples)}
    assert {name: each.result for name, each in found.items()} == {
        "queues": "FAIL",
        "watches": "FAIL",
        "writes": "WARN",
        "effects": "WARN",
    }
    assert found["queues"].detail == "an object waits for a worker: policy for 301 s"
    assert "/api/v1/pods for 400 s, /api/v1/secrets has no first list" in found["watches"].detail


def test_a_rule_for_one_object_needs_the_permission_for_that_object_alone() -> None:
    rule: JsonObject = {"apiGroups": ["a.dev"], "resources": ["parts"], "verbs": ["list"], "resourceNames": ["one"]}
    (found,) = permissions_of([rule], {"parts.a.dev"})
    assert (found.name, str(found)) == ("one", 'list parts.a.dev "one"')
    del rule["resourceNames"]
    assert [each.name for each in permissions_of([rule], {"parts.a.dev"})] == [""]


def test_versions_that_differ_are_a_warning() -> None:
    assert check_version({"gitVersion": "v1.34.0+homeostat-0.0.1"}).result == "WARN"
    assert check_version({"gitVersion": "v1.29.3", "major": "1", "minor": "29+"}).result == "WARN"
    assert check_version({"gitVersion": "v1.34.3", "major": "1", "minor": "34"}).result == "OK"


@pytest.mark.parametrize(("policy", "result"), [("Fail", "FAIL"), ("Ignore", "WARN")])
async def test_a_webhook_that_nobody_serves_is_found(api: Api, policy: str, result: str) -> None:
    namespace = api.namespace
    port = {"name": "https", "port": 443, "protocol": "TCP"}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "judge", "namespace": namespace}}
    hook = {
        "name": "judge.example.com",
        "admissionReviewVersions": ["v1"],
        "clientConfig": {"service": {"namespace": namespace, "name": "judge"}},
        "failurePolicy": policy,
        "namespaceSelector": {"matchLabels": {"nobody": "has-this"}},
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["podtemplates"]}],
        "sideEffects": "None",
    }
    configuration = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": f"judge-{namespace}"},
        "webhooks": [hook],
    }
    endpoints = {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": "judge", "namespace": namespace, "labels": {"kubernetes.io/service-name": "judge"}},
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["10.1.2.3"], "conditions": {"ready": False}}],
        "ports": [port],
    }
    try:
        await apply(api.client, configuration)
        missing = await check_webhooks(api.client)
        await apply(api.client, {**service, "spec": {"ports": [port]}}, endpoints)
        unready = await check_webhooks(api.client)
        endpoints["endpoints"] = [{"addresses": ["10.1.2.3"], "conditions": {"ready": True}}]
        await apply(api.client, endpoints)
        ready = await check_webhooks(api.client)
    finally:
        await api.client.delete(
            f"/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/judge-{namespace}"
        )
    assert (missing.result, unready.result, ready.result) == (result, result, "OK")
    assert f"judge-{namespace}: there is no Service {namespace}/judge" in missing.detail
    assert f"no Pod of the Service {namespace}/judge is ready" in unready.detail
    assert "podtemplates" in unready.detail
    assert unready.remedy


@pytest.mark.parametrize("api", [pytest.param("cluster", marks=pytest.mark.cluster)], indirect=True)
async def test_a_cluster_without_operators_is_checked_and_says_how_to_install_them(api: Api, cli: Cli) -> None:
    arguments = ("doctor", "--kubeconfig", api.kubeconfig, "-n", api.namespace, "--operators", "policy", "-o", "json")
    done = await asyncio.to_thread(cli, *arguments)
    found = findings(done)
    assert {found[each]["result"] for each in ("connection", "readiness", "clock", "leases")} == {"OK"}
    assert found["policy: permissions for leader election"]["result"] == "OK"
    definitions = found["policy: definitions"]
    assert definitions["result"] == "OK" or "homeostat crds --operators policy" in definitions["remedy"]
