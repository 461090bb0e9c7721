"""The certificate of a server, from files that may change while it runs.

Promises, each tested: a new pair of files is used for new connections, and open ones go on; files that do not fit each
other, as when one of them is not written yet, change nothing and are looked at again.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from pathlib import Path
from typing import Never

from homeostat.edge.tls.context import server_context

log = logging.getLogger(__name__)

LOOK_EVERY_S = 5.0
_Version = tuple[tuple[int, int, int], ...]


class CertificateError(Exception):
    """A file that cannot be used: says which."""


class FileCertificate:
    """Blocks while it is made."""

    def __init__(self, certificate: Path, key: Path, *, look_every_s: float = LOOK_EVERY_S) -> None:
        self._certificate, self._key, self._look_every_s = certificate, key, look_every_s
        self._trouble = ""
        self._seen = self._version()
        self.context: ssl.SSLContext = self._load()

    async def follow(self) -> Never:
        while True:
            await asyncio.sleep(self._look_every_s)
            try:
                await self._look()
                self._trouble = ""
            except CertificateError as error:
                self._complain(str(error))

    def _complain(self, trouble: str) -> None:
        if trouble != self._trouble:
            self._trouble = trouble
            log.warning("failed to reload certificate; keeping the current one", extra={"reason": trouble})

    async def _look(self) -> None:
        version = await asyncio.to_thread(self._version)
        if version == self._seen:
            return
        # Tried on a context of its own first: one that fails half-way is left with a key that does not fit.
        await asyncio.to_thread(self._load)
        if await asyncio.to_thread(self._version) == version:
            self.context.load_cert_chain(self._certificate, self._key)
            self._seen = version
            log.info("reloaded certificate", extra={"file": str(self._certificate)})

    def _version(self) -> _Version:
        return _version("certificate", self._certificate), _version("key", self._key)

    def _load(self) -> ssl.SSLContext:
        for name, path in (("certificate", self._certificate), ("key", self._key)):
            try:
                path.read_bytes()
            except OSError as error:
                raise CertificateError(f"{name} {path}: {error.strerror}") from error
        try:
            return server_context(self._certificate, self._key)
        except (ssl.SSLError, OSError) as error:
            reason = getattr(error, "reason", None) or error
            told = f"certificate {self._certificate} and key {self._key} do not match: {reason}"
            raise CertificateError(told) from error


def _version(name: str, path: Path) -> tuple[int, int, int]:
    try:
        found = path.stat()
    except OSError as error:
        raise CertificateError(f"{name} {path}: {error.strerror}") from error
    return found.st_mtime_ns, found.st_size, found.st_ino
