"""CertificateSigningRequests: unreadable ones are refused, and approved ones signed."""

from __future__ import annotations

from base64 import b64encode

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519
from cryptography.x509.oid import NameOID

from tests.api.conftest import MERGE_PATCH, Api
from tests.differential.certificates import CLIENT, CSRS, condition, csr, request

_KEY = ed25519.Ed25519PrivateKey.generate()
_NAMES = x509.ObjectIdentifier("2.5.29.17")
_OTHER = x509.ObjectIdentifier("2.5.29.18")


def signed(*extensions: x509.ExtensionType) -> x509.CertificateSigningRequest:
    builder = x509.CertificateSigningRequestBuilder()
    builder = builder.subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "jane")]))
    for each in extensions:
        builder = builder.add_extension(each, critical=False)
    return builder.sign(_KEY, None)


def twice() -> bytes:
    """A signed request that has its alternative names twice."""
    names = x509.SubjectAlternativeName([x509.DNSName("a.example.com")])
    once = signed(names, x509.UnrecognizedExtension(_OTHER, names.public_bytes()))
    body = once.tbs_certrequest_bytes.replace(b"\x06\x03\x55\x1d\x12", b"\x06\x03\x55\x1d\x11")
    whole = once.public_bytes(serialization.Encoding.DER).replace(once.tbs_certrequest_bytes, body)
    return whole.replace(once.signature, _KEY.sign(body))


def names_of(value: bytes) -> bytes:
    return signed(x509.UnrecognizedExtension(_NAMES, value)).public_bytes(serialization.Encoding.DER)


def pem(der: bytes) -> str:
    parsed = x509.load_der_x509_csr(der)
    return b64encode(parsed.public_bytes(serialization.Encoding.PEM)).decode()


@pytest.mark.parametrize(
    "der",
    [
        pytest.param(twice(), id="the same extension twice"),
        pytest.param(names_of(b"\x30\x02\xa3\x00"), id="a kind of name that nobody reads"),
        pytest.param(names_of(b"\x30\x05\x87\x03\x01\x02\x03"), id="an address of three bytes"),
        pytest.param(names_of(b"\x30\x03abc"), id="no ASN.1"),
    ],
)
async def test_a_request_with_unreadable_extensions_is_invalid(api: Api, der: bytes) -> None:
    answer = await api("POST", CSRS, csr("odd", pem(der), "client auth", signer=CLIENT))
    assert answer.status == 422
    assert [each["field"] for each in answer.json["details"]["causes"]] == ["spec.request"]


async def test_requests_are_checked_in_a_thread(api: Api) -> None:
    """The first check imports for a tenth of a second, which would hold the event loop."""
    kind = api.plane.app.backend.registry.find("certificates.k8s.io", "v1", "certificatesigningrequests")
    assert kind is not None
    assert kind.behaviour.is_slow


async def test_a_request_is_signed_when_it_is_approved(api: Api) -> None:
    await api("POST", CSRS, csr("jane", request("jane"), "client auth", signer=CLIENT))
    approved = {"status": {"conditions": [condition("Approved")]}}
    answer = await api("PATCH", f"{CSRS}/jane/approval", approved, type=MERGE_PATCH)
    assert (answer.status, bool(answer.json["status"].get("certificate"))) == (200, True)
