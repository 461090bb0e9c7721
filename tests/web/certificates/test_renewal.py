"""The certificate of the webhook is renewed before it expires; if it cannot be, that is reported in time."""

from __future__ import annotations

import asyncio
import re
from base64 import b64encode
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.x509.verification import PolicyBuilder, Store

from homeostat.cli.webhook.storage import DirectoryStorage
from homeostat.objects.kind import EVENT, SECRET
from homeostat.operators.policy.api import KINDS
from homeostat.plane import Plane
from homeostat.runtime.control.recorder import Recorder
from homeostat.runtime.installation import install
from homeostat.testing.eventually import eventually
from homeostat.web.admission.webhook import serve_admission
from homeostat.web.certificates.authority import (
    AUTHORITY_LIFE,
    Certificates,
    RenewalError,
    make_certificates,
    renew_certificate,
    validity_of,
)
from homeostat.web.certificates.files import FileCertificate
from homeostat.web.certificates.renewal import Renewal, SecretStorage, Stored, event_report
from tests.web.certificates.test_files import is_trusted
from tests.web.reviewing import trusting

NOW = datetime(2026, 11, 16, tzinfo=UTC)
LIFE = timedelta(days=90)
MADE = make_certificates("hook", "ops", ["10.0.0.7"], now=NOW, life=LIFE)
DUE, LATE, EXPIRED = NOW + timedelta(days=61), NOW + timedelta(days=80), NOW + timedelta(days=91)


def names_of(certificate: bytes) -> x509.SubjectAlternativeName:
    leaf = x509.load_pem_x509_certificate(certificate)
    return leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value


def test_a_renewed_certificate_is_for_the_same_names_and_of_the_same_authority() -> None:
    renewed = renew_certificate(MADE, now=DUE)
    assert (renewed.authority, renewed.authority_key) == (MADE.authority, MADE.authority_key)
    assert renewed.key != MADE.key
    assert names_of(renewed.certificate) == names_of(MADE.certificate)
    begin, end = validity_of(renewed.certificate)
    assert begin <= DUE < DUE + LIFE <= end
    authority, leaf = map(x509.load_pem_x509_certificate, (renewed.authority, renewed.certificate))
    assert leaf.subject == x509.load_pem_x509_certificate(MADE.certificate).subject
    verifier = PolicyBuilder().store(Store([authority])).time(EXPIRED)
    verifier.build_server_verifier(x509.DNSName("hook.ops.svc")).verify(leaf, [])


def test_a_renewed_certificate_does_not_outlive_its_authority() -> None:
    almost = NOW + AUTHORITY_LIFE - timedelta(days=5)
    assert validity_of(renew_certificate(MADE, now=almost).certificate)[1] == NOW + AUTHORITY_LIFE
    with pytest.raises(RenewalError, match=r"the authority of ca\.crt expired at 2036-11-13 00:00 UTC"):
        renew_certificate(MADE, now=NOW + AUTHORITY_LIFE)


OTHER = make_certificates("hook", "ops", now=NOW, life=LIFE)
BROKEN = {
    "no key": (MADE._replace(authority_key=b""), "unreadable"),
    "another's key": (MADE._replace(authority_key=OTHER.authority_key), r"ca\.key is not the key of ca\.crt"),
    "no authority": (MADE._replace(authority=b"none"), "unreadable"),
}


@pytest.mark.parametrize(("files", "text"), BROKEN.values(), ids=BROKEN)
def test_without_a_fitting_authority_nothing_is_renewed(files: Certificates, text: str) -> None:
    with pytest.raises(RenewalError, match=text):
        renew_certificate(files, now=DUE)


async def keep(plane: Plane, made: Certificates) -> None:
    names = ("ca.crt", "ca.key", "tls.crt", "tls.key")
    data = {name: b64encode(each).decode() for name, each in zip(names, made, strict=True) if each}
    await plane.client.create(SECRET.path("default"), {"metadata": {"name": "tls"}, "data": data})


def renewal_of(plane: Plane, now: datetime, recorder: Recorder, served: bytes = MADE.certificate) -> Renewal:
    storage = SecretStorage(plane.client, "default", "tls")
    report = event_report(recorder, "default", "tls")
    return Renewal(storage, lambda: served, report=report, now=lambda: now)


async def reasons(plane: Plane, recorder: Recorder) -> list[str]:
    await recorder.flush()
    events, _ = await plane.client.list(EVENT.path("default"))
    return [each["reason"] for each in events if each["regarding"]["kind"] == "Secret"]


async def test_a_certificate_of_a_secret_is_renewed_when_a_third_of_its_life_is_left(plane: Plane) -> None:
    await keep(plane, MADE)
    recorder = Recorder(plane.client, "webhook")
    await renewal_of(plane, DUE - timedelta(days=3), recorder).check()
    storage = SecretStorage(plane.client, "default", "tls")
    assert (await storage.read()).certificates == MADE
    renewal = renewal_of(plane, DUE, recorder)
    await renewal.check()
    found = (await storage.read()).certificates
    assert (found.authority_key, found.key != MADE.key) == (MADE.authority_key, True)
    assert validity_of(found.certificate)[1] >= DUE + LIFE
    assert (renewal.renewals, renewal.failures) == (1, 0)
    assert await reasons(plane, recorder) == ["CertificateRenewed"]


