"""Renews the certificate of a server that API servers call, before it expires, and reports loudly if that fails.

An API server does not call a webhook whose certificate has expired: with `failurePolicy: Ignore` it admits everything
without a word, with `Fail` it refuses every write. Promises, each tested: a certificate is renewed when a third of its
life is left; of several replicas one writes it; if it cannot be renewed, there are log lines, Events and metrics long
before it expires; an expired certificate makes `/readyz` of the policy webhook fail.
"""

from __future__ import annotations

import asyncio
import logging
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple, Never, Protocol

from homeostat.client.base import Client, UnreachableError
from homeostat.objects.errors import ApiError, ConflictError
from homeostat.objects.kind import SECRET
from homeostat.runtime.control.recorder import About, EventType, Recorder
from homeostat.web.certificates.authority import Certificates, RenewalError, renew_certificate, validity_of

log = logging.getLogger(__name__)

CHECK_EVERY_S: Final = 3600.0
_RENEW_AT: Final = 1 / 3
"""The part of its life that is left when a certificate is renewed."""
_WARN_AT: Final = 1 / 6
"""The same for a warning about the served certificate, whoever should have renewed it."""
_NO_KEY: Final = "nothing renews it here; ca.crt and ca.key beside its key, or the option for its Secret, would"
_WARN_EVERY: Final = timedelta(days=1)


class Stored(NamedTuple):
    """The files `ca.crt`, `ca.key`, `tls.crt` and `tls.key`; a missing one is empty."""

    certificates: Certificates
    version: str = ""


class Storage(Protocol):
    """Where the certificate is kept. Both methods may raise `ApiError`, `UnreachableError` and `OSError`."""

    async def read(self) -> Stored: ...
    async def write(self, renewed: Stored) -> None:
        """`ConflictError` if the stored version is another by now."""


class SecretStorage:
    def __init__(self, client: Client, namespace: str, name: str) -> None:
        self._client, self._path = client, SECRET.path(namespace, name)

    async def read(self) -> Stored:
        secret = await self._client.get(self._path)
        data: Mapping[str, str] = secret.get("data") or {}
        try:
            files = [b64decode(data.get(name, "")) for name in ("ca.crt", "ca.key", "tls.crt", "tls.key")]
        except ValueError as error:
            raise RenewalError(f"the Secret has invalid base64: {error}") from error
        return Stored(Certificates(*files), secret["metadata"]["resourceVersion"])

    async def write(self, renewed: Stored) -> None:
        files = {"tls.crt": renewed.certificates.certificate, "tls.key": renewed.certificates.key}
        data = {name: b64encode(each).decode() for name, each in files.items()}
        await self._client.merge(self._path, {"metadata": {"resourceVersion": renewed.version}, "data": data})


Report = Callable[[EventType, str, str], None]


def event_report(recorder: Recorder, namespace: str, name: str) -> Report:
    """Records Events about the Secret."""
    about = About(SECRET.api_version, SECRET.kind, namespace, name)
    return lambda type_, reason, message: recorder.record(about, type_, reason, message)


class Renewal:
    """`storage` is None if the certificate cannot be renewed here; then only its expiry is reported.

    `served` returns the certificate that the webhook serves, in PEM.
    """

    def __init__(
        self,
        storage: Storage | None,
        served: Callable[[], bytes],
        *,
        report: Report = lambda *_: None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        check_every_s: float = CHECK_EVERY_S,
    ) -> None:
        self._storage, self._served, self._report, self._now = storage, served, report, now
        self._check_every_s = check_every_s
        self._warned_at: datetime | None = None
        self.renewals = self.failures = 0

    @property
    def starts(self) -> datetime:
        return validity_of(self._served())[0]

    @property
    def expires(self) -> datetime:
        return validity_of(self._served())[1]

    @property
    def is_expired(self) -> bool:
        return self.expires <= self._now()

    async def run(self) -> Never:
        while True:
            await self.check()
            await asyncio.sleep(self._check_every_s)

    async def check(self) -> None:
        """Renews the stored certificate if it is due; warns if that fails or if the served one is due."""
        problem = await self._try_renew(self._storage) if self._storage is not None else ""
        if problem:
            self.failures += 1
        elif not self._is_due(self._served(), _WARN_AT):
            return
        self._warn(problem or ("the new one is not served" if self._storage is not None else _NO_KEY))

    async def _try_renew(self, storage: Storage) -> str:
        """The reason why a due certificate could not be renewed, or nothing."""
        try:
            stored = await storage.read()
            if not self._is_due(stored.certificates.certificate, _RENEW_AT):
                return ""
            renewed = await asyncio.to_thread(renew_certificate, stored.certificates, now=self._now())
            await storage.write(Stored(renewed, stored.version))
        except ConflictError:
            return ""
        except (ApiError, UnreachableError, OSError, RenewalError) as error:
            return str(error)
        self.renewals += 1
        self._warned_at = None
        end = f"{validity_of(renewed.certificate)[1]:%Y-%m-%d %H:%M} UTC"
        log.info("renewed certificate of the webhook", extra={"expires": end})
        self._report("Normal", "CertificateRenewed", f"Renewed the certificate of the admission webhook until {end}")
        return ""

    def _is_due(self, certificate: bytes, part: float) -> bool:
        begin, end = validity_of(certificate)
        return self._now() >= end - (end - begin) * part

    def _warn(self, problem: str) -> None:
        now = self._now()
        if self._warned_at is not None and now - self._warned_at < _WARN_EVERY:
            return
        self._warned_at = now
        expires = self.expires
        state = "has expired" if expires <= now else "expires"
        message = (
            f"The certificate of the admission webhook {state} at {expires:%Y-%m-%d %H:%M} UTC and was not renewed: "
            f"{problem}. API servers then do not call it: they admit everything, or with failurePolicy Fail nothing"
        )
        log.warning("failed to renew certificate of the webhook", extra={"expires": str(expires), "reason": problem})
        self._report("Warning", "CertificateNotRenewed", message)
