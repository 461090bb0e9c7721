"""Whole numbers are integers however they were written."""

from __future__ import annotations

import pytest

from homeostat.objects.json import decode, encode
from homeostat.objects.wholenumber import make_whole, may_hold_floats


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


def test_a_text_without_points_and_exponents_need_not_be_looked_through() -> None:
    assert not may_hold_floats(b'{"a":2,"b":["x.y",true],"metadata":{"name":"web"}}')
