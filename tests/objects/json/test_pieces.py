"""A document that is decoded in pieces has the same value, and no step holds the interpreter lock for long."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest

from homeostat.objects.errors import BadRequestError
from homeostat.objects.json import decode, decode_stored, encode, pieces
from homeostat.objects.json.pieces import decode_pieces
from tests.holds import longest_hold_s

TEXTS = ("", "a", 'q"', "\\", '{"', "},[", "a:b", ":" * 20, "é\n", "\\\\", '\\"')


def some_value(chance: random.Random, depth: int) -> Any:
    sort = chance.randrange(8 if depth else 4)
    if sort < 4:
        return chance.choice((None, True, -1.5, 17, chance.choice(TEXTS)))
    count = chance.choice((0, 1, 2, 5, 30))
    if sort < 6:
        return [some_value(chance, depth - 1) for _ in range(count)]
    return {f"{chance.choice(TEXTS)}{at}": some_value(chance, depth - 1) for at in range(count)}


@pytest.mark.parametrize("layout", [lambda text: text, msgspec.json.format], ids=["compact", "indented"])
def test_pieces_add_up_to_the_document(monkeypatch: pytest.MonkeyPatch, layout: Any) -> None:
    monkeypatch.setattr(pieces, "_PIECE_KEYS", 3)
    monkeypatch.setattr(pieces, "PIECE_BYTES", 40)
    monkeypatch.setattr(pieces, "_KEPT_BYTES", 20)
    chance = random.Random(7)
    for _ in range(80):
        data = layout(encode(some_value(chance, 5)))
        assert decode_pieces(data) == msgspec.json.decode(data)


def test_the_last_of_repeated_keys_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "_PIECE_KEYS", 3)
    monkeypatch.setattr(pieces, "PIECE_BYTES", 8)
    data = b'{"a":1,"b":{"c":[1,2,3,4],"d":0},"a":2,"b":[{"x":1},{"x":2}],"e":3,"a":4}'
    assert list(decode_pieces(data).items()) == list(msgspec.json.decode(data).items())


def test_ends_of_nested_values_are_searched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "_PIECE_KEYS", 100)
    monkeypatch.setattr(pieces, "PIECE_BYTES", 4_000)
    read, search = 0, pieces._BRACKET.match

    class Counting:
        def match(self, data: bytes, at: int) -> Any:
            nonlocal read
            found = search(data, at)
            assert found is not None
            read += found.end() - at
            return found

    monkeypatch.setattr(pieces, "_BRACKET", Counting())
    value: Any = {f"key-{at}": {} for at in range(2_000)}
    for _ in range(10):
        value = [{"inside": value}]
    data = encode(value)
    assert decode_pieces(data) == value
    assert read < 2 * len(data)


KEYS = b",".join(b'"k%d":1' % at for at in range(230_000))


@pytest.mark.slow
@pytest.mark.parametrize(
    "data",
    [
        b"{%b}" % KEYS,
        b'{"metadata":{"managedFields":[{"fieldsV1":{%b}}]}}' % KEYS,
        b'{"a":[%b]}' % (b'"a",' * 1_000_000 + b"1"),
    ],
    ids=["flat", "nested", "items"],
)
def test_no_step_of_a_dense_document_holds_the_interpreter_lock_for_long(data: bytes) -> None:
    whole_s = longest_hold_s(lambda: msgspec.json.decode(data), bound_s=0.0, attempts=2)
    assert longest_hold_s(lambda: decode_stored(data, in_pieces=True), bound_s=whole_s / 2) <= whole_s / 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"{%b,}" % KEYS, "trailing comma"),
        (b"{%b" % KEYS, "truncated"),
        (b'{%b,"a":1e999}' % KEYS, "out of range"),
        (b'{%b,"a":"\xff"}' % KEYS, "utf-8"),
        (b'{"a":' * 20 + b"{%b}" % KEYS + b"}" * 20, "more than 50000 keys are nested more than 16 levels deep"),
    ],
    ids=["comma", "end", "number", "text", "deep"],
)
def test_a_dense_document_that_is_not_json_is_refused(data: bytes, said: str) -> None:
    with pytest.raises(BadRequestError, match="not valid JSON") as refused:
        decode(data, in_pieces=True)
    assert said in refused.value.message


@pytest.mark.slow
def test_many_small_members_with_others_in_them_are_cut_too(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    real = pieces._decode

    def noted(data: bytes) -> Any:
        sizes.append(len(data))
        return real(data)

    monkeypatch.setattr(pieces, "_decode", noted)
    data = b"[%b]" % b",".join([b'{"a":{"b":{"c":1}}}'] * 80_000)
    assert decode_pieces(data) == real(data)
    assert max(sizes) < 2 * pieces.PIECE_BYTES
