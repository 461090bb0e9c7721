"""Certificates for the admission webhook: an authority made for this one purpose, and the server's. PEM, no files.

The key of the authority is thrown away: nothing else can ever be signed with it, and the next certificates come from
another authority.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from homeostat.operators.policy.webhookconfig import service_names

AUTHORITY_NAME: Final = "kube-devops-webhook-ca"
ORGANIZATION: Final = "kube-devops"
_LONGEST_NAME = 64
_SKEW = timedelta(hours=1)
"""Certificates begin a little before they are made: clocks differ."""
_Key = ec.EllipticCurvePrivateKey


class AddressError(ValueError):
    """The text is no IP address."""


class Certificates(NamedTuple):
    authority: bytes
    certificate: bytes
    key: bytes
    """Of the certificate, in PKCS#8."""


def make_certificates(
    service: str, namespace: str, addresses: Iterable[str] = (), *, now: datetime, life: timedelta
) -> Certificates:
    """For the names of a Service, and for IP addresses; `AddressError` for one that is none."""
    names = service_names(service, namespace)
    hosts: list[x509.GeneralName] = [x509.DNSName(each) for each in names]
    hosts += [x509.IPAddress(_address(each)) for each in addresses]
    signing_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    issuer = _name(AUTHORITY_NAME)
    # What is longer is no valid common name. The alternative names are what counts.
    subject = _name(names[0]) if len(names[0]) <= _LONGEST_NAME else _name("")
    span = (now - _SKEW, now + life)
    authority = _authority(_builder(issuer, issuer, signing_key, span))
    leaf = _leaf(_builder(subject, issuer, key, span), signing_key, hosts)
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    return Certificates(
        _signed(authority, signing_key),
        _signed(leaf, signing_key),
        key.private_bytes(encoding, form, serialization.NoEncryption()),
    )


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    try:
        return ipaddress.ip_address(text)
    except ValueError as error:
        raise AddressError(f'"{text}" is no IP address') from error


def _name(common_name: str) -> x509.Name:
    attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, ORGANIZATION)]
    attributes += [x509.NameAttribute(NameOID.COMMON_NAME, common_name)] if common_name else []
    return x509.Name(attributes)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: _Key, span: tuple[datetime, datetime]
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(span[0])
        .not_valid_after(span[1])
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _authority(builder: x509.CertificateBuilder) -> x509.CertificateBuilder:
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    return builder.add_extension(_usage(signs_certificates=True), critical=True)


def _leaf(
    builder: x509.CertificateBuilder, signing_key: _Key, hosts: list[x509.GeneralName]
) -> x509.CertificateBuilder:
    builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    builder = builder.add_extension(_usage(signs_certificates=False), critical=True)
    builder = builder.add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
    identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(signing_key.public_key())
    builder = builder.add_extension(identifier, critical=False)
    return builder.add_extension(x509.SubjectAlternativeName(hosts), critical=False)


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


def _signed(builder: x509.CertificateBuilder, key: _Key) -> bytes:
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
