"""Bundles in registries: tags, versions, digests, contents.

    source = RegistrySource(Registry(client, keychain=keychain), BlobCache(directory))
    found = await source.resolve("oci://registry.example.org/contracts/rates", "^3.1.0")
    bundle = await source.pull(found)

A reference is resolved to a digest first and pulled by that digest, so that nobody can exchange the contents between
two requests. What is pulled has the limits of a bundle. Errors are `SourceError`s.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec

from homeostat.edge.threads import in_thread
from homeostat.external.oci.bundle import unpack_bundle
from homeostat.external.oci.manifest import Descriptor, Index, Manifest, Platform, parse_manifest
from homeostat.external.oci.registry import Registry, RegistryLimits, parse_reference
from homeostat.objects.versions.constraint import InvalidConstraintError, best_tag
from homeostat.objects.views.image import Image
from homeostat.operators.contracts.engine.bundle.bundle import Bundle
from homeostat.operators.contracts.engine.files import CONTRACT_FILE, MAX_TOTAL_BYTES, Files
from homeostat.operators.contracts.engine.reference import (
    InvalidReferenceError,
    has_tag_or_digest,
    parse_oci,
    registry_reference,
)
from homeostat.operators.contracts.engine.validate import load
from homeostat.operators.contracts.sources.cache import BlobCache
from homeostat.operators.contracts.sources.errors import (
    InvalidBundleError,
    InvalidRefError,
    NoMatchingVersionError,
)
from homeostat.operators.contracts.sources.mapping import mapped

LIMITS: Final = RegistryLimits(memory_bytes=MAX_TOTAL_BYTES + (16 << 20), timeout_s=30.0, blob_timeout_s=120.0)
"""For the `Registry` of a source. A layer may be stored without compression, and each entry has a header."""
_USER: Final = "contracts"
_COMMON: Final = Platform("amd64", "linux")


def check_reference(text: str) -> None:
    """Raises `InvalidRefError` before anything is sent. `nginx` alone names no registry."""
    try:
        parse_oci(text)
    except InvalidReferenceError as error:
        raise InvalidRefError(str(error)) from error
    with mapped(text):
        parse_reference(text)


class Resolved(msgspec.Struct, frozen=True):
    ref: str
    """Registry, repository and tag or digest, without a scheme: what people are shown."""
    digest: str
    """Of the manifest."""

    @property
    def image(self) -> Image:
        return Image(parse_reference(self.ref).repository, "", self.digest)


class Pulled(msgspec.Struct, frozen=True):
    ref: str
    digest: str
    files: Files

    def bundle(self) -> Bundle:
        """Parse the contract; raises `ParseError`."""
        return Bundle(load(self.files).contract, self.files, self.digest)


Verify = Callable[[Image], Awaitable[None]]
"""Raises an `UntrustedError` of `external/oci` for a bundle that must not be used; see `signature` there."""


class RegistrySource:
    """`reads_cache` is False to fetch everything again; what was fetched is cached all the same.

    Where several owners share a cache, set `checks_access`: the registry is then asked with the owner's credentials
    before a pinned digest is read from the cache. References with a tag are always resolved with them.
    """

    def __init__(
        self,
        registry: Registry,
        cache: BlobCache | None = None,
        *,
        reads_cache: bool = True,
        checks_access: bool = False,
        verify: Verify | None = None,
    ) -> None:
        self.registry, self._cache = registry, cache
        self._reads_cache, self._checks_access, self._verify = reads_cache, checks_access, verify

    async def tags(self, ref: str) -> list[str]:
        """All tags of the repository; a tag or digest of the reference is ignored."""
        text = registry_reference(ref)
        with mapped(text):
            return await self.registry.tags(text)

    async def resolve(self, ref: str, constraint: str = "") -> Resolved:
        """Find the digest. Without tag and digest, the highest version that the constraint allows."""
        text = registry_reference(ref)
        check_reference(text)
        if not has_tag_or_digest(text):
            text = f"{text}:{await self._best_tag(text, constraint)}"
        with mapped(text):
            image = parse_reference(text)
            if not image.digest:
                image = await self.registry.resolve(image)
            elif self._checks_access:
                await self.registry.fetch(image)
        return Resolved(text, image.digest)

    async def pull(self, found: Resolved) -> Pulled:
        with mapped(found.ref):
            if self._verify is not None:
                await self._verify(found.image)
            manifest = await self._manifest(found)
            if len(manifest.parts) != 1:
                raise InvalidBundleError(f"{found.ref}: it has {len(manifest.parts)} layers; a bundle has one")
            layer = await self._blob(found, manifest.parts[0])
            files = await asyncio.to_thread(unpack_bundle, layer)
        if CONTRACT_FILE not in files:
            raise InvalidBundleError(f"{found.ref}: it has no {CONTRACT_FILE}; it is not a contract bundle")
        return Pulled(found.ref, found.digest, files)

    async def fetch(self, ref: str, constraint: str = "") -> Pulled:
        return await self.pull(await self.resolve(ref, constraint))

    async def load(self, ref: str, constraint: str = "") -> Bundle:
        """Fetch and parse; raises `ParseError`, too."""
        return (await self.fetch(ref, constraint)).bundle()

    async def _best_tag(self, text: str, constraint: str) -> str:
        tags = await self.tags(text)
        try:
            # Of 50,000 tags this takes a second; it would block the event loop.
            tag = await in_thread(lambda: best_tag(tags, constraint), user=_USER)
        except InvalidConstraintError as error:
            raise InvalidRefError(f"{text}: {error}") from error
        if tag is None:
            wanted = f'satisfy constraint "{constraint}"' if constraint else "are versions; name a tag"
            raise NoMatchingVersionError(f"{text}: no tags {wanted}")
        return tag

    async def _manifest(self, found: Resolved) -> Manifest:
        image = found.image
        body = await self._cached(image.digest, lambda: self._fetched(image))
        manifest = parse_manifest(body, "")
        if isinstance(manifest, Index):
            chosen = manifest.select(_COMMON) or (manifest.manifests[0] if len(manifest.manifests) == 1 else None)
            if chosen is None:
                raise InvalidBundleError(f"{found.ref}: it is a list of images; expected one bundle")
            image = Image(image.repository, "", chosen.digest)
            manifest = parse_manifest(await self._cached(image.digest, lambda: self._fetched(image)), "")
        if isinstance(manifest, Index):
            raise InvalidBundleError(f"{found.ref}: it is a list of lists of images; expected one bundle")
        return manifest

    async def _fetched(self, image: Image) -> bytes:
        body, media_type = await self.registry.fetch(image)
        parse_manifest(body, media_type)
        return body

    async def _blob(self, found: Resolved, layer: Descriptor) -> bytes:
        return await self._cached(layer.digest, lambda: self.registry.blob(found.image, layer))

    async def _cached(self, digest: str, fetch: Callable[[], Awaitable[bytes]]) -> bytes:
        cache = self._cache
        if cache is not None and self._reads_cache:
            held = await asyncio.to_thread(cache.read, digest)
            if held is not None:
                return held
        data = await fetch()
        if cache is not None:
            await asyncio.to_thread(cache.write, digest, data)
        return data
