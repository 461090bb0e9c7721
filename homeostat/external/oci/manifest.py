"""Manifests of every type that registries hold: images, indexes of images, artifacts; Docker's forms and OCI's. Pure.

    manifest = parse_manifest(body, media_type)
    match manifest:
        case Index(): manifest.select(Platform("arm64", "linux"))
        case Manifest(): manifest.layers

Docker's first schema is refused: its digest does not identify its contents.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeVar

import msgspec

from homeostat.external.oci.digest import check_digest
from homeostat.external.oci.errors import InvalidManifestError, InvalidReferenceError

OCI_INDEX: Final = "application/vnd.oci.image.index.v1+json"
OCI_MANIFEST: Final = "application/vnd.oci.image.manifest.v1+json"
OCI_ARTIFACT: Final = "application/vnd.oci.artifact.manifest.v1+json"
DOCKER_LIST: Final = "application/vnd.docker.distribution.manifest.list.v2+json"
DOCKER_MANIFEST: Final = "application/vnd.docker.distribution.manifest.v2+json"
INDEXES: Final = frozenset({OCI_INDEX, DOCKER_LIST})
MANIFESTS: Final = frozenset({OCI_MANIFEST, OCI_ARTIFACT, DOCKER_MANIFEST})
ACCEPT: Final = ", ".join((OCI_INDEX, OCI_MANIFEST, DOCKER_LIST, DOCKER_MANIFEST, OCI_ARTIFACT))
_FIRST_SCHEMA: Final = "application/vnd.docker.distribution.manifest.v1"
_MOST_DESCRIPTORS: Final = 10_000

T = TypeVar("T")


class Platform(msgspec.Struct, frozen=True, omit_defaults=True):
    architecture: str = ""
    os: str = ""
    variant: str = ""
    os_version: str = msgspec.field(name="os.version", default="")

    def __str__(self) -> str:
        return "/".join(filter(None, (self.os, self.architecture, self.variant)))


class Descriptor(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    media_type: str
    digest: str
    size: int
    annotations: Mapping[str, str] | None = None
    artifact_type: str = ""
    platform: Platform | None = None
    urls: tuple[str, ...] = ()


class Manifest(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel", kw_only=True):
    """One image or one artifact. Artifact manifests have `blobs` instead of `layers`."""

    schema_version: int = 2
    media_type: str = OCI_MANIFEST
    artifact_type: str = ""
    config: Descriptor | None = None
    layers: tuple[Descriptor, ...] = ()
    blobs: tuple[Descriptor, ...] = ()
    subject: Descriptor | None = None
    annotations: Mapping[str, str] | None = None

    @property
    def parts(self) -> tuple[Descriptor, ...]:
        return self.layers or self.blobs

    @property
    def kind(self) -> str:
        """The artifact type; without one, the media type of the config."""
        return self.artifact_type or (self.config.media_type if self.config else "")


class Index(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel", kw_only=True):
    """Several manifests under one name, usually an image for each platform."""

    schema_version: int = 2
    media_type: str = OCI_INDEX
    artifact_type: str = ""
    manifests: tuple[Descriptor, ...]
    subject: Descriptor | None = None
    annotations: Mapping[str, str] | None = None

    @property
    def platforms(self) -> list[Platform]:
        # Build tools add attestations beside the images, with an unknown platform.
        return [each.platform for each in self.manifests if each.platform and each.platform.os != "unknown"]

    def select(self, wanted: Platform) -> Descriptor | None:
        """The first manifest for this platform; empty fields of `wanted` match anything."""
        for each in self.manifests:
            platform = each.platform
            if platform and all(
                not want or want == has
                for want, has in (
                    (wanted.architecture, platform.architecture),
                    (wanted.os, platform.os),
                    (wanted.variant, platform.variant),
                )
            ):
                return each
        return None


class _Settings(msgspec.Struct, frozen=True):
    labels: dict[str, str] | None = msgspec.field(name="Labels", default=None)


class ImageConfig(msgspec.Struct, frozen=True):
    created: str | None = None
    architecture: str = ""
    os: str = ""
    config: _Settings | None = None

    @property
    def labels(self) -> Mapping[str, str]:
        return (self.config and self.config.labels) or {}


class _Head(msgspec.Struct, frozen=True, rename="camel"):
    schema_version: int = 0
    media_type: str = ""
    manifests: object = None


def parse_manifest(body: bytes, media_type: str) -> Manifest | Index:
    """`media_type` is the Content-Type of the registry; the manifest's own media type must not contradict it."""
    stated = media_type.partition(";")[0].strip().lower()
    head = _decoded(body, _Head)
    if head.schema_version == 1 or stated.startswith(_FIRST_SCHEMA):
        raise InvalidManifestError("the manifest has Docker's schema 1, which is not supported; push it as schema 2")
    if head.schema_version != 2:
        raise InvalidManifestError(f"the manifest has schemaVersion {head.schema_version}; expected 2")
    known = INDEXES | MANIFESTS
    found = head.media_type or (
        stated if stated in known else OCI_INDEX if head.manifests is not None else OCI_MANIFEST
    )
    if found not in known:
        raise InvalidManifestError(f'the manifest has the media type "{found[:100]}", which is not supported')
    if stated in known and stated != found:
        raise InvalidManifestError(f'the manifest says that it is "{found}", and the registry that it is "{stated}"')
    manifest: Manifest | Index
    manifest = _decoded(body, Index) if found in INDEXES else _decoded(body, Manifest)
    _check_descriptors(manifest)
    return msgspec.structs.replace(manifest, media_type=found)


def parse_config(body: bytes) -> ImageConfig:
    return _decoded(body, ImageConfig)


def encode_manifest(manifest: Manifest | Index) -> bytes:
    """Deterministic, because the digest of the bytes is the manifest's name."""
    fields = msgspec.to_builtins(manifest)
    return msgspec.json.encode({"schemaVersion": 2, "mediaType": manifest.media_type, **fields}, order="sorted")


def _decoded(body: bytes, shape: type[T]) -> T:
    try:
        return msgspec.json.decode(body, type=shape)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidManifestError(f"the manifest or its config does not match the expected form: {error}") from error


def _check_descriptors(manifest: Manifest | Index) -> None:
    match manifest:
        case Index():
            found = list(manifest.manifests)
        case Manifest():
            found = [*manifest.parts, *([manifest.config] if manifest.config else [])]
    if len(found) > _MOST_DESCRIPTORS:
        raise InvalidManifestError(f"the manifest lists {len(found)} parts; the limit is {_MOST_DESCRIPTORS}")
    for each in (*found, *([manifest.subject] if manifest.subject else [])):
        try:
            check_digest(each.digest)
        except InvalidReferenceError as error:
            raise InvalidManifestError(f"the manifest lists a part without a sound digest: {error}") from error
        if each.size < 0:
            raise InvalidManifestError("the manifest lists a part with a negative size")
