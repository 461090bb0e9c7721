"""The credential of a request and its source: fixed, a file that is renewed, or an exec plugin.

Promises: a file is read again every few seconds and after a 401; a plugin runs once for all waiting requests, again
shortly before its credential expires, and after a 401, but once for many. A plugin that fails raises `KubeconfigError`
until it has worked once, and `UnreachableError` after that, so that watches go on.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from homeostat.client.base import UnreachableError
from homeostat.client.endpoint.endpoint import Endpoint, ExecPlugin, KubeconfigError
from homeostat.client.endpoint.exec_plugin import Issued, run_plugin

_REREAD_S = 10.0
_BEFORE_EXPIRY_S = 10.0
_BETWEEN_RENEWALS_S = 5.0


@dataclass(frozen=True, slots=True)
class Shown:
    """A bearer token, a client certificate with its key, both or nothing."""

    token: str = field(default="", repr=False)
    certificate: bytes | None = field(default=None, repr=False)
    key: bytes | None = field(default=None, repr=False)


class Credential(Protocol):
    async def show(self, refused: Shown | None = None) -> Shown:
        """The current credential. `refused` is one that the server has just refused with 401: returns another one if
        there is one.
        """


class Fixed:
    def __init__(self, shown: Shown) -> None:
        self._shown = shown

    async def show(self, refused: Shown | None = None) -> Shown:
        return self._shown


class TokenFile:
    """If the file cannot be read, the last token stays in use."""

    def __init__(self, path: Path, shown: Shown, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._path = path
        self._shown = shown
        self._clock = clock
        self._read_at = clock()

    async def show(self, refused: Shown | None = None) -> Shown:
        if refused is not None or self._clock() - self._read_at >= _REREAD_S:
            self._read_at = self._clock()
            try:
                token = (await asyncio.to_thread(self._path.read_text)).strip()
            except (OSError, UnicodeDecodeError):
                return self._shown
            # A file that is being written may be empty for a moment.
            if token and token != self._shown.token:
                self._shown = Shown(token, self._shown.certificate, self._shown.key)
        return self._shown


class Plugin:
    """`base` is the credential of the kubeconfig beside the plugin, such as a certificate beside the token."""

    def __init__(
        self,
        plugin: ExecPlugin,
        base: Shown,
        *,
        environ: Mapping[str, str],
        now: Callable[[], float] = time.time,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._plugin, self._base = plugin, base
        self._environ = environ
        # Only the expiry of a credential uses the wall clock, which may jump.
        self._now, self._clock = now, clock
        self._lock = asyncio.Lock()
        self._issued: Issued | None = None
        self._shown = base
        self._issued_at = self._failed_at = 0.0
        self._failure: str | None = None

    async def show(self, refused: Shown | None = None) -> Shown:
        if self._is_good(refused):
            return self._shown
        # Waiting requests get the result, or the error, of the first one.
        async with self._lock:
            if not self._is_good(refused):
                await self._renew()
        return self._shown

    async def _renew(self) -> None:
        if self._failure is None or self._clock() - self._failed_at >= _BETWEEN_RENEWALS_S:
            try:
                issued = await run_plugin(self._plugin, environ=self._environ)
            except KubeconfigError as error:
                self._failure, self._failed_at = str(error), self._clock()
            else:
                self._failure, self._issued, self._issued_at = None, issued, self._clock()
                self._shown = Shown(
                    issued.token or self._base.token,
                    issued.certificate or self._base.certificate,
                    issued.key or self._base.key,
                )
                return
        if self._issued is None:
            raise KubeconfigError(self._failure)
        # It has worked before, so the configuration is right and the failure is temporary.
        raise UnreachableError(self._failure, was_sent=False)

    def _is_good(self, refused: Shown | None) -> bool:
        if self._issued is None:
            return False
        if refused == self._shown:
            return self._clock() - self._issued_at < _BETWEEN_RENEWALS_S
        expires_at = self._issued.expires_at
        return expires_at is None or self._now() < expires_at - _BEFORE_EXPIRY_S


def credential_of(endpoint: Endpoint) -> Credential:
    shown = Shown(endpoint.token, endpoint.certificate, endpoint.key)
    if endpoint.plugin is not None:
        return Plugin(endpoint.plugin, shown, environ=os.environ)
    if endpoint.token_file is not None:
        return TokenFile(endpoint.token_file, shown)
    return Fixed(shown)
