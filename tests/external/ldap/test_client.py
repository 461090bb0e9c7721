"""Binding and searching, at a real slapd and at servers that misbehave."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeostat.external.ldap import client
from homeostat.external.ldap.ber import ENUMERATED, INTEGER, element, elements, integer, octets, read_integer
from homeostat.external.ldap.client import Connection, Entry, LdapError, Server, open_ldap
from homeostat.external.ldap.filter import FilterError
from homeostat.external.ldap.message import Received, read_cookie, read_entry, read_message, read_result
from tests.api.conftest import noting_threads
from tests.external.slapds import ADMIN, ADMIN_PASSWORD, BASE, Slapd, person, run_slapd
from tests.web.reviewing import write_certificates

MANY = 1203
ANNA = f"uid=anna,{BASE}"


@pytest.fixture(scope="module")
def slapd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slapd]:
    people = [person("anna", "anna's password", email="a@example.com", title="Anna Ä."), person("bert", "x")]
    people += [person(f"user-{number}") for number in range(MANY)]
    with run_slapd(tmp_path_factory.mktemp("slapd"), people) as running:
        yield running


async def search(server: Server, wanted: str, *, base: str = BASE) -> list[Entry]:
    async with open_ldap(server) as connection:
        assert await connection.bind(ADMIN, ADMIN_PASSWORD)
        return [each async for each in connection.search(base, wanted, ["uid", "mail", "cn"])]


async def test_a_password_is_right_or_wrong(slapd: Slapd) -> None:
    for name, password, expected in (
        (ANNA, "anna's password", True),
        (ANNA, "wrong", False),
        (ANNA, "", False),
        ("", "", False),
        ("uid=nobody,dc=example,dc=com", "x", False),
        ("this is no name", "x", False),
    ):
        async with open_ldap(Server(slapd.url)) as connection:
            assert await connection.bind(name, password) is expected, name


async def test_an_entry_is_found_with_its_attributes(slapd: Slapd) -> None:
    found = await search(Server(slapd.url), "(&(objectClass=inetOrgPerson)(uid=an*)(!(uid=bert)))")
    assert found == [Entry(ANNA, {"uid": ["anna"], "mail": ["a@example.com"], "cn": ["Anna Ä."]})]


async def test_all_are_found_in_pages(slapd: Slapd) -> None:
    found = await search(Server(slapd.url), "(uid=user-*)")
    assert len({each.name for each in found}) == MANY


async def test_a_refused_search_is_an_error(slapd: Slapd) -> None:
    with pytest.raises(LdapError, match="code 32"):
        await search(Server(slapd.url), "(uid=*)", base="dc=elsewhere")
    with pytest.raises(FilterError):
        await search(Server(slapd.url), "uid=x")


async def test_it_works_under_tls_from_the_start_or_from_then_on(slapd: Slapd) -> None:
    context = ssl.create_default_context(cafile=slapd.certificates / "ca.crt")
    async with open_ldap(Server(slapd.tls_url, tls=context)) as connection:
        assert await connection.bind(ANNA, "anna's password")
    async with open_ldap(Server(slapd.url)) as connection:
        await connection.start_tls(context, "127.0.0.1")
        assert await connection.bind(ANNA, "anna's password")
        assert not await connection.bind(ANNA, "wrong")


async def test_an_untrusted_directory_gets_no_password(slapd: Slapd) -> None:
    with pytest.raises(LdapError, match="not trusted"):
        async with open_ldap(Server(slapd.tls_url)):
            pass


async def test_a_directory_elsewhere_is_asked_under_tls_only(slapd: Slapd, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("homeostat.external.ldap.client._is_loopback", lambda host: False)
    with pytest.raises(LdapError, match="not trusted"):
        async with open_ldap(Server(slapd.url)):
            pass
    async with open_ldap(Server(slapd.url, is_plain_allowed=True)) as connection:
        assert await connection.bind(ANNA, "anna's password")


def message(number: int, operation: bytes) -> bytes:
    return element(0x30, integer(number), operation)


def result(tag: int, code: int) -> bytes:
    return element(tag, integer(code, ENUMERATED), octets(""), octets("because"))


MISBEHAVIOURS = {
    "it hangs up": (b"", "cannot reach"),
    "no LDAP": (b"HTTP/1.1 400 Bad Request\r\n\r\n", "not valid LDAP"),
    "a message without an end": (b"\x30\x84\x7f\xff\xff\xff", "not valid LDAP"),
    "an indefinite length": (b"\x30\x80\x00\x00", "not valid LDAP"),
    "nothing inside": (b"\x30\x00", "not valid LDAP"),
    "half an answer": (b"\x30\x0c\x02\x01\x01\x61\x07\x0a", "cannot reach"),
    "something else": (message(1, result(0x65, 0)), "unexpected response"),
    "an error": (message(1, result(0x61, 52)), "code 52 because"),
    "no result": (message(1, element(0x61)), "not valid LDAP"),
    "a farewell": (message(0, element(0x78)), "closed the connection"),
}


@pytest.mark.parametrize(("answer", "told"), MISBEHAVIOURS.values(), ids=MISBEHAVIOURS)
async def test_a_server_that_misbehaves_is_an_error_and_no_more(answer: bytes, told: str) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        writer.write(answer)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server:
        with pytest.raises(LdapError, match=told) as caught:
            async with open_ldap(Server(f"ldap://127.0.0.1:{port}")) as connection:
                await connection.bind("cn=x", "secret word")
    assert "secret word" not in str(caught.value)


@asynccontextmanager
async def answering(answer: bytes) -> AsyncIterator[Connection]:
    """A directory that says this to the first request, and a connection to it."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        writer.write(answer)
        with suppress(ConnectionError):
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    url = f"ldap://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server, open_ldap(Server(url)) as connection:
        yield connection


