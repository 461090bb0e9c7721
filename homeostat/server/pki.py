"""Makes certificates. PEM in, PEM out; no files, no clock.

The one module that needs the cryptography package's X.509 half, so it is imported only when something is to be made.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from homeostat.server.keys import load_key

AUTHORITY_LIFE = timedelta(days=3653)
LEAF_LIFE = timedelta(days=365)
_SKEW = timedelta(hours=1)
"""Certificates begin a little before they are made: clocks differ."""


class Authority(NamedTuple):
    certificate: bytes
    key: bytes


class Subject(NamedTuple):
    """Whom a certificate names. With hosts it is a server's, without a client's."""

    common_name: str
    organizations: tuple[str, ...] = ()
    hosts: frozenset[str] = frozenset()


def make_authority(key_pem: bytes, *, now: datetime) -> bytes:
    """A self-signed certificate of its own name: certificates of an earlier authority do not pass for this one's."""
    key = load_key(key_pem)
    name = _name(Subject(f"homeostat-ca@{int(now.timestamp())}"))
    builder = _builder(name, name, key.public_key(), now).not_valid_after(now + AUTHORITY_LIFE)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    builder = builder.add_extension(_usage(signs_certificates=True), critical=True)
    return _signed(builder, key)


def issue(authority: Authority, subject: Subject, *, key: bytes, now: datetime) -> bytes:
    """A certificate for a key, good for `LEAF_LIFE` but no longer than the authority; `ValueError` for a wrong key."""
    signer = x509.load_pem_x509_certificate(authority.certificate)
    signing_key = load_key(authority.key)
    if signer.public_key() != signing_key.public_key():
        raise ValueError("the authority's key is not that of its certificate")
    purpose = ExtendedKeyUsageOID.SERVER_AUTH if subject.hosts else ExtendedKeyUsageOID.CLIENT_AUTH
    builder = _builder(_name(subject), signer.subject, load_key(key).public_key(), now)
    builder = builder.not_valid_after(min(now + LEAF_LIFE, signer.not_valid_after_utc))
    builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    builder = builder.add_extension(_usage(signs_certificates=False), critical=True)
    builder = builder.add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
    identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(signing_key.public_key())
    builder = builder.add_extension(identifier, critical=False)
    if subject.hosts:
        builder = builder.add_extension(x509.SubjectAlternativeName(_general_names(subject.hosts)), critical=False)
    return _signed(builder, signing_key)


def _builder(
    subject: x509.Name, issuer: x509.Name, public_key: ec.EllipticCurvePublicKey, now: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _SKEW)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)
    )


def _signed(builder: x509.CertificateBuilder, key: ec.EllipticCurvePrivateKey) -> bytes:
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def _name(subject: Subject) -> x509.Name:
    organizations = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, each) for each in subject.organizations]
    return x509.Name([*organizations, x509.NameAttribute(NameOID.COMMON_NAME, subject.common_name)])


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _general_names(hosts: Iterable[str]) -> list[x509.GeneralName]:
    return [_general_name(host) for host in sorted(hosts)]


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
