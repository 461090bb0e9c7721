"""Documents of servers in a directory of the operator: OpenAPI documents and metadata bundles.

The name of a file is the hash of its address. A document is downloaded again only if the server says that it changed.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from homeostat.edge.proxies import Proxies
from homeostat.external.files import make_private, replace_file
from homeostat.external.oci.bundle import BundleLimits, unpack_bundle
from homeostat.external.oci.errors import OciError
from homeostat.external.rest.auth import Auth
from homeostat.external.rest.client import RestClient
from homeostat.external.rest.errors import RestError
from homeostat.external.rest.request import Request, Response
from homeostat.external.rest.retry import RetryPolicy
from homeostat.external.rest.settings import RestSettings
from homeostat.external.secrets.credentials import TlsCredentials
from homeostat.external.secrets.scrub import scrub_urls
from homeostat.operators.sync.context.bundle import LARGEST_ARCHIVE, fetch_bundle
from homeostat.operators.sync.engine.errors import TransportError, ValidationError, from_status
from homeostat.operators.sync.engine.metadata.bundle import Bundle, read_bundle
from homeostat.operators.sync.engine.openapi.document import MAX_BYTES, OpenApi
from homeostat.operators.sync.engine.payload import yaml
from homeostat.operators.sync.engine.tree.directory import directory_of

_TIMEOUT_S: Final = 60.0
_RETRY: Final = RetryPolicy(attempts=3)
_ARCHIVES: Final = (".tar.gz", ".tgz")
_NOT_MODIFIED: Final = 304
_LIMITS: Final = BundleLimits(file_bytes=64 << 20, total_bytes=256 << 20, entries=10_000)


@dataclass(frozen=True, slots=True)
class Access:
    """How a document is downloaded. One that the managed server itself serves is asked for with its credentials, and
    kept for its `owner` alone.
    """

    proxies: Proxies
    tls: TlsCredentials | None = field(default=None, repr=False)
    auth: Auth | None = field(default=None, repr=False)
    owner: str = ""


class Artifacts:
    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._bundles = dict[Path, tuple[int, Bundle]]()
        self._named = dict[str, Bundle]()
        self._documents = dict[Path, tuple[int, OpenApi]]()

    async def fetch_openapi(self, url: str, access: Access) -> Path:
        return await self._fetch(url, access, largest=MAX_BYTES)

    async def fetch_bundle(self, reference: str, access: Access) -> Path:
        """A bundle by its address is a file of the directory; one by its name is kept in memory."""
        if not reference.startswith(("http://", "https://")):
            self._named[reference] = await fetch_bundle(reference, access.proxies, allows_files=False)
            return self._directory
        if not urlsplit(reference).path.endswith(_ARCHIVES):
            raise ValidationError(f"metadata {scrub_urls(reference)} is not a bundle; expected a .tar.gz or .tgz")
        return await self._fetch(reference, access, largest=LARGEST_ARCHIVE)

    async def openapi(self, url: str, access: Access) -> OpenApi:
        """Downloaded unless it is there."""
        path = self._path(url, access)
        if not path.exists():
            await self.fetch_openapi(url, access)
        changed = path.stat().st_mtime_ns
        kept = self._documents.get(path)
        if kept is None or kept[0] != changed:
            kept = self._documents[path] = (changed, await asyncio.to_thread(read_openapi, path.read_bytes()))
        return kept[1]

    async def bundle(self, reference: str, access: Access) -> Bundle:
        """Downloaded unless it is there."""
        path = self._path(reference, access)
        if reference not in self._named and not path.exists():
            await self.fetch_bundle(reference, access)
        if reference in self._named:
            return self._named[reference]
        changed = path.stat().st_mtime_ns
        kept = self._bundles.get(path)
        if kept is None or kept[0] != changed:
            kept = self._bundles[path] = (changed, await asyncio.to_thread(_read_bundle, path))
        return kept[1]

    def _path(self, url: str, access: Access) -> Path:
        key = f"{access.owner} {url}" if access.owner else url
        return self._directory / f"{sha256(key.encode()).hexdigest()}{_extension(url)}"

    async def _fetch(self, url: str, access: Access, *, largest: int) -> Path:
        """`SyncError` if it cannot be downloaded; one that was downloaded before is no substitute."""
        path = self._path(url, access)
        stamp = path.with_name(f"{path.name}.modified")
        headers = {"If-Modified-Since": stamp.read_text()} if path.exists() and stamp.exists() else {}
        response = await _download(url, access, headers, largest)
        if response.status != _NOT_MODIFIED:
            await asyncio.to_thread(_keep, path, stamp, response)
        return path


async def _download(url: str, access: Access, headers: dict[str, str], largest: int) -> Response:
    shown, settings = scrub_urls(url), RestSettings(proxies=access.proxies, tls=access.tls, retry=_RETRY)
    async with RestClient(settings) as client:
        try:
            request = Request(
                "GET", url, headers=headers, auth=access.auth, timeout_s=_TIMEOUT_S, largest=largest, redirects=5
            )
            response = await client.send(request)
        except RestError as error:
            raise TransportError(f"download of {shown} failed: {error}") from error
    if not response.is_success and response.status != _NOT_MODIFIED:
        raise from_status(response.status, f"download of {shown} failed: HTTP {response.status}")
    return response


def _keep(path: Path, stamp: Path, response: Response) -> None:
    make_private(path.parent)
    stamp.unlink(missing_ok=True)
    if not path.exists() or path.read_bytes() != response.body:
        replace_file(path, response.body, mode=0o600)
    if modified := response.headers.get("last-modified"):
        replace_file(stamp, modified.encode(), mode=0o600)


def _extension(url: str) -> str:
    name = urlsplit(url).path.rpartition("/")[2]
    return next((each for each in (*_ARCHIVES, ".json", ".yaml", ".yml") if name.endswith(each)), "")


def read_openapi(data: bytes) -> OpenApi:
    return OpenApi(yaml.load(data))


def _read_bundle(path: Path) -> Bundle:
    try:
        return read_bundle(directory_of(unpack_bundle(path.read_bytes(), _LIMITS)))
    except OciError as error:
        raise ValidationError(f"the metadata bundle cannot be unpacked: {error}") from error
