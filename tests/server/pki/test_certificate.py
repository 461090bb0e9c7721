from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from hypothesis import given
from hypothesis import strategies as st

from homeostat.server.pki.authority import Authority, Subject, issue, make_authority
from homeostat.server.pki.certificate import read_certificate, read_pem
from homeostat.server.pki.keys import new_key
from tests.examples import examples

NOW = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)
KEY = ec.generate_private_key(ec.SECP256R1())
TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), min_size=1, max_size=16)


def certified(subject: list[x509.NameAttribute[str]], *, not_after: datetime = NOW) -> bytes:
    builder = x509.CertificateBuilder().serial_number(1).public_key(KEY.public_key())
    builder = builder.subject_name(x509.Name(subject)).issuer_name(x509.Name([]))
    builder = builder.not_valid_before(not_after - timedelta(days=1)).not_valid_after(not_after)
    return builder.sign(KEY, hashes.SHA256()).public_bytes(serialization.Encoding.DER)


@examples(40)
@given(TEXTS, st.lists(TEXTS, max_size=4))
def test_name_and_groups_read_as_they_were_written(name: str, groups: list[str]) -> None:
    attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    read = read_certificate(certified([*attributes, x509.NameAttribute(NameOID.COMMON_NAME, name)]))
    assert (read.common_name, list(read.organizations)) == (name, groups)


@pytest.mark.parametrize("year", [1999, 2026, 2049, 2050, 2120])
def test_times_of_any_century_are_read(year: int) -> None:
    end = datetime(year, 6, 7, 8, 9, 10, tzinfo=UTC)
    read = read_certificate(certified([], not_after=end))
    assert (read.not_before, read.not_after) == (end - timedelta(days=1), end)


def test_a_server_certificate_has_hosts_and_issuer() -> None:
    key = new_key()
    authority = Authority(make_authority(key, now=NOW), key)
    hosts = frozenset({"localhost", "127.0.0.1", "::1", "kubernetes.default.svc"})
    read = read_pem(issue(authority, Subject("server", hosts=hosts), key=new_key(), now=NOW))
    assert read.hosts == hosts
    assert read.issuer == read_pem(authority.certificate).subject


def test_a_certificate_without_names_names_nobody() -> None:
    read = read_certificate(certified([]))
    assert (read.common_name, read.organizations, read.hosts) == ("", (), frozenset())


@pytest.mark.parametrize("data", [b"", b"\x30", b"\x30\x03\x02\x01\x01", b"\x30\x82\xff\xff", b"no", bytes(64)])
def test_what_is_not_a_certificate_is_a_value_error(data: bytes) -> None:
    with pytest.raises(ValueError, match="not a DER certificate"):
        read_certificate(data)


ALICE = certified([x509.NameAttribute(NameOID.COMMON_NAME, "alice")])


@examples(300)
@given(st.integers(0, len(ALICE) - 1), st.integers(0, 255), st.integers(0, len(ALICE)))
def test_a_mutilated_certificate_is_read_or_a_value_error(place: int, value: int, length: int) -> None:
    mutilated = ALICE[:place] + bytes((value,)) + ALICE[place + 1 :]
    for data in (mutilated, mutilated[:length]):
        with suppress(ValueError):
            read_certificate(data)


def test_what_is_not_pem_is_a_value_error() -> None:
    for text in (b"", b"-----BEGIN CERTIFICATE-----\nAAAA", b"hello"):
        with pytest.raises(ValueError, match="not a PEM certificate"):
            read_pem(text)
