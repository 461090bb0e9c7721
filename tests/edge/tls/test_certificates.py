"""Certificates: who vouches for whom, and for what."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID
from cryptography.x509.verification import PolicyBuilder, Store, VerificationError

from homeostat.edge.tls.certificates import Signer, Subject, Validity, name_of, sign_authority, sign_leaf

NOW = datetime(2026, 11, 16, tzinfo=UTC)
SPAN = Validity(NOW, NOW + timedelta(days=30))
KEY = ec.generate_private_key(ec.SECP256R1())
SIGNER = Signer(name_of(Subject("authority", ("tests",))), ec.generate_private_key(ec.SECP256R1()))


def leaf(subject: Subject) -> x509.Certificate:
    return x509.load_pem_x509_certificate(sign_leaf(SIGNER, subject, KEY.public_key(), SPAN))


def authority(signer: Signer = SIGNER) -> x509.Certificate:
    return x509.load_pem_x509_certificate(sign_authority(signer, SPAN))


def test_an_authority_vouches_for_a_server_by_its_names_and_addresses() -> None:
    made = leaf(Subject("web", hosts=frozenset({"web.example.com", "10.0.0.7"})))
    verifier = PolicyBuilder().store(Store([authority()])).time(NOW)
    verifier.build_server_verifier(x509.DNSName("web.example.com")).verify(made, [])
    with pytest.raises(VerificationError):
        verifier.build_server_verifier(x509.DNSName("other.example.com")).verify(made, [])


def test_another_authority_of_the_same_name_does_not() -> None:
    made = leaf(Subject("web", hosts=frozenset({"web.example.com"})))
    other = authority(Signer(SIGNER.name, ec.generate_private_key(ec.SECP256R1())))
    verifier = PolicyBuilder().store(Store([other])).time(NOW)
    with pytest.raises(VerificationError):
        verifier.build_server_verifier(x509.DNSName("web.example.com")).verify(made, [])


@pytest.mark.parametrize(
    ("hosts", "purpose"),
    [({"web"}, ExtendedKeyUsageOID.SERVER_AUTH), (set(), ExtendedKeyUsageOID.CLIENT_AUTH)],
    ids=["server", "client"],
)
def test_a_certificate_is_for_one_purpose(hosts: set[str], purpose: x509.ObjectIdentifier) -> None:
    usage = leaf(Subject("web", hosts=frozenset(hosts))).extensions.get_extension_for_class(x509.ExtendedKeyUsage)
    assert list(usage.value) == [purpose]


def test_an_empty_name_is_left_out_and_clocks_may_differ() -> None:
    made = leaf(Subject("", ("tests",), frozenset({"web"})))
    assert made.subject.rfc4514_string() == "O=tests"
    assert (made.not_valid_before_utc, made.not_valid_after_utc) == (NOW - timedelta(hours=1), SPAN.end)
