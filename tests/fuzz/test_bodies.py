"""A body that cannot be read is a bad request (or not a media type), whichever verb it comes with."""

from __future__ import annotations

import pytest

from tests.api.conftest import APPLY, JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH
from tests.api.objects import CONFIGMAPS, DEPLOYMENTS
from tests.fuzz.driver import Answer, Driver, assert_answered_well
from tests.fuzz.kinds import ACCESS_REVIEWS, FREES

JSON = "application/json"
YAML = "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
TOKENS = "/api/v1/namespaces/default/serviceaccounts/default/token"

READERS = [
    ("POST", CONFIGMAPS),
    ("PUT", f"{CONFIGMAPS}/base"),
    ("DELETE", f"{CONFIGMAPS}/base"),
    ("DELETE", CONFIGMAPS),
    ("POST", FREES),
    ("PUT", f"{FREES}/base"),
    ("PUT", f"{DEPLOYMENTS}/base/status"),
    ("PUT", f"{DEPLOYMENTS}/base/scale"),
    ("PUT", "/api/v1/namespaces/default/finalize"),
    ("POST", ACCESS_REVIEWS),
]
NOT_JSON = {
    "a space": b" ",
    "cut off": b'{"metadata":',
    "two values": b"{}{}",
    "a word": b"nul",
    "single quotes": b"{'a': 1}",
    "invalid UTF-8": b'{"a":"\xff"}',
    "an overlong NUL": b'{"a":"\xc0\x80"}',
    "a raw NUL": b'{"a":"\0"}',
    "NULs only": b"\0" * 100,
    "half a surrogate": b'{"a":"\\ud800"}',
    "a number out of range": b'{"a":1e999}',
    "a number without end": b'{"a":' + b"9" * 5000 + b"}",
    "UTF-16": '{"a":1}'.encode("utf-16"),
    "brackets": b"[" * 100_000,
    "YAML": b"a: b",
}
NOT_YAML = {
    "a NUL": b"\0",
    "invalid UTF-8": b"a: \xff",
    "a surrogate": b"a: \xed\xa0\x80",
    "half a surrogate": b'a: "\\ud800"',
    "a tab": b"\ta: b",
    "a cycle": b"a: &a [*a]",
    "an unknown anchor": b"a: *b",
    "a Python object": b"!!python/object/apply:os.system [ls]",
    "a binary": b"a: !!binary eA==",
    "infinity": b"a: .inf",
    "a complex key": b"? [a]\n: b",
    "the same key twice": b"a: 1\na: 2",
    "a list merged into a map": b"<<: [1]",
    "two documents": b"a: 1\n---\nb: 1",
    "another version": b"%YAML 9.9\n---\na: 1",
    "brackets": b"{a: " * 10_000,
    "dashes": b"- " * 10_000,
}
BOMBS = {
    "lists": b"\n".join(
        [b"a0: &a0 [x, x, x]", *(b"a%d: &a%d [*a%d, *a%d, *a%d]" % (n, n, n - 1, n - 1, n - 1) for n in range(1, 60))]
    ),
    "maps": b"\n".join(
        [b"a0: &a0 {x: 1}", *(b"a%d: &a%d {a: *a%d, b: *a%d}" % (n, n, n - 1, n - 1) for n in range(1, 60))]
    ),
    "merges": b"\n".join(
        [b"a0: &a0 {x: 1}", *(b"a%d: &a%d {<<: *a%d, y%d: *a%d}" % (n, n, n - 1, n, n - 1) for n in range(1, 60))]
    ),
    "a long text": b"a: &a " + b"x" * 100_000 + b"\nb: [" + b"*a," * 200_000 + b"]",
}  # fmt: skip


def refused(answer: Answer, *codes: int) -> None:
    assert_answered_well(answer)
    assert answer.status in codes, answer


@pytest.mark.parametrize("body", NOT_JSON.values(), ids=NOT_JSON)
def test_what_is_not_json_is_a_bad_request(driver: Driver, body: bytes) -> None:
    for method, path in READERS:
        refused(driver.send(method, path, body), 400)
        refused(driver.send(method, path, body, type=JSON), 400)


@pytest.mark.parametrize("body", NOT_JSON.values(), ids=NOT_JSON)
@pytest.mark.parametrize("media", [JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH])
def test_what_is_not_json_is_no_patch(driver: Driver, media: str, body: bytes) -> None:
    refused(driver.send("PATCH", f"{CONFIGMAPS}/base", body, type=media), 400)
    refused(driver.send("PATCH", f"{FREES}/base", body, type=media), 400, 415)


