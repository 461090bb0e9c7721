"""The TLS context for an endpoint: the trusted authority and the client certificate."""

from __future__ import annotations

import asyncio
import ssl
from urllib.parse import urlsplit

from homeostat.client.endpoint.endpoint import Endpoint, KubeconfigError
from homeostat.edge.tls.context import client_context


class Trust:
    """Creates TLS contexts and keeps the newest, because certificates change rarely. Its creation blocks."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._is_tls = urlsplit(endpoint.server).scheme == "https"
        self._shown = (endpoint.certificate, endpoint.key)
        self._context = make_context(endpoint, *self._shown) if self._is_tls else None

    async def context(self, certificate: bytes | None, key: bytes | None) -> ssl.SSLContext | None:
        """The context with this client certificate; None for a plain connection."""
        if self._context is None:
            return None
        if self._shown != (certificate, key):
            made = await asyncio.to_thread(make_context, self._endpoint, certificate, key)
            self._context, self._shown = made, (certificate, key)
        return self._context


def make_context(endpoint: Endpoint, certificate: bytes | None, key: bytes | None) -> ssl.SSLContext:
    try:
        authority = endpoint.authority.decode("ascii") if endpoint.authority else ""
        return client_context(authority=authority, certificate=certificate, key=key, is_verified=endpoint.is_verified)
    except (ssl.SSLError, ValueError) as error:
        raise KubeconfigError(f"the kubeconfig's certificate for {endpoint.server} cannot be used: {error}") from error