async def test_a_large_entry_is_decoded_beside_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """4 MiB of attributes without values took 2 s."""
    empty = element(0x30, octets(""), element(0x31))
    attributes = element(0x30, element(0x30, octets("uid"), element(0x31, octets("anna"))), empty * 5_000)
    threads = noting_threads(monkeypatch, client, "read_entry")
    async with answering(message(1, element(0x64, octets("uid=anna"), attributes))) as connection:
        async for entry in connection.search("dc=x", "(uid=*)", ["uid"]):
            assert entry.attributes["uid"] == ["anna"]
            break
    assert threads == {False}


async def test_many_messages_at_once_are_read_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    loop, read, most, is_over = asyncio.get_running_loop(), 0, 0, False
    decode = read_message

    def counted(data: bytes) -> Received:
        nonlocal read
        read += 1
        return decode(data)

    def tick() -> None:
        nonlocal read, most
        most, read = max(most, read), 0
        if not is_over:
            loop.call_soon(tick)

    monkeypatch.setattr(client, "read_message", counted)
    monkeypatch.setattr("homeostat.edge.turn.TURN_S", 0.0)
    tick()
    async with answering(message(7, element(0x64)) * 500 + message(1, result(0x61, 0))) as connection:
        assert await connection.bind("cn=x", "secret word")
    is_over = True
    assert most <= 2


async def test_a_result_has_a_largest_size() -> None:
    large = element(0x61, integer(0, ENUMERATED), octets(""), octets("because" * 3000))
    async with answering(message(1, large)) as connection:
        with pytest.raises(LdapError, match="too large"):
            await connection.bind("cn=x", "secret word")


async def test_a_server_that_says_nothing_is_given_up() -> None:
    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(listen, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server:
        with pytest.raises(LdapError, match=r"timed out after 0\.2 s"):
            async with open_ldap(Server(f"ldap://127.0.0.1:{port}", timeout_s=0.2)) as connection:
                await connection.bind("cn=x", "y")


@pytest.mark.parametrize("url", ["http://example.com", "ldap://", "example.com"])
async def test_an_invalid_directory_url_is_an_error(url: str) -> None:
    with pytest.raises(LdapError, match="looks like"):
        async with open_ldap(Server(url)):
            pass


async def test_what_is_slipped_in_before_tls_is_no_answer(tmp_path: Path) -> None:
    write_certificates(tmp_path / "pki")
    theirs = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    theirs.load_cert_chain(tmp_path / "pki" / "tls.crt", tmp_path / "pki" / "tls.key")

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        good = b"".join(message(number, result(0x61, 0)) for number in range(1, 50))
        writer.write(message(1, result(0x78, 0)) + good)
        await writer.drain()
        await writer.start_tls(theirs)
        asked = await reader.read(200)
        number = next(value for tag, value in elements(next(elements(asked))[1]) if tag == INTEGER)
        writer.write(message(read_integer(number), result(0x61, 49)))
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server, open_ldap(Server(f"ldap://127.0.0.1:{port}")) as connection:
        await connection.start_tls(ssl.create_default_context(cafile=tmp_path / "pki" / "ca.crt"), "127.0.0.1")
        assert await connection.bind("cn=x", "y") is False


@given(st.binary(max_size=60))
def test_whatever_comes_is_a_message_or_an_error(data: bytes) -> None:
    for read in (
        read_message,
        lambda each: read_result(Received(1, 0x61, each, b""), 0x61),
        lambda each: read_entry(Received(1, 0x64, each, b"")),
        lambda each: read_cookie(Received(1, 0x65, b"", each)),
    ):
        with contextlib.suppress(LdapError):
            read(data)
