"""gzip that is the same everywhere: any reader unpacks it, and its bytes are known."""

from __future__ import annotations

import gzip
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeostat.external.oci.bundle import pack_bundle
from homeostat.external.oci.deflate import MAX_SEARCHED, gzip_bytes


@given(st.binary(max_size=2000))
def test_any_data_comes_back(data: bytes) -> None:
    assert gzip.decompress(gzip_bytes(data)) == data


@given(st.lists(st.sampled_from([b"\0" * 300, b"name: ", b"abcabc", b"\xff", b"paths:\n"]), max_size=60))
def test_data_that_repeats_comes_back_and_is_smaller(parts: list[bytes]) -> None:
    data = b"".join(parts)
    packed = gzip_bytes(data)
    assert gzip.decompress(packed) == data
    assert len(packed) < len(data) + 30


@pytest.mark.parametrize("distance", [1, 2, 4, 5, 8, 9, 256, 257, 4096, 4097, 24_577, 32_768, 32_769])
@pytest.mark.parametrize("length", [4, 5, 10, 11, 18, 19, 257, 258, 259, 600])
def test_a_repetition_comes_back_from_any_distance(distance: int, length: int) -> None:
    start = b"".join(place.to_bytes(3, "big") for place in range(distance // 3 + 1))[:distance]
    data = (start * (length // distance + 2))[: distance + length]
    assert gzip.decompress(gzip_bytes(data)) == data


def test_large_data_is_stored() -> None:
    data = b"x" * (MAX_SEARCHED + 1)
    packed = gzip_bytes(data)
    assert gzip.decompress(packed) == data
    assert len(packed) > len(data)


def test_the_bytes_of_a_layer_are_these_on_every_machine() -> None:
    layer = pack_bundle({"pacto.yaml": b"service: {name: a}\n", "docs/guide.md": b"# guide\n" * 50})
    assert sha256(layer).hexdigest() == "58abc7f14bbbbb67063661582b9bec6ef92ddcf0a4394344940d0336c39e1a63"
