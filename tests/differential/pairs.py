"""The part of the conversation in which the certificate and the key of a TLS Secret do not belong together."""

from __future__ import annotations

from base64 import b64encode
from datetime import datetime, timedelta
from functools import cache

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from cryptography.x509.oid import NameOID

from tests.differential.step import NS, Step

_PEM = Encoding.PEM


@cache
def _pair(*, is_edwards: bool, number: int = 0) -> tuple[bytes, bytes, bytes]:
    """A certificate, its key and its public key."""
    key = ed25519.Ed25519PrivateKey.generate() if is_edwards else ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "x")])
    since = datetime(2024, 1, 1)  # noqa: DTZ001
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(7 + number).not_valid_before(since).not_valid_after(since + timedelta(days=9999))
    certificate = builder.sign(key, None if is_edwards else hashes.SHA256())
    public = key.public_key().public_bytes(_PEM, PublicFormat.SubjectPublicKeyInfo)
    private = key.private_bytes(_PEM, PrivateFormat.PKCS8, NoEncryption())
    return certificate.public_bytes(_PEM), private, public


def _cases() -> list[tuple[str, bytes, bytes]]:
    certificate, key, public = _pair(is_edwards=False)
    other, other_key, _ = _pair(is_edwards=True)
    _, third_key, _ = _pair(is_edwards=False, number=1)
    junk = "-----BEGIN {0}-----\nYWJj\n-----END {0}-----\n"
    return [
        ("pair", certificate, key),
        ("pair of another curve", other, other_key),
        ("chain", certificate + other, key),
        ("key before the certificate", key + certificate, key),
        ("certificate before the key", certificate, certificate + key),
        ("no certificate", b"", key),
        ("no key", certificate, b""),
        ("switched pair", key, certificate),
        ("two certificates", certificate, other),
        ("keys of two kinds", certificate, other_key),
        ("key of another certificate", certificate, third_key),
        ("public key for a certificate", public + public, key),
        ("public key for a key", certificate, public),
        ("unreadable certificate", junk.format("CERTIFICATE").encode(), key),
        ("unreadable key", certificate, junk.format("PRIVATE KEY").encode()),
        ("block without an end", certificate[:-10], key),
    ]


PAIR_STEPS = [
    Step(
        f"TLS: {what}",
        "POST",
        f"{NS}/secrets?dryRun=All",
        {
            "metadata": {"name": "tls"},
            "type": "kubernetes.io/tls",
            "data": {"tls.crt": b64encode(certificate).decode(), "tls.key": b64encode(key).decode()},
        },
    )
    for what, certificate, key in _cases()
]
