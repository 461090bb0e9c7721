"""Whom an endpoint is believed to be, and which certificate is shown to it."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

from homeostat.client.endpoint.endpoint import Endpoint, KubeconfigError


class Trust:
    """Makes TLS contexts, and keeps the newest: certificates change rarely. Blocking when it is made."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._is_tls = urlsplit(endpoint.server).scheme == "https"
        self._shown = (endpoint.certificate, endpoint.key)
        self._context = make_context(endpoint, *self._shown) if self._is_tls else None

    async def context(self, certificate: bytes | None, key: bytes | None) -> ssl.SSLContext | None:
        """The context that shows this certificate; None where nothing is encrypted."""
        if self._context is None:
            return None
        if self._shown != (certificate, key):
            made = await asyncio.to_thread(make_context, self._endpoint, certificate, key)
            self._context, self._shown = made, (certificate, key)
        return self._context


def make_context(endpoint: Endpoint, certificate: bytes | None, key: bytes | None) -> ssl.SSLContext:
    try:
        authority = endpoint.authority.decode("ascii") if endpoint.authority else None
        context = ssl.create_default_context(cadata=authority)
        if certificate is not None and key is not None:
            _show(context, certificate, key)
    except (ssl.SSLError, ValueError) as error:
        raise KubeconfigError(f"the kubeconfig's certificate for {endpoint.server} cannot be used: {error}") from error
    if not endpoint.is_verified:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _show(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    # OpenSSL's binding takes a client's certificate from files alone.
    with TemporaryDirectory(prefix="homeostat-") as directory:
        chain = Path(directory) / "client.pem"
        chain.touch(mode=0o600)
        chain.write_bytes(certificate.rstrip() + b"\n" + key)
        context.load_cert_chain(chain)
