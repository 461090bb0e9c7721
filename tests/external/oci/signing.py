"""Signatures in the forms in which cosign writes them."""

from __future__ import annotations

import base64
import json
from typing import Any

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa

from homeostat.external.oci.manifest import Descriptor, Manifest
from homeostat.external.oci.push import push_blob, push_manifest
from homeostat.external.oci.registry import Registry
from homeostat.external.oci.signature import PublicKey, read_public_key
from tests.external.oci.media_types import OCI_CONFIG, OCI_EMPTY

SIMPLE = "application/vnd.dev.cosign.simplesigning.v1+json"
BUNDLE = "application/vnd.dev.sigstore.bundle.v0.3+json"
SIGN = "https://sigstore.dev/cosign/sign/v1"
Key = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey | ed25519.Ed25519PrivateKey


def signing_key() -> Key:
    return ec.generate_private_key(ec.SECP256R1())


def public_pem(key: Key) -> bytes:
    form = (serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    return key.public_key().public_bytes(*form)


def public(key: Key) -> PublicKey:
    return read_public_key(public_pem(key))


def sign(key: Key, data: bytes) -> str:
    match key:
        case ec.EllipticCurvePrivateKey():
            made = key.sign(data, ec.ECDSA(hashes.SHA256()))
        case rsa.RSAPrivateKey():
            made = key.sign(data, padding.PKCS1v15(), hashes.SHA256())
        case _:
            made = key.sign(data)
    return base64.b64encode(made).decode()


class Signed:
    """A bundle in the registry, and signatures of it in the forms of cosign."""

    def __init__(self, registry: Registry, name: str, digest: str) -> None:
        self.registry, self.name, self.digest = registry, name, digest

    async def tag(self, key: Key, digest: str = "", kind: str = "cosign container image signature") -> None:
        config = await push_blob(self.registry, self.name, b"{}", OCI_CONFIG)
        layer = await self._simple(key, digest or self.digest, kind)
        reference = f"{self.name}:{self.digest.replace(':', '-')}.sig"
        await push_manifest(self.registry, reference, Manifest(config=config, layers=(layer,)))

    async def referrer(self, key: Key) -> None:
        kind = "application/vnd.dev.cosign.artifact.sig.v1+json"
        config = await push_blob(self.registry, self.name, b"{}", kind)
        layer = await self._simple(key, self.digest, "cosign container image signature")
        await push_manifest(
            self.registry, self.name, Manifest(config=config, layers=(layer,), subject=await self._subject())
        )

    async def bundle(self, key: Key, digest: str = "", predicate: str = SIGN) -> None:
        statement: dict[str, Any] = {
            "_type": "https://in-toto.io/Statement/v1",
            "subject": [{"digest": {"sha256": (digest or self.digest).removeprefix("sha256:")}}],
            "predicateType": predicate,
            "predicate": {},
        }
        payload, kind = json.dumps(statement).encode(), "application/vnd.in-toto+json"
        signed = f"DSSEv1 {len(kind)} {kind} {len(payload)} ".encode() + payload
        envelope = {
            "payload": base64.b64encode(payload).decode(),
            "payloadType": kind,
            "signatures": [{"sig": sign(key, signed)}],
        }
        whole = {"mediaType": BUNDLE, "verificationMaterial": {"publicKey": {"hint": "x"}}, "dsseEnvelope": envelope}
        config = await push_blob(self.registry, self.name, b"{}", OCI_EMPTY)
        layer = await push_blob(self.registry, self.name, json.dumps(whole).encode(), BUNDLE)
        manifest = Manifest(config=config, layers=(layer,), subject=await self._subject(), artifact_type=BUNDLE)
        await push_manifest(self.registry, self.name, manifest)

    async def _simple(self, key: Key, digest: str, kind: str) -> Descriptor:
        identity = {"docker-reference": self.name}
        critical = {"identity": identity, "image": {"docker-manifest-digest": digest}, "type": kind}
        payload = json.dumps({"critical": critical, "optional": None}).encode()
        layer = await push_blob(self.registry, self.name, payload, SIMPLE)
        return Descriptor(SIMPLE, layer.digest, layer.size, {"dev.cosignproject.cosign/signature": sign(key, payload)})

    async def _subject(self) -> Descriptor:
        body, media_type = await self.registry.fetch(f"{self.name}@{self.digest}")
        return Descriptor(media_type, self.digest, len(body))
