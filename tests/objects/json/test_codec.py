"""What comes from outside is JSON of a bounded depth, or a bad request."""

from __future__ import annotations

import tracemalloc

import pytest

from homeostat.objects.errors import BadRequestError
from homeostat.objects.json import MAX_CONTAINERS, MAX_DEPTH, decode, encode, is_deeper, ordered_by_name, without_nulls

NOT_JSON = {
    "nothing": b"",
    "cut off": b'{"a":',
    "more than one": b"{} {}",
    "a trailing comma": b"[1,]",
    "no number": b"NaN",
    "a number without end": b"1" * 5000,
    "a number out of range": b"1e400",
    "half a surrogate": b'"\\ud800"',
    "invalid UTF-8": b'"\xff"',
    "a byte order mark": b"\xef\xbb\xbf{}",
    "a raw NUL": b'"\x00"',
    "nesting without end": b"[" * 100_000,
}


@pytest.mark.parametrize("data", NOT_JSON.values(), ids=NOT_JSON)
def test_what_is_not_json_is_a_bad_request(data: bytes) -> None:
    with pytest.raises(BadRequestError):
        decode(data)


@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"a":', b"}")], ids=["arrays", "objects"])
def test_a_document_is_nested_so_deep_and_no_deeper(opening: bytes, closing: bytes) -> None:
    def nested(levels: int) -> bytes:
        return opening * levels + b"[]" + closing * levels

    assert is_deeper(decode(nested(MAX_DEPTH - 1)), MAX_DEPTH - 1)
    with pytest.raises(BadRequestError, match="nested too deeply"):
        decode(nested(MAX_DEPTH))


def test_a_document_has_so_many_containers_and_no_more() -> None:
    assert len(decode(b"[" + b"[]," * (MAX_CONTAINERS - 2) + b"{}]")) == MAX_CONTAINERS - 1
    with pytest.raises(BadRequestError, match="too large"):
        decode(b"[" + b"[]," * (MAX_CONTAINERS - 1) + b"{}]")


def test_too_many_containers_are_refused_before_they_take_memory() -> None:
    data = b"[" + b"[]," * (2 * MAX_CONTAINERS) + b"{}]"
    tracemalloc.start()
    try:
        with pytest.raises(BadRequestError, match="too large"):
            decode(data)
        assert tracemalloc.get_traced_memory()[1] < 4 * len(data)
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "text", [b"[", b'\\"[', b"\\\\[", b'[\\"', b'","[[{'], ids=["bracket", "quote", "backslash", "end", "parts"]
)
def test_brackets_in_texts_are_no_containers(text: bytes) -> None:
    assert len(decode(b'["%b",[]]' % (text * (MAX_CONTAINERS + 1)))) > 1
    with pytest.raises(BadRequestError, match="too large"):
        decode(b'["%b",%b[]]' % (text * 2, b"[]," * MAX_CONTAINERS))


def test_many_brackets_are_not_deep() -> None:
    assert decode(b"[" + b"[]," * 1000 + b"{}]")[-1] == {}


def test_nulls_go_at_any_depth_but_not_from_lists() -> None:
    assert without_nulls({"a": None, "b": [{"c": None}, None], "d": {"e": None, "f": 0}}) == {
        "b": [{}, None],
        "d": {"f": 0},
    }


def test_names_are_ordered_at_any_depth_and_lists_are_not() -> None:
    assert encode(ordered_by_name({"b": 1, "a": [{"d": 1, "c": 2}, 0]})) == b'{"a":[{"c":2,"d":1},0],"b":1}'
