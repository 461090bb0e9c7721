"""Whether the certificate and the key of a TLS Secret belong together, in the words of Go, which clients know. Pure."""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as NotBase64Error
from collections.abc import Iterator

from homeostat.objects.json import JsonObject
from homeostat.server.kinds.builtins.members import struct, text

_LARGEST_BYTES = 64 << 10
"""Larger ones are not examined."""
_BEGIN, _END, _DASHES = b"-----BEGIN ", b"-----END ", b"-----"
_CERTIFICATE, _KEY = "CERTIFICATE", "PRIVATE KEY"
_NO_CERTIFICATE = 'tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM blocks'
_NO_KEY = 'tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input after skipping PEM blocks'


def key_pair_fault(secret: JsonObject) -> str:
    """What is wrong with `tls.crt` and `tls.key`; empty if nothing is."""
    data = struct(secret, "data")
    try:
        certificate, key = (b64decode(text(data, name), validate=True) for name in ("tls.crt", "tls.key"))
    except NotBase64Error:
        return ""
    if len(certificate) + len(key) > _LARGEST_BYTES:
        return ""
    return _certificate_fault(certificate) or _key_fault(key) or _mismatch(certificate, key)


def _certificate_fault(pem: bytes) -> str:
    types = [kind for kind, _ in _blocks(pem)]
    if _CERTIFICATE in types:
        return ""
    if not types:
        return "tls: failed to find any PEM data in certificate input"
    if len(types) == 1 and types[0].endswith(_KEY):
        return (
            "tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may "
            "have been switched"
        )
    return f"{_NO_CERTIFICATE} of the following types: [{' '.join(types)}]"


def _key_fault(pem: bytes) -> str:
    types = [kind for kind, _ in _blocks(pem)]
    if any(map(_is_key, types)):
        return ""
    if not types:
        return "tls: failed to find any PEM data in key input"
    if types == [_CERTIFICATE]:
        return "tls: found a certificate rather than a key in the PEM for the private key"
    return f"{_NO_KEY} of the following types: [{' '.join(types)}]"


def _mismatch(certificate: bytes, key: bytes) -> str:
    # Hardly any Secret is one of TLS, and a start needs none of this.
    from cryptography import x509
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives import serialization

    try:
        leaf = x509.load_pem_x509_certificate(
            next(block for kind, block in _blocks(certificate) if kind == _CERTIFICATE)
        )
        public = leaf.public_key()
    except (ValueError, UnsupportedAlgorithm):
        return "x509: malformed certificate"
    block = next(block for kind, block in _blocks(key) if _is_key(kind))
    try:
        private = serialization.load_pem_private_key(block, None, unsafe_skip_rsa_key_validation=True)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return "tls: failed to parse private key"
    found = private.public_key()
    if type(found) is not type(public):
        return "tls: private key type does not match public key type"
    return "" if found == public else "tls: private key does not match public key"


def _is_key(kind: str) -> bool:
    return kind == _KEY or kind.endswith(f" {_KEY}")


def _blocks(pem: bytes) -> Iterator[tuple[str, bytes]]:
    """The type of each PEM block, and the block."""
    begin, end = pem.find(_BEGIN), -1
    while begin >= 0:
        after = begin + len(_BEGIN)
        kind, dashes, _ = pem[after : after + 64].partition(_DASHES)
        if end < begin:  # searched once for each, so that many beginnings take no longer than one
            end = pem.find(_END, begin)
        if end < 0:
            return
        close = _END + kind + _DASHES
        if dashes and b"\n" not in kind and pem.startswith(close, end):
            after = end + len(close)
            yield kind.decode(errors="replace"), pem[begin:after]
        begin = pem.find(_BEGIN, after)
