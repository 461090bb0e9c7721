"""X.509 certificates as all of ours are: an authority that signs for itself, and leaves that it vouches for.

Keys and names in, PEM out; no files, no clock. It needs the cryptography package's X.509 half, so it is imported only
when something is to be made.
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

_SKEW = timedelta(hours=1)
"""Certificates begin a little before they are made: clocks differ."""


class Subject(NamedTuple):
    """Whom a certificate names. With hosts it is a server's, without a client's; a name that is empty is left out."""

    common_name: str
    organizations: tuple[str, ...] = ()
    hosts: frozenset[str] = frozenset()


class Span(NamedTuple):
    """When a certificate is made, and when it ends."""

    now: datetime
    end: datetime


class Signer(NamedTuple):
    name: x509.Name
    key: ec.EllipticCurvePrivateKey


def name_of(subject: Subject) -> x509.Name:
    attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, each) for each in subject.organizations]
    attributes += [x509.NameAttribute(NameOID.COMMON_NAME, subject.common_name)] if subject.common_name else []
    return x509.Name(attributes)


def sign_authority(signer: Signer, span: Span) -> bytes:
    """For the signer itself. It may vouch for leaves, and for no other authority."""
    builder = _builder(signer.name, signer.name, signer.key.public_key(), span)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    return _signed(builder.add_extension(_usage(signs_certificates=True), critical=True), signer.key)


def sign_leaf(signer: Signer, subject: Subject, key: ec.EllipticCurvePublicKey, span: Span) -> bytes:
    purpose = ExtendedKeyUsageOID.SERVER_AUTH if subject.hosts else ExtendedKeyUsageOID.CLIENT_AUTH
    builder = _builder(name_of(subject), signer.name, key, span)
    builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    builder = builder.add_extension(_usage(signs_certificates=False), critical=True)
    builder = builder.add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
    identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.key.public_key())
    builder = builder.add_extension(identifier, critical=False)
    if subject.hosts:
        builder = builder.add_extension(x509.SubjectAlternativeName(_general_names(subject.hosts)), critical=False)
    return _signed(builder, signer.key)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, span: Span
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(span.now - _SKEW)
        .not_valid_after(span.end)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


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


def _signed(builder: x509.CertificateBuilder, key: ec.EllipticCurvePrivateKey) -> bytes:
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def _general_names(hosts: Iterable[str]) -> list[x509.GeneralName]:
    return [_general_name(host) for host in sorted(hosts)]


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
