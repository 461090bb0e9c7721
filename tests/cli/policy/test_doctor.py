"""`homeostat policy doctor`: what it says of a server that has everything, and of one that lacks something."""

from __future__ import annotations

from pathlib import Path

import pytest

from homeostat.objects import yaml
from homeostat.operators.policy.admission.webhook_configuration import webhook_configuration
from tests.cli.policy_files import write
from tests.cli.running import Cli, Ended, Up, running


def results(done: Ended) -> dict[str, str]:
    """The results by check; columns are separated by two spaces or more."""
    lines = done.out.splitlines()
    at = lines[0].index("RESULT")
    return {line[:at].strip(): line[at:].split()[0] for line in lines[1:]}


def test_a_plane_has_all_that_the_operator_needs(up: Up) -> None:
    done = up.cli.here("policy", "doctor")
    assert done.code == 0, done.out + done.err
    assert results(done) == {
        "connection": "OK",
        "definitions": "OK",
        "permissions of the operator": "OK",
        "permissions for leader election": "OK",
        "permissions of the webhook": "OK",
        "webhook": "SKIPPED",
    }
    assert "Kubernetes v1.34" in done.out
    assert "Pods are not checked at admission" in done.out


def test_missing_permissions_are_named(up: Up, tmp_path: Path) -> None:
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "looks"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "viewer"}],
    }
    assert up.cli.here("apply", "-f", write(tmp_path / "binding.yaml", binding)).code == 0
    config = tmp_path / "viewer.kubeconfig"
    config.write_text(up.cli.here("token", "create", "viewer", "-o", "kubeconfig").out)
    config.chmod(0o600)
    done = up.cli.here("policy", "doctor", "--kubeconfig", config)
    assert done.code == 1
    found = results(done)
    assert (found["connection"], found["permissions of the operator"]) == ("OK", "FAIL")
    assert "not allowed to patch devopspolicies.devops.stochastic.io" in done.out
    assert "if the leases are in another namespace: --namespace NAME" in done.out
    assert found["webhook"] == "SKIPPED"


def test_a_server_that_does_not_answer_is_unreachable(up: Up, tmp_path: Path) -> None:
    config = yaml.load((up.data / "kubeconfig").read_bytes())
    config["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:1"
    path = write(tmp_path / "config", config)
    path.chmod(0o600)
    done = up.cli.here("policy", "doctor", "--kubeconfig", path)
    assert (done.code, done.out) == (3, "")
    assert f"(the server of {path}); is it running?" in done.err


def test_definitions_that_are_missing_are_named_with_how_to_install_them(cli: Cli, tmp_path: Path) -> None:
    with running(cli, "--operators", "none") as bare:
        done = bare.cli.here("policy", "doctor")
    assert (done.code, results(done)["definitions"]) == (1, "FAIL")
    assert "homeostat crds --operators policy" in done.out


@pytest.mark.parametrize(("bundle", "text"), [(b"none", "not a certificate"), (b"", "not a certificate")])
def test_a_webhook_without_a_valid_authority_fails(up: Up, tmp_path: Path, bundle: bytes, text: str) -> None:
    path = write(tmp_path / "hook.yaml", webhook_configuration(bundle, service="doctor"))
    assert up.cli.here("apply", "-f", path).code == 0
    try:
        done = up.cli.here("policy", "doctor")
    finally:
        up.cli.here("delete", "validatingwebhookconfiguration", "doctor")
    assert (done.code, results(done)["webhook doctor"]) == (1, "FAIL")
    assert text in done.out


def test_a_webhook_shows_its_failure_policy_and_the_end_of_its_authority(up: Up, tmp_path: Path) -> None:
    up.cli.here("policy", "webhook", "cert-generate", "--output-dir", tmp_path)
    authority = (tmp_path / "ca.crt").read_bytes()
    path = write(tmp_path / "hook.yaml", webhook_configuration(authority, service="doctor"))
    assert up.cli.here("apply", "-f", path).code == 0
    try:
        done = up.cli.here("policy", "doctor")
    finally:
        up.cli.here("delete", "validatingwebhookconfiguration", "doctor")
    assert (done.code, results(done)["webhook doctor"]) == (0, "OK")
    assert "failurePolicy Ignore, authority valid until 20" in done.out
