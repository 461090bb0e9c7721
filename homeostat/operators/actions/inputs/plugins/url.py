"""Input `url`: a JSON or YAML document, fetched at intervals.

If the server sends an ETag or a date, the next request is conditional. An empty answer or an error declares nothing and
deletes nothing; the document `[]` declares that there are no resources.
"""

from __future__ import annotations

import asyncio
import hashlib
from typing import Annotated, Final
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

from homeostat.external.rest.errors import TlsInvalidError
from homeostat.external.rest.request import Request, Response
from homeostat.external.secrets.credentials import TlsCredentials
from homeostat.external.secrets.secrets import SecretText
from homeostat.operators.actions.inputs.plugins.declaration import read_declarations
from homeostat.operators.actions.inputs.plugins.plugin import InputError, InputJob, Tools
from homeostat.operators.actions.inputs.plugins.reading import Reading

_LARGEST: Final = 16 << 20
_LONGEST_MARK: Final = 1024
_CONDITIONS: Final = {"etag": "If-None-Match", "last-modified": "If-Modified-Since"}


class UrlConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel", kw_only=True):
    url: str
    headers: dict[str, SecretText] = {}
    ca_certificate: SecretText = ""
    timeout_seconds: Annotated[float, Meta(gt=0, le=300)] = 30.0


class UrlInput:
    name, version, config = "url", "1.0.0", UrlConfig

    def __init__(self, tools: Tools) -> None:
        self._http = tools.http

    async def read(self, job: InputJob[UrlConfig]) -> Reading | None:
        host = _checked_host(job.config.url)
        headers = {"Accept": "application/json, application/yaml", "User-Agent": "homeostat"}
        headers |= await job.secrets.reveal_all(job.config.headers)
        mark, _, value = job.known.partition(" ")
        if mark in _CONDITIONS:
            headers[_CONDITIONS[mark]] = value
        authority = await job.secrets.reveal(job.config.ca_certificate)
        answer = await self._send(
            Request(
                "GET",
                job.config.url,
                headers,
                timeout_s=job.config.timeout_seconds,
                largest=_LARGEST,
                tls=TlsCredentials(authority=authority) if authority else None,
            )
        )
        if answer.status == 304 and mark in _CONDITIONS:
            return None
        if not answer.is_success or answer.status == 206:
            raise InputError("SourceRefused", f"{host} answered with HTTP {answer.status}")
        if not answer.body.strip():
            raise InputError("SourceEmpty", f"{host} returned an empty body; return [] to declare no resources")
        revision = _revision(answer)
        if revision == job.known:
            return None
        # Parsing a large document would block the event loop.
        found = await asyncio.to_thread(read_declarations, answer.body, host, namespace=job.namespace, limit=_LARGEST)
        return Reading(revision=revision, declarations=tuple(found.declarations), broken=tuple(found.broken))

    async def _send(self, request: Request) -> Response:
        try:
            return await self._http.send(request)
        except TlsInvalidError as error:
            raise InputError("InvalidConfig", "caCertificate contains no PEM certificate") from error


def _revision(answer: Response) -> str:
    for mark in _CONDITIONS:
        if (value := answer.headers.get(mark, "")) and len(value) <= _LONGEST_MARK:
            return f"{mark} {value}"
    return f"sha256 {hashlib.sha256(answer.body).hexdigest()}"


def _checked_host(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InputError("InvalidConfig", "the URL must begin with http:// or https://")
    if parts.username or parts.password:
        raise InputError("InvalidConfig", "the URL must not contain credentials; set them as a header, from a secret")
    return parts.netloc
