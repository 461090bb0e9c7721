"""What a byte stream means, and what it is refused for. The table is the catalogue of request smuggling."""

from __future__ import annotations

import tracemalloc
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeostat.edge.connection import parser
from homeostat.edge.connection.parser import Refusal, RequestParser
from homeostat.edge.limits import Limits
from homeostat.edge.request import Peer, Request
from tests.examples import examples

SMALL = Limits(header_bytes=500, headers=8, target_bytes=100, body_bytes=50)


def parsed(*data: bytes, limits: Limits = SMALL) -> list[Request | Refusal]:
    machine = RequestParser(limits, Peer("192.0.2.1"))
    for piece in data:
        machine.feed(piece)
    return list(machine.arrived)


def get(*lines: bytes, target: bytes = b"/", version: bytes = b"HTTP/1.1") -> bytes:
    return b"\r\n".join((b"GET " + target + b" " + version, *lines, b"", b""))


def post(*lines: bytes, body: bytes = b"") -> bytes:
    return b"\r\n".join((b"POST / HTTP/1.1", b"Host: a", *lines, b"", body))


CHUNKED = b"Transfer-Encoding: chunked"

REFUSED = {
    "bare LF as line end": (400, b"GET / HTTP/1.1\nHost: a\n\n"),
    "bare LF between headers": (400, b"GET / HTTP/1.1\r\nHost: a\nX: b\r\n\r\n"),
    "bare CR between headers": (400, b"GET / HTTP/1.1\r\nHost: a\rX: b\r\n\r\n"),
    "folded line": (400, get(b"Host: a", b"X: a", b" b")),
    "folded line by tab": (400, get(b"Host: a", b"X: a", b"\tb")),
    "space before the first header": (400, get(b" Host: a")),
    "NUL in a value": (400, get(b"Host: a", b"X: a\0b")),
    "control character in a value": (400, get(b"Host: a", b"X: a\x01b")),
    "DEL in a value": (400, get(b"Host: a", b"X: a\x7fb")),
    "space before the colon": (400, get(b"Host: a", b"X : b")),
    "empty header name": (400, get(b"Host: a", b": b")),
    "header without colon": (400, get(b"Host: a", b"Xb")),
    "header name beyond ASCII": (400, get(b"Host: a", b"\xffX: b")),
    "second Content-Length": (400, post(b"Content-Length: 1", b"Content-Length: 1", body=b"a")),
    "differing Content-Length": (400, post(b"Content-Length: 1", b"Content-Length: 2", body=b"ab")),
    "Content-Length as list": (400, post(b"Content-Length: 1, 1", body=b"a")),
    "Content-Length with plus": (400, post(b"Content-Length: +1", body=b"a")),
    "negative Content-Length": (400, post(b"Content-Length: -1", body=b"a")),
    "hexadecimal Content-Length": (400, post(b"Content-Length: 0x1", body=b"a")),
    "Content-Length with underscore": (400, post(b"Content-Length: 1_0", body=b"a")),
    "Content-Length with a gap": (400, post(b"Content-Length: 1 1", body=b"a")),
    "empty Content-Length": (400, post(b"Content-Length:", body=b"a")),
    "Content-Length beyond 64 bits": (400, post(b"Content-Length: 99999999999999999999999", body=b"a")),
    "Content-Length then Transfer-Encoding": (400, post(b"Content-Length: 1", CHUNKED, body=b"0\r\n\r\n")),
    "Transfer-Encoding then Content-Length": (400, post(CHUNKED, b"Content-Length: 1", body=b"0\r\n\r\n")),
    "Transfer-Encoding in HTTP/1.0": (400, b"POST / HTTP/1.0\r\n" + CHUNKED + b"\r\n\r\n0\r\n\r\n"),
    "Transfer-Encoding and Upgrade in HTTP/1.0": (
        400,
        b"POST / HTTP/1.0\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n" + CHUNKED + b"\r\n\r\n0\r\n\r\n",
    ),
    "chunked twice": (400, post(CHUNKED, CHUNKED, body=b"0\r\n\r\n")),
    "chunked not last": (400, post(b"Transfer-Encoding: chunked, gzip", body=b"0\r\n\r\n")),
    "empty Transfer-Encoding": (400, post(b"Transfer-Encoding:", body=b"0\r\n\r\n")),
    "vertical tab before chunked": (400, post(b"Transfer-Encoding: \x0bchunked", body=b"0\r\n\r\n")),
    "coding besides chunked": (501, post(b"Transfer-Encoding: gzip, chunked", body=b"0\r\n\r\n")),
    "unknown coding": (501, post(b"Transfer-Encoding: xchunked", body=b"0\r\n\r\n")),
    "identity coding": (501, post(b"Transfer-Encoding: identity", body=b"0\r\n\r\n")),
    "quoted chunked": (501, post(b'Transfer-Encoding: "chunked"', body=b"0\r\n\r\n")),
    "bare LF in chunks": (400, post(CHUNKED, body=b"1\na\n0\n\n")),
    "space after chunk size": (400, post(CHUNKED, body=b"1 \r\na\r\n0\r\n\r\n")),
    "negative chunk size": (400, post(CHUNKED, body=b"-1\r\na\r\n0\r\n\r\n")),
    "chunk size with 0x": (400, post(CHUNKED, body=b"0x1\r\na\r\n0\r\n\r\n")),
    "chunk size beyond 64 bits": (400, post(CHUNKED, body=b"fffffffffffffffffff\r\na\r\n0\r\n\r\n")),
    "chunk longer than said": (400, post(CHUNKED, body=b"1\r\nabc\r\n0\r\n\r\n")),
    "bare LF in a chunk extension": (400, post(CHUNKED, body=b"1;a\nb\r\na\r\n0\r\n\r\n")),
    "bare LF in a trailer": (400, post(CHUNKED, body=b"0\r\nX: a\nY: b\r\n\r\n")),
    "no Host": (400, get(b"X: a")),
    "two Hosts": (400, get(b"Host: a", b"Host: a")),
    "Host with a space": (400, get(b"Host: a b")),
    "Host with a path": (400, get(b"Host: a/b")),
    "Host with user": (400, get(b"Host: u@a")),
    "fragment in the target": (400, get(b"Host: a", target=b"/a#b")),
    "space in the target": (400, get(b"Host: a", target=b"/a b")),
    "target beyond ASCII": (400, get(b"Host: a", target=b"/\xff")),
    "NUL in the target": (400, get(b"Host: a", target=b"/\0")),
    "relative target": (400, get(b"Host: a", target=b"a")),
    "asterisk for GET": (400, get(b"Host: a", target=b"*")),
    "other scheme": (400, get(b"Host: a", target=b"ftp://b/")),
    "absolute target without host": (400, get(b"Host: a", target=b"http:///x")),
    "absolute target with user": (400, get(b"Host: a", target=b"http://u@b/x")),
    "CONNECT": (501, b"CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n"),
    "unknown method": (501, b"BREW / HTTP/1.1\r\nHost: a\r\n\r\n"),
    "lower-case method": (501, b"get / HTTP/1.1\r\nHost: a\r\n\r\n"),
    "TLS on a plain port": (501, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"),
    "method of another protocol": (400, b"DESCRIBE / HTTP/1.1\r\nHost: a\r\n\r\n"),
    "HTTP/0.9": (505, b"GET /\r\n\r\n"),
    "HTTP/2 in a request line": (505, get(b"Host: a", version=b"HTTP/2.0")),
    "HTTP/1.2": (400, get(b"Host: a", version=b"HTTP/1.2")),
    "HTTP/2 preface": (400, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    "space after the version": (400, get(b"Host: a", version=b"HTTP/1.1 ")),
    "unknown expectation": (417, post(b"Expect: a-miracle", b"Content-Length: 1", body=b"a")),
    "body larger than allowed": (413, post(b"Content-Length: 51", body=b"")),
    "chunked body larger than allowed": (413, post(CHUNKED, body=b"33\r\n" + b"a" * 51)),
    "long target": (414, get(b"Host: a", target=b"/" + b"a" * 100)),
    "many headers": (431, get(b"Host: a", *(b"X%d: a" % i for i in range(8)))),
    "many lines of one header": (431, get(b"Host: a", *[b"X: a"] * 8)),
    "large headers": (431, get(b"Host: a", *(b"X%d: " % i + b"a" * 120 for i in range(5)))),
    "headers without end": (431, b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"a" * 600),
    "blank lines without end": (431, b"\r\n" * 300),
    "chunk extension without end": (431, post(CHUNKED, body=b"1;" + b"a" * 900)),
    "trailer without end": (431, post(CHUNKED, body=b"0\r\nX: " + b"a" * 900)),
}


@pytest.mark.parametrize(("status", "data"), REFUSED.values(), ids=REFUSED.keys())
def test_it_is_refused_and_nothing_after_it_is_read(status: int, data: bytes) -> None:
    arrived = parsed(data, get(b"Host: a"))
    assert [item.status if isinstance(item, Refusal) else item for item in arrived] == [status]


@pytest.mark.parametrize(("status", "data"), REFUSED.values(), ids=REFUSED.keys())
def test_it_is_refused_alike_byte_by_byte(status: int, data: bytes) -> None:
    arrived = parsed(*(data[i : i + 1] for i in range(len(data))))
    assert [item.status if isinstance(item, Refusal) else item for item in arrived] == [status]


class Meaning(NamedTuple):
    method: str
    path: str
    query: str
    body: bytes
    host: str | None
    is_last: bool


def meaning(item: Request | Refusal) -> Meaning:
    assert isinstance(item, Request), item
    return Meaning(item.method, item.path, item.query, item.body, item.headers.get("host"), item.is_last)


UPGRADE = (b"Connection: Upgrade, HTTP2-Settings", b"Upgrade: h2c", b"HTTP2-Settings: AAA")

ACCEPTED = {
    "plain GET": (get(b"Host: a"), [Meaning("GET", "/", "", b"", "a", False)]),
    "query": (get(b"Host: a", target=b"/a%2Fb?c=d?e"), [Meaning("GET", "/a%2Fb", "c=d?e", b"", "a", False)]),
    "double slash": (get(b"Host: a", target=b"//a//b"), [Meaning("GET", "//a//b", "", b"", "a", False)]),
    "empty Host": (get(b"Host:"), [Meaning("GET", "/", "", b"", "", False)]),
    "IPv6 Host": (get(b"Host: [::1]:443"), [Meaning("GET", "/", "", b"", "[::1]:443", False)]),
    "absolute target": (
        get(b"Host: a", target=b"http://b:80/x?y"),
        [Meaning("GET", "/x", "y", b"", "b:80", False)],
    ),
    "absolute target without path": (get(b"Host: a", target=b"http://b"), [Meaning("GET", "/", "", b"", "b", False)]),
    "absolute target with only a query": (
        get(b"Host: a", target=b"http://b?c"),
        [Meaning("GET", "/", "c", b"", "b", False)],
    ),
    "asterisk for OPTIONS": (
        b"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
        [Meaning("OPTIONS", "*", "", b"", "a", False)],
    ),
    "HTTP/1.0 without Host": (b"GET / HTTP/1.0\r\n\r\n", [Meaning("GET", "/", "", b"", None, True)]),
    "HTTP/1.0 keep-alive": (
        b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
        [Meaning("GET", "/", "", b"", None, False)],
    ),
    "Connection: close ends it": (
        get(b"Host: a", b"Connection: close") + get(b"Host: a"),
        [Meaning("GET", "/", "", b"", "a", True)],
    ),
    "close among other options": (
        get(b"Host: a", b"Connection: keep-alive, close"),
        [Meaning("GET", "/", "", b"", "a", True)],
    ),
    "body": (post(b"Content-Length: 3", body=b"abc"), [Meaning("POST", "/", "", b"abc", "a", False)]),
    "blanks around Content-Length": (
        post(b"Content-Length:  3 ", body=b"abc"),
        [Meaning("POST", "/", "", b"abc", "a", False)],
    ),
    "chunked body": (
        post(b"transfer-encoding: CHUNKED", body=b"2;x=y\r\nab\r\n1\r\nc\r\n0\r\nHost: evil\r\n\r\n"),
        [Meaning("POST", "/", "", b"abc", "a", False)],
    ),
    "body in chunks of one byte": (
        post(CHUNKED, body=b"1\r\na\r\n" * 50 + b"0\r\n\r\n"),
        [Meaning("POST", "/", "", b"a" * 50, "a", False)],
    ),
    "GET with a body": (
        get(b"Host: a", b"Content-Length: 2") + b"ab",
        [Meaning("GET", "/", "", b"ab", "a", False)],
    ),
    "blank lines before": (b"\r\n\r\n" + get(b"Host: a"), [Meaning("GET", "/", "", b"", "a", False)]),
    "upgrade ignored": (
        get(b"Host: a", *UPGRADE) + get(b"Host: b"),
        [Meaning("GET", "/", "", b"", "a", False), Meaning("GET", "/", "", b"", "b", False)],
    ),
    "upgrade with a body ignored": (
        post(*UPGRADE, b"Content-Length: 3", body=b"abc") + get(b"Host: b"),
        [Meaning("POST", "/", "", b"abc", "a", False), Meaning("GET", "/", "", b"", "b", False)],
    ),
    "pipelined": (
        get(b"Host: a", target=b"/1") + post(b"Content-Length: 1", body=b"x") + get(b"Host: b", target=b"/2"),
        [
            Meaning("GET", "/1", "", b"", "a", False),
            Meaning("POST", "/", "", b"x", "a", False),
            Meaning("GET", "/2", "", b"", "b", False),
        ],
    ),
}


@pytest.mark.parametrize(("data", "meanings"), ACCEPTED.values(), ids=ACCEPTED.keys())
def test_it_means_the_same_however_it_is_split(data: bytes, meanings: list[Meaning]) -> None:
    assert [meaning(item) for item in parsed(data)] == meanings
    assert [meaning(item) for item in parsed(*(data[i : i + 1] for i in range(len(data))))] == meanings
    for at in range(len(data)):
        assert [meaning(item) for item in parsed(data[:at], data[at:])] == meanings


def test_a_packet_full_of_upgrades_is_read_to_its_end() -> None:
    assert len(parsed(get(b"Host: a", *UPGRADE) * 2000)) == 2000


def test_header_names_are_lower_case_and_repeated_lines_are_kept_apart() -> None:
    (request,) = parsed(get(b"HOST: a", b"Impersonate-Group: b, c", b"X: \t y \t", b"impersonate-group: d"))
    assert isinstance(request, Request)
    assert request.headers.get("impersonate-group") == "b, c, d"
    assert request.headers.get_all("impersonate-group") == ["b, c", "d"]
    assert request.headers.get_all("x") == ["y"]
    assert request.headers.get_all("z") == []
    assert request.headers.get("z", "default") == "default"


def test_header_values_keep_their_bytes() -> None:
    (request,) = parsed(get(b"Host: a", b"X: \xc3\xbc"))
    assert isinstance(request, Request)
    assert request.headers["x"].encode("latin-1") == b"\xc3\xbc"


def test_trailers_are_not_headers() -> None:
    (request,) = parsed(post(CHUNKED, body=b"0\r\nAuthorization: Bearer x\r\n\r\n"))
    assert isinstance(request, Request)
    assert "authorization" not in request.headers


def test_requests_of_a_connection_share_their_scratch_space() -> None:
    first, second = parsed(get(b"Host: a") * 2)
    assert isinstance(first, Request)
    assert isinstance(second, Request)
    first.connection["user"] = "jane"
    assert second.connection == {"user": "jane"}


def test_a_peer_that_holds_its_body_back_is_known() -> None:
    parser = RequestParser(SMALL, Peer(""))
    parser.feed(post(b"Expect: 100-continue", b"Content-Length: 2"))
    assert parser.awaits_continue
    parser.feed(b"a")
    assert not parser.awaits_continue


PIECES = st.one_of(
    st.sampled_from([data for _, data in REFUSED.values()] + [data for data, _ in ACCEPTED.values()]),
    st.binary(max_size=60),
    st.sampled_from(
        [b"\r\n", b"\n", b"\r", b"\0", b" ", b":", b"Host: a\r\n", CHUNKED + b"\r\n", b"0\r\n\r\n", b"GET "]
    ),
)


@examples(300)
@given(st.lists(PIECES, max_size=8), st.data())
def test_splitting_never_changes_what_is_understood(pieces: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(pieces)
    cuts = sorted(data.draw(st.sets(st.integers(0, len(stream)), max_size=6)))
    split = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    whole, parts = parsed(stream, limits=Limits()), parsed(*split, limits=Limits())
    assert [type(item) for item in whole] == [type(item) for item in parts]
    for one, other in zip(whole, parts, strict=True):
        if isinstance(one, Request):
            assert meaning(one) == meaning(other)
            assert isinstance(other, Request)
            assert one.headers == other.headers


def test_a_body_in_tiny_chunks_takes_little_more_memory_than_its_size() -> None:
    parser = RequestParser(Limits(), Peer("192.0.2.1"))
    data = b"2\r\nab\r\n" * 1_000
    parser.feed(post(CHUNKED))
    tracemalloc.start()
    try:
        for _ in range(100):
            parser.feed(data)
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert taken < 2 * 200_000
    parser.feed(b"0\r\n\r\n")
    request = parser.arrived.popleft()
    assert isinstance(request, Request)
    assert request.body == b"ab" * 100_000


def test_a_header_that_is_repeated_too_often_ends_the_request_at_once() -> None:
    limits = Limits(headers=200)
    parser = RequestParser(limits, Peer("127.0.0.1"))
    parser.feed(b"GET / HTTP/1.1\r\nHost: a\r\n" + b"X: " + b"y" * 20 + b"\r\n")
    parser.feed(b"X:\r\n" * 202)
    (refusal,) = parser.arrived
    assert refusal == Refusal(431, "request has more than 200 headers")


def test_names_of_headers_are_kept_in_small_numbers_and_short_ones_alone() -> None:
    limits = Limits(headers=200)
    for round_ in range(30):
        lines = [b"X-%d-%d: a" % (round_, at) for at in range(100)]
        (request,) = parsed(get(b"Host: a", *lines, b"X" * 3000 + b": a"), limits=limits)
        assert isinstance(request, Request)
        assert request.headers["x" * 3000] == "a"
    assert len(parser._names) <= parser._KEPT_NAMES
    assert max(map(len, parser._names)) < 100
    assert b"X-29-99" in parser._names, "those of the last requests"
