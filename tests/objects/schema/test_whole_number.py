"""Whole numbers are integers however they were written."""

from __future__ import annotations

import pytest

from homeostat.objects.errors import BadRequestError
from homeostat.objects.json import decode, encode
from homeostat.objects.schema.whole_number import make_whole, may_hold_floats


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (b'{"a":2.0}', b'{"a":2}'),
        (b'{"a":[1.0,{"b":-3.0}],"c":1e3}', b'{"a":[1,{"b":-3}],"c":1000}'),
        (b'{"a":2.5,"b":"2.0","c":true,"d":null}', b'{"a":2.5,"b":"2.0","c":true,"d":null}'),
        (b'{"a":-9223372036854775808.0}', b'{"a":-9223372036854775808}'),
        (b'{"a":9223372036854775808.0}', b'{"a":9.223372036854776e18}'),
    ],
)
def test_what_is_whole_becomes_an_integer(given: bytes, expected: bytes) -> None:
    assert may_hold_floats(given)
    value = decode(given)
    make_whole(value)
    assert encode(value) == expected
    assert encode(decode(given, makes_whole=True)) == expected


@pytest.mark.parametrize("makes_whole", [True, False])
def test_a_number_beyond_floats_is_refused(makes_whole: bool) -> None:
    with pytest.raises(BadRequestError, match="Number out of range"):
        decode(b'{"a":1e999}', makes_whole=makes_whole)


@pytest.mark.parametrize("text", [b"a: 2.0", b"a: [1, 2e3]", b"- 2.", b"a: +2.0", b'{"a": -2.0}'])
def test_a_float_is_not_overlooked(text: bytes) -> None:
    assert may_hold_floats(text)


@pytest.mark.parametrize("text", [b'{"a":2,"b":["x.y",true]}', b'{"uid":"4e8fa5b","ip":"10.0.0.1","version":"v1.25"}'])
def test_what_only_looks_like_one_in_a_string_is_none(text: bytes) -> None:
    assert not may_hold_floats(text)
