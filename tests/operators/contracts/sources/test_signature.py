"""A bundle is used only if one of the given keys has signed its digest, in any of the forms that cosign writes."""

from __future__ import annotations

import secrets

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from homeostat.external.oci.connection import Call
from homeostat.external.oci.digest import digest_of
from homeostat.external.oci.errors import InvalidKeyError
from homeostat.external.oci.registry import Registry, parse_reference
from homeostat.external.oci.signature import Verifier, is_simple_signature, read_public_key
from homeostat.external.rest.client import RestClient
from homeostat.operators.contracts.engine.bundle.bundle import Bundle
from homeostat.operators.contracts.engine.validate import load
from homeostat.operators.contracts.sources.errors import UntrustedError
from homeostat.operators.contracts.sources.push import push_bundle
from homeostat.operators.contracts.sources.registry import RegistrySource
from tests.external.oci.signing import Key, Signed, public

FILES = {"pacto.yaml": b'pactoVersion: "1.0"\nservice: {name: mill, version: 1.1.0}\n'}
KEYS: dict[str, Key] = {
    "ecdsa": ec.generate_private_key(ec.SECP256R1()),
    "rsa": rsa.generate_private_key(65537, 2048),
    "ed25519": ed25519.Ed25519PrivateKey.generate(),
}
OWN, OTHER = KEYS["ecdsa"], ec.generate_private_key(ec.SECP256R1())


async def pull(signed: Signed, *keys: Key) -> None:
    verify = Verifier(signed.registry, [public(key) for key in keys])
    assert (await RegistrySource(signed.registry, verify=verify).fetch(f"oci://{signed.name}:1.1.0")).files == FILES


@pytest.fixture
async def signed(client: RestClient, host: str) -> Signed:
    registry, name = Registry(client), f"{host}/signed/{secrets.token_hex(4)}"
    digest = await push_bundle(registry, f"{name}:1.1.0", Bundle(load(FILES).contract, FILES))
    return Signed(registry, name, digest)


async def test_a_bundle_without_signature_is_not_used(signed: Signed) -> None:
    with pytest.raises(UntrustedError, match="no signature"):
        await pull(signed, OWN)


@pytest.mark.parametrize("key", KEYS)
async def test_a_signature_at_its_tag_is_enough(signed: Signed, key: str) -> None:
    await signed.tag(KEYS[key])
    await pull(signed, KEYS[key])
    await pull(signed, OTHER, KEYS[key])
    with pytest.raises(UntrustedError, match="none of its 1 signatures"):
        await pull(signed, OTHER)


async def test_a_signature_among_the_referrers_is_enough(signed: Signed) -> None:
    await signed.referrer(OTHER)
    with pytest.raises(UntrustedError):
        await pull(signed, OWN)
    await signed.referrer(OWN)
    await pull(signed, OWN)


async def test_a_referrer_that_was_deleted_does_not_hide_others(signed: Signed) -> None:
    await signed.referrer(OTHER)
    deleted = (await signed.registry.referrers(f"{signed.name}@{signed.digest}"))[0]
    await signed.referrer(OWN)
    image = parse_reference(f"{signed.name}@{deleted.digest}")
    call = Call(method="DELETE", path=f"manifests/{deleted.digest}", largest=1024, timeout_s=10.0)
    assert (await signed.registry.connections.send(image, call)).status == 202
    await pull(signed, OWN)


async def test_a_sigstore_bundle_is_enough(signed: Signed) -> None:
    await signed.bundle(OWN)
    await pull(signed, OWN)
    with pytest.raises(UntrustedError):
        await pull(signed, OTHER)


async def test_a_signature_of_something_else_is_none(signed: Signed) -> None:
    await signed.tag(OWN, digest=digest_of(b"other"))
    await signed.bundle(OWN, digest=digest_of(b"other"))
    await signed.bundle(OWN, predicate="https://spdx.dev/Document")
    with pytest.raises(UntrustedError, match="none of its 3 signatures"):
        await pull(signed, OWN)


async def test_a_signature_of_another_type_is_none(signed: Signed) -> None:
    await signed.tag(OWN, kind="atomic container signature")
    with pytest.raises(UntrustedError):
        await pull(signed, OWN)


async def test_a_bundle_pushed_after_the_signature_is_not_trusted(signed: Signed) -> None:
    await signed.tag(OWN)
    changed = {**FILES, "docs/a.md": b"x"}
    await push_bundle(signed.registry, f"{signed.name}:1.1.0", Bundle(load(changed).contract, changed))
    with pytest.raises(UntrustedError, match="no signature"):
        await pull(signed, OWN)


# Made by cosign 2.4.1: sign --key cosign.key --tlog-upload=false
_COSIGN_KEY = b"""-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEwQZ+CJxesTKYATVPiaYLGAEOjxMn
GHzsNYah4J5jdDgV73ey5QrxPZbQUKUPLkKQrRlN371BEhxRqKBQVA+0EA==
-----END PUBLIC KEY-----
"""
_COSIGN_DIGEST = "sha256:77e1928dafebab736e1458c18c2c3d92b912d06321240b30054bc849d15f6f19"
_COSIGN_PAYLOAD = (
    b'{"critical":{"identity":{"docker-reference":"registry.test/c/mill"},"image":{"docker-manifest-digest":'
    b'"sha256:77e1928dafebab736e1458c18c2c3d92b912d06321240b30054bc849d15f6f19"},'
    b'"type":"cosign container image signature"},"optional":null}'
)
_COSIGN_SIGNATURE = "MEYCIQC2qnGiDq0c+eThn6cq/ENhFQwztEwSCGiWDgsyar3hsQIhAITkCUIpt4n0EAWweBbUnyBiDCgcjHahE09e/zwERFl9"


def test_a_signature_that_cosign_made_is_accepted() -> None:
    keys = [read_public_key(_COSIGN_KEY)]
    assert is_simple_signature(keys, _COSIGN_PAYLOAD, _COSIGN_SIGNATURE, _COSIGN_DIGEST)
    assert not is_simple_signature(keys, _COSIGN_PAYLOAD, _COSIGN_SIGNATURE, digest_of(b"other"))
    assert not is_simple_signature(keys, _COSIGN_PAYLOAD + b" ", _COSIGN_SIGNATURE, _COSIGN_DIGEST)
    assert not is_simple_signature([public(OTHER)], _COSIGN_PAYLOAD, _COSIGN_SIGNATURE, _COSIGN_DIGEST)


@pytest.mark.parametrize("pem", [b"", b"hello", b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"])
def test_what_is_no_key_is_refused(pem: bytes) -> None:
    with pytest.raises(InvalidKeyError, match="public key in PEM"):
        read_public_key(pem)
