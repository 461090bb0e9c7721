"""Fetches metadata bundles: from a directory, an archive, an address, or a release by its name and version.

| reference | from |
|---|---|
| `/path`, `file:///path` | a directory or a `.tar.gz` |
| `https://host/path.tar.gz` | a download |
| `name:1.2.3` | the release `name-1.2.3.tar.gz` of the original's bundle repository |
"""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Final

from homeostat.edge.proxies import Proxies
from homeostat.external.oci.bundle import BundleLimits, unpack_bundle
from homeostat.external.oci.errors import OciError
from homeostat.external.rest.client import RestClient
from homeostat.external.rest.errors import RestError
from homeostat.external.rest.request import Request
from homeostat.external.rest.retry import RetryPolicy
from homeostat.external.rest.settings import RestSettings
from homeostat.operators.sync.engine.errors import TransportError, ValidationError, from_status
from homeostat.operators.sync.engine.metadata.bundle import Bundle, read_bundle
from homeostat.operators.sync.engine.tree.directory import directory_of
from homeostat.operators.sync.repository.files import FileRepository

LARGEST_ARCHIVE: Final = 256 << 20
_LIMITS: Final = BundleLimits(file_bytes=64 << 20, total_bytes=256 << 20, entries=10_000)
_release = re.compile(r"([a-z0-9][a-z0-9-]*):v?(\d+\.\d+\.\d+[\w.+-]*)").fullmatch
_RELEASES: Final = "https://github.com/crmarques/declarest-bundle-{0}/releases/download/v{1}/{0}-{1}.tar.gz"


async def fetch_bundle(reference: str, proxies: Proxies) -> Bundle:
    """`ValidationError` if it is no bundle, or another one than the reference names."""
    if found := _release(reference):
        name, version = found.groups()
        bundle = _unpacked(await download(_RELEASES.format(name, version), proxies))
        if (bundle.name, bundle.version.removeprefix("v")) != (name, version):
            raise ValidationError(f"bundle {reference} says that it is {bundle.name}:{bundle.version}")
        return bundle
    if reference.startswith(("http://", "https://")):
        return _unpacked(await download(reference, proxies))
    if "://" in reference and not reference.startswith("file://"):
        raise ValidationError(f'bundle "{reference}": this kind of address is not supported yet; download it first')
    path = Path(reference.removeprefix("file://"))
    if await asyncio.to_thread(path.is_dir):
        return read_bundle(await FileRepository(path).load("/", is_recursive=True))
    return _unpacked(await asyncio.to_thread(_read, path))


def _read(path: Path) -> bytes:
    try:
        if path.stat().st_size > LARGEST_ARCHIVE:
            raise ValidationError(f"bundle {path} is larger than {LARGEST_ARCHIVE} bytes")
        return path.read_bytes()
    except OSError as error:
        raise ValidationError(f"bundle {path} cannot be read: {error.strerror}") from error


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
