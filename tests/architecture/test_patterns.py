"""Regular expressions mean the same on every Python that is supported.

Before 3.11.5, a possessive quantifier of a group (`(?:...)*+`) stays where its last, failed repetition stopped. An
atomic group around a greedy quantifier (`(?>(?:...)*)`) is the same, and right everywhere. Of a single character or
class, possessive quantifiers are right.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import homeostat

_PACKAGE = Path(homeostat.__file__).parent
_CLASS = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
_POSSESSIVE_GROUP = re.compile(r"(?<!\()\)(?:[*+?]|\{\d*,?\d*\})\+")


def faults(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes):
            text = node.value if isinstance(node.value, str) else node.value.decode("latin-1")
            if ")" in text and _POSSESSIVE_GROUP.search(_CLASS.sub("_", text)):
                yield f"line {node.lineno}: {text[:80]}"


@pytest.mark.parametrize("pattern", ["(?:ab)*+", "(a|b)?+c", "(?:[)]x){2,3}+", "(?P<n>.)++"])
def test_a_possessive_group_is_found(pattern: str) -> None:
    assert list(faults(f"p = {pattern!r}"))
    assert list(faults(f"p = {pattern.encode()!r}"))


@pytest.mark.parametrize("pattern", ["(?>(?:ab)*)c", "[a-z]*+", r"\)*+", "[()*+,;=]*", "(a)+b"])
def test_other_quantifiers_are_not(pattern: str) -> None:
    assert not list(faults(f"p = {pattern!r}"))


def test_no_group_is_repeated_possessively() -> None:
    found = {
        str(path.relative_to(_PACKAGE)): lines
        for path in sorted(_PACKAGE.rglob("*.py"))
        if _POSSESSIVE_GROUP.search(source := path.read_text()) and (lines := list(faults(source)))
    }
    assert found == {}
