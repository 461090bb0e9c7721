"""Issues X.509 certificates: self-signed certificate authorities, and server and client certificates signed by them.

The functions take keys and names and return PEM. They touch no files and no clock. A certificate is written here, and
only keys and signatures come from the cryptography package: its X.509 part takes 40 ms to import, which every first
start would pay. A test compares each certificate with the one that package writes. Keys of certificates are on P-256.
"""

from __future__ import annotations

import hashlib
import ipaddress
import secrets
from datetime import datetime, timedelta
from typing import NamedTuple

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

from homeostat.edge.tls import der

_SKEW = timedelta(hours=1)
"""A certificate is valid from a little before it is issued, because clocks differ."""
_SERIAL_BITS = 159
_LONGEST_NAME = 64
_COMMON_NAME, _ORGANIZATION = "2.5.4.3", "2.5.4.10"
_SERVER, _CLIENT = "1.3.6.1.5.5.7.3.1", "1.3.6.1.5.5.7.3.2"
_KEY_ID, _USAGE, _ALT_NAMES, _BASIC, _AUTHORITY_KEY_ID, _PURPOSES = (
    f"2.5.29.{number}" for number in (14, 15, 17, 19, 35, 37)
)
_VERSION_3 = der.element(0xA0, der.integer(2))
_ECDSA_WITH_SHA256 = der.sequence(der.identifier("1.2.840.10045.4.3.2"))
_P256 = der.sequence(der.identifier("1.2.840.10045.2.1"), der.identifier("1.2.840.10045.3.1.7"))
_TRUE = der.element(0x01, b"\xff")
_SIGNS = der.bits(b"\x80", unused=7)
"""digitalSignature"""
_SIGNS_CERTIFICATES = der.bits(b"\x86", unused=1)
"""digitalSignature, keyCertSign, cRLSign"""


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
    name: bytes
    """DER."""
    key: ec.EllipticCurvePrivateKey


def name_of(subject: Subject) -> bytes:
    """The name in DER; `ValueError` for one that X.509 does not allow."""
    attributes = [(_ORGANIZATION, each) for each in subject.organizations]
    attributes += [(_COMMON_NAME, subject.common_name)] if subject.common_name else []
    return der.sequence(*(_attribute(kind, value) for kind, value in attributes))


def _attribute(kind: str, value: str) -> bytes:
    if not 1 <= len(value.encode()) <= _LONGEST_NAME:
        raise ValueError(f"a name in a certificate has 1 to {_LONGEST_NAME} bytes, got {value!r}")
    return der.element(0x31, der.sequence(der.identifier(kind), der.text(value)))


def sign_authority(signer: Signer, validity: Validity) -> bytes:
    """The signer's own certificate. It may sign server and client certificates, and no other authority."""
    extensions = (
        _extension(_BASIC, der.sequence(_TRUE, der.integer(0)), is_critical=True),
        _extension(_USAGE, _SIGNS_CERTIFICATES, is_critical=True),
    )
    return _signed(signer, signer.name, signer.key.public_key(), validity, *extensions)


def sign_leaf(signer: Signer, subject: Subject, key: ec.EllipticCurvePublicKey, validity: Validity) -> bytes:
    signed_by = der.element(0x80, _key_id(signer.key.public_key()))
    extensions = [
        _extension(_BASIC, der.sequence(), is_critical=True),
        _extension(_USAGE, _SIGNS, is_critical=True),
        _extension(_PURPOSES, der.sequence(der.identifier(_SERVER if subject.hosts else _CLIENT))),
        _extension(_AUTHORITY_KEY_ID, der.sequence(signed_by)),
    ]
    if subject.hosts:
        extensions.append(_extension(_ALT_NAMES, der.sequence(*map(_alternative_name, sorted(subject.hosts)))))
    return _signed(signer, name_of(subject), key, validity, *extensions)


def public_key_info(key: ec.EllipticCurvePublicKey) -> bytes:
    """The key as it stands in certificates: SubjectPublicKeyInfo. `ValueError` unless it is on P-256."""
    if not isinstance(key.curve, ec.SECP256R1):
        raise ValueError("the key is not a P-256 key")
    return der.sequence(_P256, der.bits(_point(key)))


def _signed(
    signer: Signer, subject: bytes, key: ec.EllipticCurvePublicKey, validity: Validity, *extensions: bytes
) -> bytes:
    unsigned = der.sequence(
        _VERSION_3,
        der.integer(secrets.randbits(_SERIAL_BITS) or 1),
        _ECDSA_WITH_SHA256,
        signer.name,
        der.sequence(der.time(validity.now - _SKEW), der.time(validity.end)),
        subject,
        public_key_info(key),
        der.element(0xA3, der.sequence(_extension(_KEY_ID, der.octets(_key_id(key))), *extensions)),
    )
    signature = signer.key.sign(unsigned, ec.ECDSA(hashes.SHA256()))
    return der.pem("CERTIFICATE", der.sequence(unsigned, _ECDSA_WITH_SHA256, der.bits(signature)))


def _extension(kind: str, value: bytes, *, is_critical: bool = False) -> bytes:
    return der.sequence(der.identifier(kind), _TRUE if is_critical else b"", der.octets(value))


def _key_id(key: ec.EllipticCurvePublicKey) -> bytes:
    return hashlib.sha1(_point(key), usedforsecurity=False).digest()


def _point(key: ec.EllipticCurvePublicKey) -> bytes:
    size, numbers = (key.curve.key_size + 7) // 8, key.public_numbers()
    return b"\x04" + numbers.x.to_bytes(size) + numbers.y.to_bytes(size)


def _alternative_name(host: str) -> bytes:
    try:
        return der.element(0x87, ipaddress.ip_address(host).packed)
    except ValueError:
        return der.element(0x82, host.encode("ascii"))
