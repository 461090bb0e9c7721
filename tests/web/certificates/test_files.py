"""The certificate of a running webhook follows its files."""

from __future__ import annotations

import asyncio
import shutil
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from homeostat.plane import Plane
from homeostat.testing.eventually import eventually
from homeostat.web.admission.webhook import serve_admission
from homeostat.web.certificates.files import CertificateError, FileCertificate
from tests.web.reviewing import trusting, write_certificates


@pytest.fixture
def files(tmp_path: Path) -> Path:
    return tmp_path / "tls"


@pytest.fixture
async def port(plane: Plane, files: Path) -> AsyncIterator[int]:
    async with serve_admission(plane.client, certificate=write_certificates(files)) as server:
        yield server.port


async def connect(port: int, trust: ssl.SSLContext) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection("127.0.0.1", port, ssl=trust)


async def is_trusted(port: int, trust: ssl.SSLContext) -> bool:
    try:
        _, writer = await connect(port, trust)
    except ssl.SSLError:
        return False
    writer.close()
    return True


async def health(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
    writer.write(b"GET /healthz HTTP/1.1\r\nHost: hook\r\n\r\n")
    return (await reader.readuntil(b"\r\n\r\nOK")).splitlines()[0]


async def test_a_new_certificate_is_shown_to_new_connections_and_old_ones_continue(port: int, files: Path) -> None:
    before = trusting(files)
    reader, writer = await connect(port, before)
    assert await health(reader, writer) == b"HTTP/1.1 200 OK"
    write_certificates(files)
    after = trusting(files)
    await eventually(lambda: is_trusted(port, after))
    assert not await is_trusted(port, before)
    assert await health(reader, writer) == b"HTTP/1.1 200 OK"
    writer.close()


BREAK = {
    "a key of another": lambda files, other: shutil.copy(other / "tls.key", files / "tls.key"),
    "half a certificate": lambda files, _: (files / "tls.crt").write_text("-----BEGIN CERTIFICATE-----\nMII"),
    "no key": lambda files, _: (files / "tls.key").unlink(),
    "no certificate": lambda files, _: (files / "tls.crt").unlink(),
}


@pytest.mark.parametrize("spoil", BREAK.values(), ids=BREAK)
async def test_an_invalid_pair_of_files_changes_nothing_until_it_is_valid(
    port: int, files: Path, tmp_path: Path, spoil: object
) -> None:
    before, other = trusting(files), tmp_path / "other"
    write_certificates(other)
    assert callable(spoil)
    spoil(files, other)
    await asyncio.sleep(0.15)
    assert await is_trusted(port, before)
    for name in ("tls.key", "tls.crt"):
        shutil.copy(other / name, files / name)
    after = trusting(other)
    await eventually(lambda: is_trusted(port, after))


@pytest.mark.parametrize(
    ("missing", "told"), [("tls.crt", r"certificate .*tls\.crt: No such file"), ("tls.key", r"key .*tls\.key: No such")]
)
def test_a_missing_file_is_named(files: Path, missing: str, told: str) -> None:
    write_certificates(files)
    (files / missing).unlink()
    with pytest.raises(CertificateError, match=told):
        FileCertificate(files / "tls.crt", files / "tls.key")
