"""The quick way through YAML: the same as the full parser, or none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeostat.objects.errors import BadRequestError
from homeostat.objects.yaml import block, dump
from homeostat.objects.yaml.block import read_block
from homeostat.objects.yaml.reader import _documents

Json = Any
ROOT = Path(__file__).parents[3]


def agrees(data: bytes) -> bool:
    """Whether the quick way took it; then it must be right."""
    found = read_block(data)
    if found is None:
        return False
    assert found == list(_documents(data)), data
    return True


@pytest.mark.parametrize(
    "text",
    [
        "a: 1\n",
        "a:\n  b: c\n  d:\n",
        "a:\n- b: 1\n  c: 2\n- d\n",
        "a:\n  - b:\n    - c: 1\n    e: 2\nf: 3",
        "- a\n- b: {}\n  c: []\n",
        "# comment\n\na: b # why\n  # indented\nc:   # nothing\n",
        'a: \'single: # quoted\'\nb: "double: # quoted"\nc: ""\n',
        "image: nginx:1.25@sha256:00\nurl: https://a.b/c?d=e#f\nmode: 0755\nflag: yes\n",
        "a: 1\n---\n---\n# empty\n---   \nb: 2\n",
        "a: --flag\nb: -1\nc: .5\nd: ./x\ne: 1_000\nf: ~\n",
        "-   a: 1\n    b: 2\n-   c: 3\n",
        "",
        "# nothing\n",
    ],
)
def test_what_manifests_are_made_of_goes_the_quick_way(text: str) -> None:
    assert agrees(text.encode())


@pytest.mark.parametrize(
    "text",
    [
        "a: |\n  b\n",
        "a: >-\n  b\n",
        "a: b\n  c\n",
        "a: b\n  c: d\n",
        "a: b\n  - c\n",
        "a:\n  b\n",
        "plain\n",
        "- - a\n",
        "-\n  a: 1\n",
        "a: [1]\n",
        "a: {b: 1}\n",
        "a: &x 1\nb: *x\n",
        "a: !!str 1\n",
        "a: b: c\n",
        "a: b:\n",
        'a: "\\n"\n',
        "a: 'it''s'\n",
        'a: "two\n  lines"\n',
        '"a": 1\n',
        "yes: 1\n",
        "<<: {}\n",
        "a: 1\na: 2\n",
        "a: .inf\n",
        "a: 1\n...\n",
        "--- a\n",
        "%YAML 1.1\n---\na: 1\n",
        "a:\tb\n",
        "a: b\r\n",
        "a: é\n",
        "a: 1\n- b\n",
        "- a\nb: 1\n",
        " a: 1\nb: 2\n",
        "a:\n    b: 1\n  c: 2\n",
        "? a\n: b\n",
        "a: - b\n",
        "a: @b\n",
        "a: `b`\n",
        "a: %b\n",
        "a: 'b' c\n",
        "a: \x07\n",
        "x" * 1100 + ": 1\n",
    ],
)
def test_what_has_more_to_it_is_declined(text: str) -> None:
    assert read_block(text.encode()) is None


def test_nesting_as_deep_as_allowed_is_left_to_the_full_parser() -> None:
    deep = "\n".join(f"{' ' * at}a:" for at in range(300))
    assert read_block(deep.encode()) is None
    with pytest.raises(BadRequestError, match="levels deep"):
        list(_documents(deep.encode()))


def test_the_manifests_of_this_project_agree() -> None:
    files = [path for folder in ("examples", "deploy") for path in (ROOT / folder).rglob("*.yaml")]
    assert files
    for path in files:
        agrees(path.read_bytes())


words = st.text("ab-: #'\"1.{}[]~y", max_size=6)
keys = st.text("abcyn_./-", min_size=1, max_size=4)
values = st.recursive(
    words | st.integers() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
)


@given(st.dictionaries(keys, values, max_size=4))
def test_whatever_is_dumped_is_read_alike_or_declined(value: Json) -> None:
    agrees(dump(value))


_PARTS = (
    "a",
    "b:",
    "- ",
    "  ",
    " ",
    "\n",
    "\n",
    ": ",
    "1",
    "#",
    " #",
    "'",
    '"',
    "---",
    "c: d",
    "-",
    "|",
    "{}",
    ".",
    "y:",
)


@given(st.lists(st.sampled_from(_PARTS), max_size=14).map("".join))
def test_whatever_is_written_is_read_alike_or_declined(text: str) -> None:
    try:
        agrees(text.encode())
    except BadRequestError:
        pytest.fail(f"the full parser refuses what was taken: {text!r}")


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"\n" * 2_900_000 + b"a: b", id="empty lines"),
        pytest.param(b"#\n" * 1_400_000 + b"a: b", id="comments"),
        pytest.param(b"\n".join(b"a%d: &x b" % at for at in range(150_000)), id="anchors"),
        pytest.param(b"a: " + b"b " * 1_400_000 + b"c", id="one long line"),
        pytest.param(b"\n".join(b"a%d: b" % at for at in range(100_000)), id="a large map"),
    ],
)
def test_a_large_text_is_declined_before_its_lines_are_matched(data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    matched: list[str] = []
    monkeypatch.setattr(block, "_lines", matched.append)
    assert read_block(data) is None
    assert matched == []
