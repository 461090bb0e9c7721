"""Keys: what is written is what every other program reads, and the other way round."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, NoEncryption, PrivateFormat

from homeostat.server.pki.keys import key_pem, load_key, new_key

SMALL = ec.derive_private_key(7, ec.SECP256R1())
LARGE = ec.generate_private_key(ec.SECP256R1())


@pytest.mark.parametrize("key", [SMALL, LARGE], ids=["with leading zeros", "any"])
def test_a_key_is_written_as_the_cryptography_package_writes_it(key: ec.EllipticCurvePrivateKey) -> None:
    assert key_pem(key) == key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def test_a_new_key_is_read_again() -> None:
    pem = new_key()
    assert key_pem(load_key(pem)) == pem
    assert isinstance(serialization.load_pem_private_key(pem, None), ec.EllipticCurvePrivateKey)


def test_a_key_of_another_form_is_read() -> None:
    pem = LARGE.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    assert load_key(pem).private_numbers() == LARGE.private_numbers()


@pytest.mark.parametrize(
    ("pem", "reason"),
    [
        (LARGE.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"x")), "encrypted"),
        (
            ec.generate_private_key(ec.SECP384R1()).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
            "P-256",
        ),
        (
            ed25519.Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
            "P-256",
        ),
        (key_pem(LARGE)[:80], "."),
        (b"", "."),
    ],
    ids=["encrypted", "another curve", "another algorithm", "half of it", "nothing"],
)
def test_anything_else_is_refused(pem: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        load_key(pem)