@pytest.mark.parametrize("body", BOMBS.values(), ids=BOMBS)
def test_aliases_do_not_multiply_what_is_sent(driver: Driver, body: bytes) -> None:
    refused(driver.send("POST", FREES, body, type=YAML), 400)
    refused(driver.send("PATCH", f"{FREES}/new", body, type=APPLY, query="fieldManager=fuzz"), 400)


@pytest.mark.parametrize("body", NOT_YAML.values(), ids=NOT_YAML)
def test_what_is_not_yaml_is_a_bad_request(driver: Driver, body: bytes) -> None:
    for method, path in READERS:
        refused(driver.send(method, path, body, type=YAML), 400)
    for path in (f"{CONFIGMAPS}/base", f"{FREES}/base", f"{FREES}/new"):
        refused(driver.send("PATCH", path, body, type=APPLY, query="fieldManager=fuzz"), 400)


def test_no_body_is_a_bad_request(driver: Driver) -> None:
    for method, path in READERS:
        if method != "DELETE":
            refused(driver.send(method, path), 400)
    for media in (JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY):
        refused(
            driver.send("PATCH", f"{CONFIGMAPS}/base", type=media, query="fieldManager=fuzz" if media == APPLY else ""),
            400,
        )


def _field(number: int, content: bytes) -> bytes:
    size, length = len(content), b""
    while size > 127:
        length += bytes([size & 127 | 128])
        size >>= 7
    return bytes([number << 3 | 2]) + length + bytes([size]) + content


def _envelope(raw: bytes, kind: bytes = b"ConfigMap", version: bytes = b"v1") -> bytes:
    return b"k8s\0" + _field(1, _field(1, version) + _field(2, kind)) + _field(2, raw)


_META = _field(1, b"fuzz")
NOT_PROTOBUF = {
    "no magic": b"\x0a\x02v1",
    "the magic only": b"k8s\0",
    "half an envelope": b"k8s\0\x0a\x10\x0a\x02v1",
    "a length beyond the end": _envelope(b"\x0a\x7f"),
    "a varint without end": b"k8s\0" + b"\xff" * 20,
    "a varint in place of a message": _envelope(b"\x08\x05"),
    "a message in place of a bool": _envelope(_field(1, _META) + _field(4, b"x")),
    "a fixed32 in place of a message": _envelope(b"\x0d\0\0\0\0"),
    "a group": _envelope(b"\x0b\x0c"),
    "field zero": _envelope(b"\x02\x00"),
    "invalid UTF-8": _envelope(_field(1, _field(1, b"\xff\xfe"))),
    "cut off in a map": _envelope(_field(1, _META) + _field(2, b"\x0a\x05ab")),
    "random bytes": b"k8s\0" + bytes(range(256)),
    "JSON": b'{"kind":"ConfigMap"}',
    "itself in itself": _envelope(_envelope(_envelope(b""))),
}


@pytest.mark.parametrize("body", NOT_PROTOBUF.values(), ids=NOT_PROTOBUF)
def test_what_is_not_protobuf_is_refused_by_every_verb(driver: Driver, body: bytes) -> None:
    for method, path in [*READERS, ("PATCH", f"{CONFIGMAPS}/base"), ("POST", TOKENS)]:
        refused(driver.send(method, path, body, type=PROTOBUF), 400, 404, 415)


def test_a_kind_that_is_not_built_in_has_no_protobuf(driver: Driver) -> None:
    body = _envelope(b"", kind=b"Free", version=b"example.com/v1")
    refused(driver.send("POST", FREES, body, type=PROTOBUF), 415)


def test_another_kind_in_protobuf_is_a_bad_request(driver: Driver) -> None:
    body = _envelope(_field(1, _META), kind=b"Secret")
    refused(driver.send("POST", CONFIGMAPS, body, type=PROTOBUF), 400)


def test_many_unknown_fields_of_protobuf_do_not_take_long(driver: Driver) -> None:
    body = _envelope(_field(1, _META) + b"\xf8\x07\x01" * 900_000)
    answer = driver.send("POST", CONFIGMAPS, body, type=PROTOBUF, query="dryRun=All")
    assert_answered_well(answer)
    assert answer.took_s < 10  # a second or two; quadratic work would take hours


@pytest.mark.parametrize("media", ["text/plain", "application/cbor", "\xff", "x" * 5000, ";", "application/json, a/b"])
def test_an_unknown_media_type_is_named_so(driver: Driver, media: str) -> None:
    for method, path in [*READERS, ("PATCH", f"{CONFIGMAPS}/base"), ("PATCH", f"{FREES}/base/status")]:
        if media != ";" or method == "PATCH":
            refused(driver.send(method, path, b"{}", type=media), 415)
