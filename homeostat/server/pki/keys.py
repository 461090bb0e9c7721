"""Private keys on P-256: a hundred times faster to generate than RSA, and every Kubernetes client supports them."""

from __future__ import annotations

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec


def new_key() -> bytes:
    return ec.generate_private_key(ec.SECP256R1()).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def load_key(pem: bytes) -> ec.EllipticCurvePrivateKey:
    """`ValueError` for anything but an unencrypted P-256 key."""
    try:
        key = serialization.load_pem_private_key(pem, password=None)
    except TypeError as error:
        raise ValueError("the key is encrypted") from error
    if not isinstance(key, ec.EllipticCurvePrivateKey) or not isinstance(key.curve, ec.SECP256R1):
        raise ValueError("the key is not a P-256 key")
    return key
