"""A cache of TLS contexts. Each is created in a thread, because reading certificates takes a while."""

from __future__ import annotations

import asyncio
import ssl
from dataclasses import replace
from typing import Final

from homeostat.edge.tls.context import client_context
from homeostat.external.rest.errors import TlsInvalidError
from homeostat.external.secrets.credentials import TlsCredentials

_MOST: Final = 64


class TlsContexts:
    def __init__(self) -> None:
        self._made: dict[TlsCredentials, ssl.SSLContext] = {}

    async def get(self, credentials: TlsCredentials | None, *, is_anonymous: bool = False) -> ssl.SSLContext | None:
        """None for the default: the system's authorities, no certificate."""
        if credentials is None:
            return None
        if is_anonymous:
            credentials = replace(credentials, certificate="", key="")
        if (found := self._made.get(credentials)) is not None:
            return found
        made = await asyncio.to_thread(_context, credentials)
        if len(self._made) >= _MOST:
            self._made.clear()
        self._made[credentials] = made
        return made


def _context(credentials: TlsCredentials) -> ssl.SSLContext:
    try:
        return client_context(
            authority=credentials.authority,
            certificate=credentials.certificate.encode() or None,
            key=credentials.key.encode() or None,
            is_verified=credentials.is_verified,
        )
    except (ssl.SSLError, ValueError) as error:
        # The error's own text may quote the key.
        raise TlsInvalidError("the certificate, key or authority is not valid PEM, or they do not match") from error
