"""Fetches metadata bundles.

| reference | from |
|---|---|
| `rabbitmq`, `keycloak` | those that come with Homeostat |
| `/path`, `./path`, `file:///path` | a directory or a `.tar.gz` |
| `https://host/path.tar.gz` | a download |
| `oci://host/repository:tag`, `oci://host/repository@sha256:..` | a registry |
| `name:1.2.3` | the release `name-1.2.3.tar.gz` of the original's bundle repository |

A release and a digest never change, so with a cache they are fetched once.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Final

from homeostat.edge.proxies import Proxies
from homeostat.external.files import replace_private_file
from homeostat.external.oci.auth import ANONYMOUS, Keychain
from homeostat.external.oci.bundle import BundleLimits, unpack_bundle
from homeostat.external.oci.errors import DeniedError, OciError, RateLimitedError, UnauthorizedError, UnreachableError
from homeostat.external.oci.errors import NotFoundError as MissingImageError
from homeostat.external.oci.manifest import Descriptor, Index, Manifest
from homeostat.external.oci.registry import Registry, RegistryLimits, parse_reference
from homeostat.external.rest.client import RestClient
from homeostat.external.rest.errors import RestError
from homeostat.external.rest.request import Request
from homeostat.external.rest.retry import RetryPolicy
from homeostat.external.rest.settings import RestSettings
from homeostat.operators.sync.engine.errors import (
    AuthError,
    NotFoundError,
    SyncError,
    TransportError,
    ValidationError,
    from_status,
)
from homeostat.operators.sync.engine.metadata.bundle import Bundle, read_bundle
from homeostat.operators.sync.engine.tree.directory import directory_of
from homeostat.operators.sync.repository.files import FileRepository, read_file

LARGEST_ARCHIVE: Final = 256 << 20
SHIPPED: Final = Path(__file__).parent.parent / "bundles"
LAYER: Final = "application/vnd.declarest.bundle.v1.tar+gzip"
_LAYERS: Final = (
    LAYER,
    "application/vnd.oci.image.layer.v1.tar+gzip",
    "application/vnd.docker.image.rootfs.diff.tar.gzip",
    "application/tar+gzip",
    "application/x-tar+gzip",
    "application/gzip",
    "application/x-gzip",
)
_LIMITS: Final = BundleLimits(file_bytes=64 << 20, total_bytes=256 << 20, entries=10_000)
_REGISTRY: Final = RegistryLimits(memory_bytes=LARGEST_ARCHIVE, timeout_s=30.0, blob_timeout_s=120.0)
_release = re.compile(r"([a-z0-9][a-z0-9-]*):v?(\d+\.\d+\.\d++[\w.+-]*)").fullmatch
_RELEASES: Final = "https://github.com/crmarques/declarest-bundle-{0}/releases/download/v{1}/{0}-{1}.tar.gz"


async def fetch_bundle(
    reference: str,
    proxies: Proxies,
    *,
    keychain: Keychain = ANONYMOUS,
    cache: Path | None = None,
    allows_files: bool = True,
) -> Bundle:
    """`ValidationError` if it is no bundle, or another one than the reference names. `keychain` is for registries.
    Whoever declares a server must not have files of this machine read: then `allows_files` is false.
    """
    if reference in shipped():
        return await _directory(SHIPPED / reference)
    if found := _release(reference):
        return await _released(found[1], found[2], proxies, cache)
    if reference.startswith("oci://"):
        return await _pulled(reference, proxies, keychain, cache)
    if reference.startswith(("http://", "https://")):
        return _unpacked(await download(reference, proxies))
    if "://" in reference and not reference.startswith("file://"):
        raise ValidationError(f'bundle "{reference}": expected a path, file://, http(s)://, oci:// or name:version')
    if not allows_files:
        raise ValidationError(f'bundle "{reference[:200]}": expected name:version, oci:// or an http(s) URL')
    path = _local(reference)
    if await asyncio.to_thread(path.is_dir):
        return await _directory(path)
    return _unpacked(await asyncio.to_thread(_read, path))


def bundle_cache(environment: Mapping[str, str]) -> Path | None:
    if given := environment.get("DECLAREST_BUNDLE_CACHE_DIR"):
        return Path(given)
    home = environment.get("HOME")
    return Path(home) / ".declarest/metadata-bundles" if home else None


def shipped() -> list[str]:
    """The names of the bundles that come with Homeostat."""
    return sorted(each.parent.name for each in SHIPPED.glob("*/bundle.yaml"))


async def _directory(path: Path) -> Bundle:
    return read_bundle(await FileRepository(path).load("/", is_recursive=True))


async def _released(name: str, version: str, proxies: Proxies, cache: Path | None) -> Bundle:
    url = _RELEASES.format(name, version)
    try:
        bundle = _unpacked(await _cached(url, cache, lambda: download(url, proxies)))
    except (TransportError, NotFoundError) as error:
        raise type(error)(f"bundle {name}:{version}: {error}{_instead(name)}") from error
    if (bundle.name, bundle.version.removeprefix("v")) != (name, version):
        raise ValidationError(f"bundle {name}:{version} says that it is {bundle.name}:{bundle.version}")
    return bundle


def _instead(name: str) -> str:
    return f'; set metadata.bundle to "{name}" for the bundle that comes with Homeostat' if name in shipped() else ""


async def _pulled(reference: str, proxies: Proxies, keychain: Keychain, cache: Path | None) -> Bundle:
    """A tag is resolved to a digest first, and the bundle is pulled by that digest."""
    async with RestClient(RestSettings(proxies=proxies, retry=RetryPolicy(attempts=3))) as client:
        registry = Registry(client, keychain=keychain, limits=_REGISTRY)

        async def pull() -> bytes:
            manifest = await registry.manifest(image)
            return await registry.blob(image, _layer(reference, manifest))

        try:
            image = await registry.resolve(parse_reference(reference))
            return _unpacked(await _cached(f"{image.repository}@{image.digest}", cache, pull))
        except OciError as error:
            raise _mapped(error)(f"bundle {reference}: {error}") from error
        except RestError as error:
            raise TransportError(f"bundle {reference}: {error}") from error


def _mapped(error: OciError) -> type[SyncError]:
    if isinstance(error, UnauthorizedError | DeniedError):
        return AuthError
    if isinstance(error, UnreachableError | RateLimitedError):
        return TransportError
    return NotFoundError if isinstance(error, MissingImageError) else ValidationError


def _layer(reference: str, manifest: Manifest | Index) -> Descriptor:
    if isinstance(manifest, Index):
        raise ValidationError(f"bundle {reference} is an index of images; expected one artifact")
    for wanted in _LAYERS:
        found = [each for each in manifest.parts if each.media_type == wanted]
        if len(found) == 1:
            return found[0]
    raise ValidationError(f"bundle {reference} has no single layer of a known type; expected {LAYER}")


async def _cached(key: str, cache: Path | None, fetch: Callable[[], Awaitable[bytes]]) -> bytes:
    """What a key that never changes stands for: from the cache, else fetched and kept there."""
    if cache is None:
        return await fetch()
    path = cache / f"{hashlib.sha256(key.encode()).hexdigest()}.tar.gz"
    if await asyncio.to_thread(path.is_file):
        return await asyncio.to_thread(_read, path)
    data = await fetch()
    _unpacked(data)
    await asyncio.to_thread(replace_private_file, path, data)
    return data


def _local(reference: str) -> Path:
    return Path(reference.removeprefix("file://")).expanduser()


def _read(path: Path) -> bytes:
    return read_file(path, noun="bundle", most=LARGEST_ARCHIVE)


def _unpacked(data: bytes) -> Bundle:
    try:
        return read_bundle(directory_of(unpack_bundle(data, _LIMITS)))
    except OciError as error:
        raise ValidationError(f"the metadata bundle cannot be unpacked: {error}") from error


async def download(url: str, proxies: Proxies, *, largest: int = LARGEST_ARCHIVE) -> bytes:
    """Without credentials: they are for the managed server alone."""
    async with RestClient(RestSettings(proxies=proxies, retry=RetryPolicy(attempts=3))) as client:
        try:
            response = await client.send(Request("GET", url, timeout_s=60.0, largest=largest, redirects=5))
        except RestError as error:
            raise TransportError(f"download failed: {error}") from error
    if not response.is_success:
        raise from_status(response.status, f"download from {Request('GET', url).host} failed: HTTP {response.status}")
    return response.body
