"""Certificates of faces and admission webhooks, in PEM: an authority for this purpose only, and the leaf of a server.

The authority is valid for ten years. Its key is kept beside the certificate, so that a new certificate can be signed
before the old one expires, without a new authority in the webhook configuration.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from homeostat.edge.tls.certificates import Signer, Subject, Validity, name_of, sign_authority, sign_leaf

AUTHORITY_NAME: Final = "kube-devops-webhook-ca"
ORGANIZATION: Final = "kube-devops"
AUTHORITY_LIFE: Final = timedelta(days=3650)
_LONGEST_NAME = 64


def service_names(service: str, namespace: str) -> tuple[str, str]:
    """The DNS names of a Service, for its certificate."""
    return f"{service}.{namespace}.svc", f"{service}.{namespace}.svc.cluster.local"


class AddressError(ValueError):
    """The text is not an IP address."""


class RenewalError(Exception):
    """A certificate cannot be renewed; the text says why."""


class Certificates(NamedTuple):
    authority: bytes
    authority_key: bytes
    certificate: bytes
    key: bytes
    """The key of the certificate, in PKCS#8."""


def make_certificates(
    service: str, namespace: str, addresses: Iterable[str] = (), *, now: datetime, life: timedelta
) -> Certificates:
    """Certificates for the names of a Service and for IP addresses; `AddressError` for an invalid address."""
    names = service_names(service, namespace)
    hosts = frozenset((*names, *map(_address, addresses)))
    signing_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    # A longer common name is invalid. Clients check the alternative names.
    common_name = names[0] if len(names[0]) <= _LONGEST_NAME else ""
    subject = Subject(common_name, (ORGANIZATION,), hosts)
    signer = Signer(name_of(Subject(AUTHORITY_NAME, (ORGANIZATION,))), signing_key)
    return Certificates(
        sign_authority(signer, Validity(now, now + max(life, AUTHORITY_LIFE))),
        _private_bytes(signing_key),
        sign_leaf(signer, subject, key.public_key(), Validity(now, now + life)),
        _private_bytes(key),
    )


def renew_certificate(current: Certificates, *, now: datetime) -> Certificates:
    """A new certificate and key for the same names, by the same authority, valid as long as the current one was.

    It does not outlive the authority. `RenewalError` if a file is unreadable or if the authority has expired.
    """
    try:
        authority, leaf = map(x509.load_pem_x509_certificate, (current.authority, current.certificate))
        signing_key = serialization.load_pem_private_key(current.authority_key, None)
        alternative = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (ValueError, TypeError, x509.ExtensionNotFound) as error:
        raise RenewalError(f"ca.crt, ca.key or tls.crt is unreadable: {error}") from error
    if not isinstance(signing_key, ec.EllipticCurvePrivateKey) or signing_key.public_key() != authority.public_key():
        raise RenewalError("ca.key is not the key of ca.crt")
    end = min(now + (leaf.not_valid_after_utc - leaf.not_valid_before_utc), authority.not_valid_after_utc)
    if end <= now:
        raise RenewalError(f"the authority of ca.crt expired at {authority.not_valid_after_utc:%Y-%m-%d %H:%M} UTC")
    hosts = {*alternative.get_values_for_type(x509.DNSName)}
    hosts |= {str(each) for each in alternative.get_values_for_type(x509.IPAddress)}
    subject = Subject(_text(leaf, NameOID.COMMON_NAME), (_text(leaf, NameOID.ORGANIZATION_NAME),), frozenset(hosts))
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = sign_leaf(Signer(authority.subject, signing_key), subject, key.public_key(), Validity(now, end))
    return current._replace(certificate=certificate, key=_private_bytes(key))


def validity_of(certificate: bytes) -> tuple[datetime, datetime]:
    """From when to when it is valid; `RenewalError` if it is unreadable."""
    try:
        read = x509.load_pem_x509_certificate(certificate)
    except ValueError as error:
        raise RenewalError(f"tls.crt is unreadable: {error}") from error
    return read.not_valid_before_utc, read.not_valid_after_utc


def _private_bytes(key: ec.EllipticCurvePrivateKey) -> bytes:
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    return key.private_bytes(encoding, form, serialization.NoEncryption())


def _text(certificate: x509.Certificate, attribute: x509.ObjectIdentifier) -> str:
    found = certificate.subject.get_attributes_for_oid(attribute)
    return str(found[0].value) if found else ""


def _address(text: str) -> str:
    try:
        return str(ipaddress.ip_address(text))
    except ValueError as error:
        raise AddressError(f'"{text}" is not an IP address') from error
