"""`kubectl certificate`: a key, a request, a decision, and a certificate that logs in."""

from __future__ import annotations

import base64
import json
import shutil
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.differential.certificates import CLIENT, csr, request
from tests.kubectl.kubectl import Kubectl

_REQUESTER = """
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: "requester"}
rules:
- {apiGroups: [certificates.k8s.io], resources: [certificatesigningrequests], verbs: [create, get, list]}
- {apiGroups: [certificates.k8s.io], resources: [certificatesigningrequests/approval], verbs: [update, patch]}
- {apiGroups: [certificates.k8s.io], resources: [certificatesigningrequests/status], verbs: [get, update, patch]}
"""


@pytest.fixture(scope="module")
def requester(cluster: Kubectl) -> str:
    """May write requests, their approval and their status, and has no permission on any signer."""
    cluster("apply", "-f", "-", stdin=_REQUESTER)
    cluster("create", "clusterrolebinding", "requester", "--clusterrole=requester", "--user=jane")
    return "--as=jane"


def test_a_signed_request_logs_in(cluster: Kubectl, requester: str, unique: str, tmp_path: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    wanted = csr(unique, request("jane", "devs", key=key), "client auth", signer=CLIENT, expirationSeconds=7200)
    cluster("create", requester, "-f", "-", stdin=json.dumps(wanted))
    (row,) = cluster("get", "csr", unique, "--no-headers").splitlines()
    assert row.split()[2:] == [CLIENT, "jane", "120m", "Pending"]

    refused = cluster.fails("certificate", "approve", unique, requester)
    assert f'user not permitted to approve requests with signerName "{CLIENT}"' in refused
    _allow(cluster, unique, "approve", CLIENT)
    cluster("certificate", "approve", unique, requester)
    assert cluster("get", "csr", unique, "--no-headers").split()[-1] == "Approved,Issued"

    pem = base64.b64decode(cluster("get", "csr", unique, "-o", "jsonpath={.status.certificate}"))
    certificate = x509.load_pem_x509_certificate(pem)
    assert certificate.not_valid_after_utc - certificate.not_valid_before_utc == timedelta(seconds=7200 + 300)
    (tmp_path / "jane.crt").write_bytes(pem)
    private = serialization.PrivateFormat.PKCS8
    (tmp_path / "jane.key").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, private, serialization.NoEncryption())
    )
    jane = _logged_in(cluster, tmp_path)
    told = jane("auth", "whoami", "-o", "jsonpath={.status.userInfo.username} {.status.userInfo.groups}")
    assert told == 'jane ["devs","system:authenticated"]'
    assert f"csr/{unique}" in jane("get", "csr", "-o", "name").replace(
        "certificatesigningrequest.certificates.k8s.io", "csr"
    )


def _allow(cluster: Kubectl, name: str, verb: str, signer: str) -> None:
    """jane may use the verb on a signer."""
    rule = {"apiGroups": ["certificates.k8s.io"], "resources": ["signers"], "resourceNames": [signer], "verbs": [verb]}
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": name}}
    cluster("create", "-f", "-", stdin=json.dumps({**role, "rules": [rule]}))
    cluster("create", "clusterrolebinding", name, f"--clusterrole={name}", "--user=jane")


def _logged_in(cluster: Kubectl, directory: Path) -> Kubectl:
    """kubectl with the certificate and the key in the directory."""
    kubeconfig = directory / "kubeconfig"
    shutil.copy(cluster.kubeconfig, kubeconfig)
    jane = replace(cluster, kubeconfig=kubeconfig)
    files = f"--client-certificate={directory / 'jane.crt'}", f"--client-key={directory / 'jane.key'}"
    jane("config", "set-credentials", "jane", *files, "--embed-certs")
    jane("config", "set-context", "--current", "--user=jane")
    return jane


def test_a_denied_request_stays_without_a_certificate(cluster: Kubectl, unique: str) -> None:
    cluster("create", "-f", "-", stdin=json.dumps(csr(unique, request("joe"), "client auth", signer=CLIENT)))
    cluster("certificate", "deny", unique)
    assert cluster("get", "csr", unique, "--no-headers").split()[-1] == "Denied"
    assert "is already Denied" in cluster.fails("certificate", "approve", unique)


@pytest.mark.parametrize(
    ("signer", "subject", "usages", "message"),
    [
        (CLIENT, ("joe",), ("server auth",), "invalid usage for client certificate: server auth"),
        (CLIENT, ("joe",), ("digital signature",), "missing required usage for client certificate: client auth"),
        (
            "kubernetes.io/kube-apiserver-client-kubelet",
            ("system:node:a", "other"),
            ("client auth", "digital signature"),
            "subject organization is not system:nodes",
        ),
        (
            "kubernetes.io/kubelet-serving",
            ("system:node:a", "system:nodes"),
            ("server auth", "digital signature"),
            "DNS or IP subjectAltName is required",
        ),
    ],
)
def test_a_request_that_does_not_suit_its_signer_fails(
    cluster: Kubectl, unique: str, signer: str, subject: tuple[str, ...], usages: tuple[str, ...], message: str
) -> None:
    cluster("create", "-f", "-", stdin=json.dumps(csr(unique, request(*subject), *usages, signer=signer)))
    cluster("certificate", "approve", unique)
    found = cluster(
        "get", "csr", unique, "-o", "jsonpath={.status.conditions[1].reason}: {.status.conditions[1].message}"
    )
    assert found == f"SignerValidationFailure: {message}"
    assert cluster("get", "csr", unique, "--no-headers").split()[-1] == "Approved,Failed"


def test_a_kubelet_gets_its_client_certificate(cluster: Kubectl, unique: str) -> None:
    pem = request("system:node:a", "system:nodes")
    signer = "kubernetes.io/kube-apiserver-client-kubelet"
    cluster("create", "-f", "-", stdin=json.dumps(csr(unique, pem, "client auth", "digital signature", signer=signer)))
    cluster("certificate", "approve", unique)
    assert cluster("get", "csr", unique, "--no-headers").split()[-1] == "Approved,Issued"


def test_signing_needs_the_permission_on_the_signer(cluster: Kubectl, requester: str, unique: str) -> None:
    cluster("create", "-f", "-", stdin=json.dumps(csr(unique, request("joe"), "client auth")))
    failed = {"type": "Failed", "status": "True", "reason": "No", "message": "no"}
    patch = ("patch", "csr", unique, "--subresource=status", "--type=merge")
    change = json.dumps({"status": {"conditions": [failed]}})
    refused = cluster.fails(*patch, "-p", change, requester)
    assert 'user not permitted to sign requests with signerName "example.com/other"' in refused
    _allow(cluster, unique, "sign", "example.com/*")
    cluster(*patch, "-p", change, requester)
