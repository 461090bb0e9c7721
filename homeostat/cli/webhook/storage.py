"""The certificate of a server in a directory: `tls.crt` and `tls.key`, with `ca.crt` and `ca.key` beside the key."""

from __future__ import annotations

import asyncio
from pathlib import Path

from homeostat.web.certificates.authority import Certificates
from homeostat.web.certificates.renewal import Stored

AUTHORITY, AUTHORITY_KEY = "ca.crt", "ca.key"


class DirectoryStorage:
    def __init__(self, certificate: Path, key: Path) -> None:
        beside = key.parent
        self._paths = (beside / AUTHORITY, beside / AUTHORITY_KEY, certificate, key)

    @property
    def can_renew(self) -> bool:
        return all(path.is_file() for path in self._paths)

    async def read(self) -> Stored:
        return Stored(Certificates(*[await asyncio.to_thread(path.read_bytes) for path in self._paths]))

    async def write(self, renewed: Stored) -> None:
        await asyncio.to_thread(self._write, renewed.certificates)

    def _write(self, certificates: Certificates) -> None:
        from homeostat.server.pki.private_file import write_private

        *_, certificate, key = self._paths
        # The certificate last: a server that reloads it finds its key already there.
        write_private(key, certificates.key)
        write_private(certificate, certificates.certificate)