async def test_of_several_replicas_one_renews(plane: Plane) -> None:
    await keep(plane, MADE)
    recorder = Recorder(plane.client, "webhook")
    renewals = [renewal_of(plane, DUE, recorder) for _ in range(5)]
    await asyncio.gather(*(each.check() for each in renewals))
    assert (sum(each.renewals for each in renewals), sum(each.failures for each in renewals)) == (1, 0)


async def test_a_certificate_that_cannot_be_renewed_is_reported_once_a_day(
    plane: Plane, caplog: pytest.LogCaptureFixture
) -> None:
    await keep(plane, MADE._replace(authority_key=b""))
    recorder, now = Recorder(plane.client, "webhook"), DUE
    storage = SecretStorage(plane.client, "default", "tls")
    report = event_report(recorder, "default", "tls")
    renewal = Renewal(storage, lambda: MADE.certificate, report=report, now=lambda: now)

    def logged() -> int:
        return sum(each.message == "failed to renew certificate of the webhook" for each in caplog.records)

    await renewal.check()
    await renewal.check()
    assert (logged(), renewal.failures) == (1, 2)
    now += timedelta(days=1)
    await renewal.check()
    assert logged() == 2
    assert set(await reasons(plane, recorder)) == {"CertificateNotRenewed"}


SILENT: dict[str, tuple[datetime, int]] = {
    "long before": (DUE, 0),
    "shortly before": (LATE, 1),
    "after": (EXPIRED, 1),
}


@pytest.mark.parametrize(("now", "warnings"), SILENT.values(), ids=SILENT)
async def test_a_certificate_that_somebody_else_renews_is_reported_shortly_before_it_expires(
    now: datetime, warnings: int
) -> None:
    told: list[str] = []
    renewal = Renewal(None, lambda: MADE.certificate, report=lambda *each: told.append(each[2]), now=lambda: now)
    await renewal.check()
    assert len(told) == warnings
    assert all("they admit everything" in each for each in told)
    assert renewal.is_expired == (now == EXPIRED)


class Gone:
    """A storage that is not reachable."""

    async def read(self) -> Stored:
        raise OSError("no route to host")

    async def write(self, renewed: Stored) -> None:
        raise AssertionError(renewed)


async def test_a_storage_that_cannot_be_read_is_a_failure_and_reported() -> None:
    told: list[str] = []
    renewal = Renewal(Gone(), lambda: MADE.certificate, report=lambda *each: told.append(each[2]), now=lambda: NOW)
    await renewal.check()
    assert (renewal.failures, "no route to host" in told[0]) == (1, True)


@pytest.fixture
def directory(tmp_path: Path) -> Callable[[datetime], Path]:
    """The files of a certificate for 127.0.0.1 that was made at a time."""

    def make(at: datetime) -> Path:
        made = make_certificates("hook", "ops", ["127.0.0.1"], now=at, life=timedelta(days=30))
        for name, data in zip(("ca.crt", "ca.key", "tls.crt", "tls.key"), made, strict=True):
            (tmp_path / name).write_bytes(data)
        return tmp_path

    return make


async def test_a_webhook_serves_its_renewed_certificate_and_callers_still_trust_it(
    plane: Plane, directory: Callable[[datetime], Path]
) -> None:
    await install(plane.client, KINDS)
    files = directory(datetime.now(UTC) - timedelta(days=25))
    trust, before = trusting(files), (files / "tls.crt").read_bytes()
    certificate = FileCertificate(files / "tls.crt", files / "tls.key", check_every_s=0.02)
    storage = DirectoryStorage(files / "tls.crt", files / "tls.key")
    assert storage.can_renew
    renewal = Renewal(storage, lambda: certificate.certificate, check_every_s=0.05)
    async with serve_admission(plane.client, certificate=certificate, renewal=renewal) as server:
        await eventually(lambda: _served(certificate), lambda found: found != before)
        assert renewal.expires > datetime.now(UTC) + timedelta(days=29)
        assert await is_trusted(server.port, trust)
    assert (files / "tls.key").stat().st_mode & 0o777 == 0o600


async def _served(certificate: FileCertificate) -> bytes:
    return certificate.certificate


async def test_an_expired_certificate_shows_on_the_health_page_and_in_the_metrics(
    plane: Plane, directory: Callable[[datetime], Path]
) -> None:
    import aiohttp

    await install(plane.client, KINDS)
    files = directory(datetime.now(UTC) - timedelta(days=31))
    certificate = FileCertificate(files / "tls.crt", files / "tls.key")
    renewal = Renewal(None, lambda: certificate.certificate)
    async with (
        serve_admission(plane.client, renewal=renewal) as server,
        aiohttp.ClientSession(f"http://127.0.0.1:{server.port}") as session,
    ):
        async with session.get("/readyz") as answer:
            assert (answer.status, (await answer.text()).startswith("NOT READY\nthe certificate expired at")) == (
                503,
                True,
            )
        async with session.get("/metrics") as answer:
            text = await answer.text()
    (shown,) = re.findall(r"^webhook_certificate_expiry_timestamp_seconds (\S+)$", text, re.MULTILINE)
    assert float(shown) == renewal.expires.timestamp()
    assert "webhook_certificate_renewals_total 0.0" in text
