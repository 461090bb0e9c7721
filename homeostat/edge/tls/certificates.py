"""Issues X.509 certificates: self-signed certificate authorities, and server and client certificates signed by them.

The functions take keys and names and return PEM. They touch no files and no clock. Importing the module loads the X.509
part of the cryptography package, so callers import it only when they issue a certificate.
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
"""A certificate is valid from a little before it is issued, because clocks differ."""


class Subject(NamedTuple):
    """The subject of a certificate: with hosts a server, without a client. An empty name is left out."""

    common_name: str
    organizations: tuple[str, ...] = ()
    hosts: frozenset[str] = frozenset()


class Validity(NamedTuple):
    """When a certificate is issued, and when it expires."""

    now: datetime
    end: datetime


class Signer(NamedTuple):
    name: x509.Name
    key: ec.EllipticCurvePrivateKey


def name_of(subject: Subject) -> x509.Name:
    attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, each) for each in subject.organizations]
    attributes += [x509.NameAttribute(NameOID.COMMON_NAME, subject.common_name)] if subject.common_name else []
    return x509.Name(attributes)


def sign_authority(signer: Signer, validity: Validity) -> bytes:
    """The signer's own certificate. It may sign server and client certificates, and no other authority."""
    builder = _builder(signer.name, signer.name, signer.key.public_key(), validity)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    return _signed(builder.add_extension(_usage(signs_certificates=True), critical=True), signer.key)


def sign_leaf(signer: Signer, subject: Subject, key: ec.EllipticCurvePublicKey, validity: Validity) -> bytes:
    purpose = ExtendedKeyUsageOID.SERVER_AUTH if subject.hosts else ExtendedKeyUsageOID.CLIENT_AUTH
    builder = _builder(name_of(subject), signer.name, key, validity)
    builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    builder = builder.add_extension(_usage(signs_certificates=False), critical=True)
    builder = builder.add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
    identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.key.public_key())
    builder = builder.add_extension(identifier, critical=False)
    if subject.hosts:
        builder = builder.add_extension(x509.SubjectAlternativeName(_general_names(subject.hosts)), critical=False)
    return _signed(builder, signer.key)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, validity: Validity
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(validity.now - _SKEW)
        .not_valid_after(validity.end)
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
