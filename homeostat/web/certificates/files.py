"""The certificate of a server, from files that may change while it runs.

Promises, each tested: a new pair of files is used for new connections, and open connections continue; files that do not
match each other, for example while one of them is being replaced, change nothing and are read again later.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from pathlib import Path
from typing import Never

from homeostat.edge.tls.context import server_context
from homeostat.web.certificates.authority import RenewalError, validity_of

log = logging.getLogger(__name__)

CHECK_EVERY_S = 5.0
_Version = tuple[tuple[int, int, int], ...]


class CertificateError(Exception):
    """A file cannot be used; the text names it."""


class FileCertificate:
    """The constructor reads the files, so it blocks."""

    def __init__(self, certificate: Path, key: Path, *, check_every_s: float = CHECK_EVERY_S) -> None:
        self._certificate, self._key, self._check_every_s = certificate, key, check_every_s
        self._problem = ""
        self._seen = self._version()
        self.context: ssl.SSLContext
        self.certificate: bytes
        """The certificate that new connections get, in PEM."""
        self.context, self.certificate = self._load()

    async def follow(self) -> Never:
        while True:
            await asyncio.sleep(self._check_every_s)
            try:
                await self._reload()
                self._problem = ""
            except CertificateError as error:
                self._warn_once(str(error))

    def _warn_once(self, problem: str) -> None:
        if problem != self._problem:
            self._problem = problem
            log.warning("failed to reload certificate; keeping the current one", extra={"reason": problem})

    async def _reload(self) -> None:
        version = await asyncio.to_thread(self._version)
        if version == self._seen:
            return
        # Loaded into a new context first: a context that fails half-way keeps a key that does not match.
        _, certificate = await asyncio.to_thread(self._load)
        if await asyncio.to_thread(self._version) == version:
            self.context.load_cert_chain(self._certificate, self._key)
            self.certificate = certificate
            self._seen = version
            log.info("reloaded certificate", extra={"file": str(self._certificate)})

    def _version(self) -> _Version:
        return _version("certificate", self._certificate), _version("key", self._key)

    def _load(self) -> tuple[ssl.SSLContext, bytes]:
        certificate, _ = (_read(name, path) for name, path in (("certificate", self._certificate), ("key", self._key)))
        try:
            context = server_context(self._certificate, self._key)
            validity_of(certificate)
            return context, certificate
        except RenewalError as error:
            raise CertificateError(f"certificate {self._certificate}: {error}") from error
        except (ssl.SSLError, OSError) as error:
            reason = getattr(error, "reason", None) or error
            text = f"certificate {self._certificate} and key {self._key} do not match: {reason}"
            raise CertificateError(text) from error


def _read(name: str, path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise CertificateError(f"{name} {path}: {error.strerror}") from error


def _version(name: str, path: Path) -> tuple[int, int, int]:
    try:
        found = path.stat()
    except OSError as error:
        raise CertificateError(f"{name} {path}: {error.strerror}") from error
    return found.st_mtime_ns, found.st_size, found.st_ino
