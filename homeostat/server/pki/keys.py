"""Private keys on P-256: a hundred times faster to generate than RSA, and every Kubernetes client supports them.

Keys are files in PEM (PKCS#8). Those of this form are written and read here, without the part of the cryptography
package for all other forms, whose import takes 15 ms; a key of another form is read with it.
"""

from __future__ import annotations

import binascii

from cryptography.hazmat.primitives.asymmetric import ec

from homeostat.edge.tls import der

_SIZE = 32
_LABEL = "PRIVATE KEY"
_HEAD = bytes.fromhex("308187020100301306072a8648ce3d020106082a8648ce3d030107046d306b0201010420")
"""PKCS#8 of a P-256 key: all that comes before the private number."""
_BETWEEN = bytes.fromhex("a14403420004")
"""Before the coordinates of the public key."""


def new_key() -> bytes:
    return key_pem(ec.generate_private_key(ec.SECP256R1()))


def key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    """A P-256 key as PEM."""
    return der.pem(_LABEL, _encoded(key))


def load_key(pem: bytes) -> ec.EllipticCurvePrivateKey:
    """`ValueError` for anything but an unencrypted P-256 key."""
    return _own(pem) or _other(pem)


def _own(pem: bytes) -> ec.EllipticCurvePrivateKey | None:
    """A key that is written exactly as `key_pem` writes it."""
    _, _, rest = pem.partition(f"-----BEGIN {_LABEL}-----".encode())
    body, _, _ = rest.partition(f"-----END {_LABEL}-----".encode())
    try:
        encoded = binascii.a2b_base64(body)
    except binascii.Error:
        return None
    if not encoded.startswith(_HEAD):
        return None
    number = int.from_bytes(encoded[len(_HEAD) : len(_HEAD) + _SIZE])
    try:
        key = ec.derive_private_key(number, ec.SECP256R1())
    except ValueError:
        return None
    return key if _encoded(key) == encoded else None


def _other(pem: bytes) -> ec.EllipticCurvePrivateKey:
    from cryptography.hazmat.primitives import serialization

    try:
        key = serialization.load_pem_private_key(pem, password=None)
    except TypeError as error:
        raise ValueError("the key is encrypted") from error
    if not isinstance(key, ec.EllipticCurvePrivateKey) or not isinstance(key.curve, ec.SECP256R1):
        raise ValueError("the key is not a P-256 key")
    return key


def _encoded(key: ec.EllipticCurvePrivateKey) -> bytes:
    numbers = key.private_numbers()
    public = numbers.public_numbers
    return b"".join(
        (
            _HEAD,
            numbers.private_value.to_bytes(_SIZE),
            _BETWEEN,
            public.x.to_bytes(_SIZE),
            public.y.to_bytes(_SIZE),
        )
    )
