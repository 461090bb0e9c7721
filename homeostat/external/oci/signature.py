"""Verifies signatures of images and artifacts that `cosign sign --key` made, before they are used.

    verify = Verifier(registry, [read_public_key(pem)])
    await verify(await registry.resolve(parse_reference("registry.example.org/web:1.4.0")))

Three places are searched, as cosign has used them: the tag `sha256-DIGEST.sig`, signatures among the referrers, and
Sigstore bundles among the referrers. One signature by one of the keys is enough. A transparency log is not consulted:
the key alone decides whom to trust.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import AsyncIterator, Sequence
from typing import Final

import msgspec
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.serialization import load_pem_public_key

from homeostat.external.oci.errors import InvalidKeyError, NotFoundError, UnsignedError, UntrustedError
from homeostat.external.oci.manifest import Descriptor, Manifest
from homeostat.external.oci.registry import Registry, tag_of
from homeostat.objects.views.image import Image

PublicKey = ec.EllipticCurvePublicKey | rsa.RSAPublicKey | ed25519.Ed25519PublicKey

MAX_SIGNATURES: Final = 50
"""Of one image; more are not read."""
MAX_SIGNATURE_BYTES: Final = 1 << 20
_SIMPLE: Final = "application/vnd.dev.cosign.simplesigning.v1+json"
_SIMPLE_TYPE: Final = "cosign container image signature"
_ARTIFACT: Final = "application/vnd.dev.cosign.artifact.sig.v1+json"
_BUNDLE: Final = "application/vnd.dev.sigstore.bundle"
_ANNOTATION: Final = "dev.cosignproject.cosign/signature"
_STATEMENT: Final = "application/vnd.in-toto+json"
_PREDICATE: Final = "https://sigstore.dev/cosign/sign/v1"


class _Image(msgspec.Struct, frozen=True):
    digest: str = msgspec.field(name="docker-manifest-digest", default="")


class _Critical(msgspec.Struct, frozen=True):
    image: _Image = _Image()
    type: str = ""


class _Payload(msgspec.Struct, frozen=True):
    critical: _Critical = _Critical()


class _Signature(msgspec.Struct, frozen=True):
    sig: str = ""


class _Envelope(msgspec.Struct, frozen=True, rename="camel"):
    payload: str = ""
    payload_type: str = ""
    signatures: tuple[_Signature, ...] = ()


class _SigstoreBundle(msgspec.Struct, frozen=True, rename="camel"):
    dsse_envelope: _Envelope | None = None


class _Subject(msgspec.Struct, frozen=True):
    digest: dict[str, str] = {}


class _Statement(msgspec.Struct, frozen=True, rename="camel"):
    subject: tuple[_Subject, ...] = ()
    predicate_type: str = ""


def read_public_key(pem: bytes, name: str = "the key") -> PublicKey:
    """A key in PEM, such as cosign.pub: ECDSA, RSA or Ed25519."""
    try:
        key = load_pem_public_key(pem[:MAX_SIGNATURE_BYTES])
    except (ValueError, UnsupportedAlgorithm) as error:
        raise InvalidKeyError(f"{name} is not a public key in PEM; expected one such as cosign.pub") from error
    if not isinstance(key, PublicKey):
        raise InvalidKeyError(f"{name} is of a type that is not supported; expected ECDSA, RSA or Ed25519")
    return key


def is_signed(key: PublicKey, signature: bytes, data: bytes) -> bool:
    try:
        match key:
            case ec.EllipticCurvePublicKey():
                key.verify(signature, data, ec.ECDSA(hashes.SHA256()))
            case rsa.RSAPublicKey():
                key.verify(signature, data, padding.PKCS1v15(), hashes.SHA256())
            case ed25519.Ed25519PublicKey():
                key.verify(signature, data)
    except InvalidSignature:
        return False
    return True


def is_simple_signature(keys: Sequence[PublicKey], payload: bytes, signature: str, digest: str) -> bool:
    """Whether the payload names the digest and one of the keys has signed it."""
    try:
        critical = msgspec.json.decode(payload, type=_Payload).critical
        signed = base64.b64decode(signature, validate=True)
    except (msgspec.DecodeError, UnicodeDecodeError, binascii.Error, ValueError, RecursionError):
        return False
    names_it = critical.type == _SIMPLE_TYPE and critical.image.digest == digest
    return names_it and any(is_signed(key, signed, payload) for key in keys)


def is_signed_bundle(keys: Sequence[PublicKey], data: bytes, digest: str) -> bool:
    """The same for a Sigstore bundle. An attestation about the digest, such as an SBOM, is no signature of it."""
    try:
        envelope = msgspec.json.decode(data, type=_SigstoreBundle).dsse_envelope or _Envelope()
        payload = base64.b64decode(envelope.payload, validate=True)
        statement = msgspec.json.decode(payload, type=_Statement)
        signatures = [base64.b64decode(each.sig, validate=True) for each in envelope.signatures[:MAX_SIGNATURES]]
    except (msgspec.DecodeError, UnicodeDecodeError, binascii.Error, ValueError, RecursionError):
        return False
    algorithm, _, text = digest.partition(":")
    if envelope.payload_type != _STATEMENT or statement.predicate_type != _PREDICATE:
        return False
    if not any(each.digest.get(algorithm) == text for each in statement.subject):
        return False
    kind = envelope.payload_type
    signed = b"DSSEv1 %d %s %d %s" % (len(kind), kind.encode(), len(payload), payload)
    return any(is_signed(key, each, signed) for key in keys for each in signatures)


class Verifier:
    """Raises `UntrustedError` unless one of the keys has signed the image. Its digest must be known."""

    def __init__(self, registry: Registry, keys: Sequence[PublicKey]) -> None:
        self._registry, self._keys = registry, keys

    async def __call__(self, image: Image) -> None:
        count = 0
        async for is_valid in self._judged(image):
            if is_valid:
                return
            count += 1
            if count >= MAX_SIGNATURES:
                break
        seen = f"none of its {count} signatures matches the key" if count else "it has no signature"
        text = f"{image.digest} is not trusted: {seen}; sign it with cosign sign --key"
        raise UntrustedError(text) if count else UnsignedError(text)

    async def _judged(self, image: Image) -> AsyncIterator[bool]:
        """The verdict on each signature."""
        async for place, manifest in self._manifests(image):
            for layer in manifest.parts:
                if layer.size > MAX_SIGNATURE_BYTES:
                    yield False
                elif layer.media_type == _SIMPLE:
                    payload = await self._registry.blob(place, layer)
                    signature = (layer.annotations or {}).get(_ANNOTATION, "")
                    yield is_simple_signature(self._keys, payload, signature, image.digest)
                elif layer.media_type.startswith(_BUNDLE):
                    yield is_signed_bundle(self._keys, await self._registry.blob(place, layer), image.digest)

    async def _manifests(self, image: Image) -> AsyncIterator[tuple[Image, Manifest]]:
        tagged = Image(image.repository, f"{tag_of(image.digest)}.sig", "")
        try:
            manifest = await self._registry.manifest(tagged)
        except NotFoundError:
            pass
        else:
            if isinstance(manifest, Manifest):
                yield tagged, manifest
        signing = [each for each in await self._registry.referrers(image) if _may_sign(each)]
        for each in signing[:MAX_SIGNATURES]:
            place = Image(image.repository, "", each.digest)
            try:
                manifest = await self._registry.manifest(place)
            except NotFoundError:
                # A registry without an API for referrers has a list, which may name what was deleted.
                continue
            if isinstance(manifest, Manifest):
                yield place, manifest


def _may_sign(referrer: Descriptor) -> bool:
    return referrer.artifact_type == _ARTIFACT or referrer.artifact_type.startswith(_BUNDLE)
