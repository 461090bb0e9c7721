"""The part of the conversation that is about certificate signing requests."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.differential.step import MERGE, TABLE, Step, api

CSRS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
CLIENT = "kubernetes.io/kube-apiserver-client"


def request(common_name: str, *organizations: str, key: ec.EllipticCurvePrivateKey | None = None) -> str:
    """The PEM of a request for a key, in base64."""
    names = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, each) for each in organizations]
    subject = x509.Name([*names, x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
    builder = x509.CertificateSigningRequestBuilder().subject_name(subject)
    signed = builder.sign(key or ec.generate_private_key(ec.SECP256R1()), hashes.SHA256())
    return b64encode(signed.public_bytes(serialization.Encoding.PEM)).decode()


def csr(name: str, pem: str, *usages: str, signer: str = "example.com/other", **more: Any) -> dict[str, Any]:
    spec = {"request": pem, "signerName": signer, "usages": list(usages), **more}
    return api("CertificateSigningRequest", "certificates.k8s.io/v1", name, spec=spec)


def condition(kind: str, status: str = "True") -> dict[str, Any]:
    return {"type": kind, "status": status, "reason": "By", "message": "test"}


def _conditions(*found: dict[str, Any]) -> dict[str, Any]:
    return {"status": {"conditions": list(found)}}


_JANE = request("jane", "devs")
_BROKEN = b64encode(b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n").decode()

CERTIFICATE_STEPS = [
    Step("csr", "POST", CSRS, csr("jane", _JANE, "client auth", expirationSeconds=7200, username="root")),
    Step("csr of any name", "POST", f"{CSRS}?dryRun=All", csr("Jane:1", _JANE, "client auth")),
    Step("csr without a request", "POST", CSRS, csr("bad", "", "client auth")),
    Step("csr of a certificate", "POST", CSRS, csr("bad", _BROKEN, "client auth")),
    Step("csr without a spec", "POST", CSRS, api("CertificateSigningRequest", "certificates.k8s.io/v1", "bad")),
    Step("csr without usages", "POST", CSRS, csr("bad", _JANE)),
    Step("csr of odd usages", "POST", CSRS, csr("bad", _JANE, "client auth", "eating", "client auth")),
    Step("csr of a short life", "POST", CSRS, csr("bad", _JANE, "client auth", expirationSeconds=599)),
    Step("csr of no signer", "POST", CSRS, csr("bad", _JANE, "client auth", signer="")),
    Step("csr of a bare signer", "POST", CSRS, csr("bad", _JANE, "client auth", signer="other")),
    Step("csr of a short domain", "POST", CSRS, csr("bad", _JANE, "client auth", signer="com/Other")),
    Step(
        "csr of the legacy signer",
        "POST",
        CSRS,
        csr("bad", _JANE, "client auth", signer="kubernetes.io/legacy-unknown"),
    ),
    Step("csr of a master", "POST", CSRS, csr("bad", request("root", "system:masters"), "client auth", signer=CLIENT)),
    Step("csr of another spec", "PATCH", f"{CSRS}/jane", {"spec": {"signerName": "a.com/b"}}, MERGE),
    Step("csr approved by a main write", "PATCH", f"{CSRS}/jane", _conditions(condition("Approved")), MERGE),
    Step("csr approved by status", "PATCH", f"{CSRS}/jane/status", _conditions(condition("Approved")), MERGE),
    Step("csr table, pending", "GET", f"{CSRS}/jane", accept=TABLE),
    Step("csr approved falsely", "PATCH", f"{CSRS}/jane/approval", _conditions(condition("Approved", "False")), MERGE),
    Step(
        "csr approved and denied",
        "PATCH",
        f"{CSRS}/jane/approval",
        _conditions(condition("Approved"), condition("Denied")),
        MERGE,
    ),
    Step("csr approved", "PATCH", f"{CSRS}/jane/approval", _conditions(condition("Approved")), MERGE),
    Step("csr no longer approved", "PATCH", f"{CSRS}/jane/approval", _conditions(), MERGE),
    Step("csr certificate by approval", "PATCH", f"{CSRS}/jane/approval", {"status": {"certificate": "YQ=="}}, MERGE),
    Step("csr odd certificate", "PATCH", f"{CSRS}/jane/status", {"status": {"certificate": "YQ=="}}, MERGE),
    Step("csr failed", "PATCH", f"{CSRS}/jane/status", _conditions(condition("Approved"), condition("Failed")), MERGE),
    Step("csr approval read", "GET", f"{CSRS}/jane/approval"),
    Step("csr table, failed", "GET", f"{CSRS}/jane", accept=TABLE),
    Step("csrs of a signer", "GET", f"{CSRS}?fieldSelector=spec.signerName=example.com/other"),
    Step("csrs of another signer", "GET", f"{CSRS}?fieldSelector=spec.signerName=example.com/none"),
    Step("csr deleted", "DELETE", f"{CSRS}/jane"),
    Step("discovery of certificates", "GET", "/apis/certificates.k8s.io/v1"),
]
