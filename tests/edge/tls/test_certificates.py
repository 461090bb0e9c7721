"""Certificates: who vouches for whom, and for what."""

from __future__ import annotations

import ipaddress
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
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


def written_by_the_package(
    made: x509.Certificate, issuer: bytes, *extensions: tuple[x509.ExtensionType, bool]
) -> bytes:
    """The same certificate from the cryptography package, before it is signed."""
    builder = (
        x509.CertificateBuilder()
        .subject_name(made.subject)
        .issuer_name(made.issuer)
        .public_key(KEY.public_key())
        .serial_number(made.serial_number)
        .not_valid_before(made.not_valid_before_utc)
        .not_valid_after(made.not_valid_after_utc)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(KEY.public_key()), critical=False)
    )
    for extension, is_critical in extensions:
        builder = builder.add_extension(extension, critical=is_critical)
    assert made.issuer.public_bytes() == issuer
    return builder.sign(SIGNER.key, hashes.SHA256()).tbs_certificate_bytes


def usage(*, signs_certificates: bool) -> x509.KeyUsage:
    never = ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement")
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        **dict.fromkeys((*never, "encipher_only", "decipher_only"), False),
    )


@pytest.mark.parametrize("days", [30, 365 * 30], ids=["two digits of the year", "four digits of the year"])
@pytest.mark.parametrize(
    "subject",
    [
        Subject("web", ("one", "größe"), frozenset({"web.example.com", "10.0.0.7", "::1"})),
        Subject("", (), frozenset(f"host-{number}.example.com" for number in range(40))),
        Subject("admin", ("system:masters",)),
    ],
    ids=["server", "many hosts", "client"],
)
def test_a_certificate_is_what_the_cryptography_package_writes(subject: Subject, days: int) -> None:
    span = Validity(NOW, NOW + timedelta(days=days))
    made = x509.load_pem_x509_certificate(sign_leaf(SIGNER, subject, KEY.public_key(), span))
    purpose = ExtendedKeyUsageOID.SERVER_AUTH if subject.hosts else ExtendedKeyUsageOID.CLIENT_AUTH
    extensions: list[tuple[x509.ExtensionType, bool]] = [
        (x509.BasicConstraints(ca=False, path_length=None), True),
        (usage(signs_certificates=False), True),
        (x509.ExtendedKeyUsage([purpose]), False),
        (x509.AuthorityKeyIdentifier.from_issuer_public_key(SIGNER.key.public_key()), False),
    ]
    if subject.hosts:
        names = [
            x509.DNSName(each) if each[-1].isalpha() else x509.IPAddress(ipaddress.ip_address(each))
            for each in sorted(subject.hosts)
        ]
        extensions.append((x509.SubjectAlternativeName(names), False))
    assert made.tbs_certificate_bytes == written_by_the_package(made, SIGNER.name, *extensions)
    made.verify_directly_issued_by(authority())


def test_an_authority_is_what_the_cryptography_package_writes() -> None:
    made = authority(Signer(name_of(Subject("authority")), KEY))
    extensions = (x509.BasicConstraints(ca=True, path_length=0), True), (usage(signs_certificates=True), True)
    assert made.tbs_certificate_bytes == written_by_the_package(made, name_of(Subject("authority")), *extensions)
    made.verify_directly_issued_by(made)


@pytest.mark.parametrize("subject", [Subject("x" * 65), Subject("web", ("",)), Subject("ü" * 33)])
def test_a_name_that_no_certificate_may_have_is_refused(subject: Subject) -> None:
    with pytest.raises(ValueError, match="1 to 64 bytes"):
        name_of(subject)


def test_a_key_of_another_curve_is_refused() -> None:
    with pytest.raises(ValueError, match="P-256"):
        sign_leaf(SIGNER, Subject("web"), ec.generate_private_key(ec.SECP384R1()).public_key(), SPAN)
