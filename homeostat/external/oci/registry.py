"""Reads registries of images and artifacts: digests of tags, manifests, blobs, lists of tags, and referrers.

    registry = Registry(client, keychain=read_docker_config(secret))
    image = await registry.resolve("ghcr.io/acme/shop:1.4")
    manifest = await registry.manifest(image)

Promises, each with a test: contents are used only if they match their digest, also those of a tag; reading stops at the
limits; credentials are sent only to the registry and its token server; a list is complete or an error. Errors are
`OciError`s.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final
from urllib.parse import quote

import msgspec

from homeostat.external.files import replacing
from homeostat.external.oci.auth import ANONYMOUS, Keychain
from homeostat.external.oci.connection import Call, Connections, failure
from homeostat.external.oci.digest import DigestVerifier, digest_of, verify
from homeostat.external.oci.errors import (
    InvalidManifestError,
    InvalidReferenceError,
    NotFoundError,
    TooLargeError,
    UnexpectedResponseError,
)
from homeostat.external.oci.manifest import (
    ACCEPT,
    Descriptor,
    ImageConfig,
    Index,
    Manifest,
    parse_config,
    parse_manifest,
)
from homeostat.external.rest.client import RestClient
from homeostat.external.rest.links import parse_links
from homeostat.external.rest.request import Response
from homeostat.objects.views.image import Image, InvalidImageError, check_image

_PAGE: Final = 1000
_LONGEST_TAG: Final = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryLimits:
    manifest_bytes: int = 4 << 20
    memory_bytes: int = 64 << 20
    """The limit of a blob that is read into memory."""
    file_bytes: int = 4 << 30
    """The limit of a blob that is written to disk."""
    tags: int = 50_000
    referrers: int = 1000
    pages: int = 1000
    """The limit of a list of tags or referrers."""
    timeout_s: float = 60.0
    blob_timeout_s: float = 600.0


class _Tags(msgspec.Struct, frozen=True):
    tags: list[str] | None = None


class Registry:
    """`plain` lists registries, as host and port, that are used without TLS. Those on this machine always are."""

    def __init__(
        self,
        client: RestClient,
        *,
        keychain: Keychain = ANONYMOUS,
        limits: RegistryLimits | None = None,
        plain: Sequence[str] = (),
        seconds: Callable[[], float] | None = None,
    ) -> None:
        self.limits = limits or RegistryLimits()
        self.connections = Connections(client, keychain, frozenset(plain), seconds)

    async def resolve(self, reference: str | Image) -> Image:
        """The reference with the current digest of its tag; without tag and digest it is `latest`."""
        image = parse_reference(reference)
        if image.digest:
            return image
        digest = await self._digest(image)
        if not digest:
            # Some registries do not support HEAD, or send no digest: compute it from the manifest.
            digest = digest_of((await self.fetch(image))[0])
        return replace_digest(image, digest)

    async def exists(self, reference: str | Image) -> bool:
        try:
            await self._digest(parse_reference(reference))
        except NotFoundError:
            return False
        return True

    async def fetch(self, reference: str | Image) -> tuple[bytes, str]:
        """The verified bytes of a manifest, and its media type."""
        image = parse_reference(reference)
        call = self._manifest_call("GET", image)
        response = await self.connections.send(image, call)
        if not response.is_success:
            raise failure(image, response.status, response.headers, response.body, name_of(image))
        digest = image.digest or response.headers.get("docker-content-digest", "")
        if digest:
            verify(response.body, digest, str(image))
        return response.body, response.headers.get("content-type", "")

    async def manifest(self, reference: str | Image) -> Manifest | Index:
        body, media_type = await self.fetch(reference)
        return parse_manifest(body, media_type)

    async def config(self, reference: str | Image, manifest: Manifest) -> ImageConfig:
        if manifest.config is None:
            raise InvalidManifestError(f"{parse_reference(reference).repository}: the manifest has no config")
        return parse_config(await self.blob(reference, manifest.config))

    async def blob(self, reference: str | Image, descriptor: Descriptor) -> bytes:
        """The verified contents of a blob, in memory."""
        if descriptor.size > self.limits.memory_bytes:
            raise TooLargeError(f"the blob has {descriptor.size} bytes; the limit is {self.limits.memory_bytes}")
        return b"".join([chunk async for chunk in self._chunks(parse_reference(reference), descriptor)])

    async def download(self, reference: str | Image, descriptor: Descriptor, path: Path) -> None:
        """Downloads a blob to a file, which appears only once it is complete and verified."""
        if descriptor.size > self.limits.file_bytes:
            raise TooLargeError(f"the blob has {descriptor.size} bytes; the limit is {self.limits.file_bytes}")
        with replacing(path) as file:
            async for chunk in self._chunks(parse_reference(reference), descriptor):
                file.write(chunk)

    async def tags(self, reference: str | Image) -> list[str]:
        image = parse_reference(reference)
        found: dict[str, None] = {}
        async for response in self._pages(image, f"tags/list?n={_PAGE}"):
            if not response.is_success:
                raise failure(image, response.status, response.headers, response.body, "tags")
            # Two quotes a tag, and some of names of fields; a million short tags would block the event loop.
            if response.body.count(b'"') > 2 * (self.limits.tags + _PAGE):
                raise TooLargeError(f"{image.repository} has more than {self.limits.tags} tags")
            found |= _listed(response.body, image)
            if len(found) > self.limits.tags:
                raise TooLargeError(f"{image.repository} has more than {self.limits.tags} tags")
        return list(found)

    async def referrers(self, reference: str | Image, artifact_type: str = "") -> list[Descriptor]:
        """Manifests that refer to this one, such as signatures and SBOMs; from the fallback tag if there is no API."""
        image = parse_reference(reference)
        if not image.digest:
            image = await self.resolve(image)
        query = f"?artifactType={quote(artifact_type, safe='')}" if artifact_type else ""
        found: list[Descriptor] = []
        async for response in self._pages(image, f"referrers/{image.digest}{query}"):
            if response.is_success:
                index = parse_manifest(response.body, response.headers.get("content-type", ""))
            elif response.status in (400, 404, 405):
                index = await self.referrers_tag(image)
            else:
                raise failure(image, response.status, response.headers, response.body, "referrers")
            if not isinstance(index, Index):
                raise UnexpectedResponseError(f"{image.registry}: the list of referrers is not an index")
            found += index.manifests
            if len(found) > self.limits.referrers:
                raise TooLargeError(f"{image} has more than {self.limits.referrers} referrers")
        return [each for each in found if artifact_type in ("", each.artifact_type)]

    async def _pages(self, image: Image, path: str) -> AsyncIterator[Response]:
        """Each page of a list; a response that is not a success is the last."""
        call = Call(method="GET", path=path, largest=self.limits.manifest_bytes, timeout_s=self.limits.timeout_s)
        seen = set[str]()
        for _ in range(self.limits.pages):
            response = await self.connections.send(image, call)
            yield response
            target = parse_links(response.headers.get("link", "")).get("next") if response.is_success else None
            if target is None:
                return
            url = self.connections.location(image, target, call.url)
            if url in seen:
                raise UnexpectedResponseError(f"{image.registry}: the pages of the list lead in a circle")
            seen.add(url)
            call = replace(call, url=url)
        raise TooLargeError(f"{image.repository}: the list has more than {self.limits.pages} pages")

    async def referrers_tag(self, image: Image) -> Index:
        """The index at the fallback tag of the referrers API; empty if there is none."""
        try:
            found = await self.manifest(Image(image.repository, tag_of(image.digest), ""))
        except NotFoundError:
            return Index(manifests=())
        return found if isinstance(found, Index) else Index(manifests=())

    async def _digest(self, image: Image) -> str:
        """The digest that the registry sends; empty if it sends none."""
        response = await self.connections.send(image, self._manifest_call("HEAD", image))
        if response.is_success:
            return response.headers.get("docker-content-digest", "")
        if response.status != 405:
            raise failure(image, response.status, response.headers, what=name_of(image))
        await self.fetch(image)
        return ""

    def _manifest_call(self, method: str, image: Image) -> Call:
        return Call(
            method=method,
            path=f"manifests/{name_of(image)}",
            headers={"Accept": ACCEPT, "Accept-Encoding": "identity"},
            largest=self.limits.manifest_bytes,
            timeout_s=self.limits.timeout_s,
        )

    async def _chunks(self, image: Image, descriptor: Descriptor) -> AsyncIterator[bytes]:
        verifier, size = DigestVerifier(descriptor.digest), 0
        path = f"blobs/{descriptor.digest}"
        call = Call(
            method="GET",
            path=path,
            headers={"Accept-Encoding": "identity"},
            largest=descriptor.size,
            timeout_s=self.limits.blob_timeout_s,
        )
        async with self.connections.stream(image, call) as response:
            if not response.is_success:
                raise failure(image, response.status, response.headers, what=descriptor.digest)
            async for chunk in response.chunks():
                verifier.update(chunk)
                size += len(chunk)
                yield chunk
        verifier.verify(f"{image.repository}: a blob of {size} bytes")


def parse_reference(reference: str | Image) -> Image:
    if isinstance(reference, Image):
        return reference
    try:
        return check_image(reference.removeprefix("oci://"))
    except InvalidImageError as error:
        raise InvalidReferenceError(str(error)) from error


def replace_digest(image: Image, digest: str) -> Image:
    try:
        return check_image(f"{image.repository}:{image.tag or 'latest'}@{digest}")
    except InvalidImageError as error:
        raise UnexpectedResponseError(f"{image.registry}: it sent a digest that is none") from error


def tag_of(digest: str) -> str:
    """The fallback tag of the referrers API, by the specification."""
    algorithm, _, text = digest.partition(":")
    return f"{algorithm[:32]}-{text[:64]}"


def name_of(image: Image) -> str:
    """The name of a manifest within its repository."""
    return image.digest or image.tag or "latest"


def _listed(body: bytes, image: Image) -> dict[str, None]:
    """The tags of a page."""
    tags = _decoded(body, _Tags, image).tags or []
    if any(len(each) > _LONGEST_TAG for each in tags):
        raise UnexpectedResponseError(f"{image.registry}: it lists a tag of more than {_LONGEST_TAG} characters")
    return dict.fromkeys(tags)


def _decoded(body: bytes, shape: type[_Tags], image: Image) -> _Tags:
    try:
        return msgspec.json.decode(body, type=shape)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UnexpectedResponseError(f"{image.registry}: the list of tags is not of the expected form") from error
