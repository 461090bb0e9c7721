"""libyaml gives up the interpreter lock while it reads a long text."""

from __future__ import annotations

from contextlib import suppress

import pytest

from homeostat.objects import yaml
from homeostat.objects.errors import BadRequestError
from tests.holds import longest_hold_s

_BOUND_S = 0.012
"""Each of these took 17 to 32 ms in one step, on a machine where a step takes 1 to 6 now."""

TEXTS = {
    "a text without an end": b'a: "' + b"x " * 1_400_000,
    "a literal": b"a: |\n" + b"  x\n" * 700_000,
    "empty lines": b"\n" * 2_900_000 + b"a: b",
    "a folded text": b"a: " + b"x " * 1_400_000,
    "colons": b":" * 2_900_000,
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_long_text_is_parsed_in_steps(text: bytes) -> None:
    def load() -> None:
        with suppress(BadRequestError):
            yaml.load(text)

    assert longest_hold_s(load, bound_s=_BOUND_S) <= _BOUND_S


def test_a_long_text_is_read_with_pauses() -> None:
    pauses = list[None]()
    text = b"a: &b [%b]" % (b"x," * 16_000)
    assert yaml.load(text, pause=lambda: pauses.append(None)) == {"a": ["x"] * 16_000}
    assert len(pauses) >= len(text) / 4096
