"""Which files of a directory belong to its bundle."""

from __future__ import annotations

import pytest

from homeostat.operators.contracts.engine.bundle.ignore import matches_step, read_ignore
from tests.operators.contracts.visible import visible


@pytest.mark.parametrize(
    ("rules", "hidden", "shown"),
    [
        ("*.bak", ["a.bak", "d/e/a.bak"], ["a.bakk", "bak"]),
        ("/a.txt", ["a.txt"], ["d/a.txt"]),
        ("d/a.txt", ["d/a.txt"], ["e/d/a.txt"]),
        ("tmp/", ["tmp/a", "d/tmp/b/c"], ["tmp", "d/tmp"]),
        ("tmp", ["tmp", "tmp/a", "d/tmp/x"], ["tmpx"]),
        ("d/**/z", ["d/z", "d/a/b/z"], ["z", "e/d/z"]),
        ("**/z", ["z", "a/z"], []),
        ("d/**", ["d/a", "d/b/c"], ["e/d/a", "d"]),
        ("d/**\n!d/keep", ["d/a", "d/b/keep"], ["d/keep"]),
        ("**", ["a", "d/a"], ["pacto.yaml"]),
        ("a?c", ["abc"], ["ac", "a/c"]),
        ("[a-c]x", ["ax", "cx"], ["dx", "-x"]),
        ("[!a-c]x", ["dx"], ["ax"]),
        ("[^a]x", ["dx"], ["ax"]),
        ("\\#x", ["#x"], ["x"]),
        ("# x\n\n  y  ", ["y"], ["x", "# x"]),
        ("*.j\n!k.j", ["a.j"], ["k.j", "d/k.j"]),
        ("!a\na", ["a"], []),
        ("d\n!d/keep", ["d/keep"], []),
        ("pacto.yaml\n*", ["d/pacto.yaml"], ["pacto.yaml"]),
        ("", [".git/config", ".pactoignore", ".DS_Store", "d/.DS_Store"], ["pacto.lock", ".gitignore"]),
    ],
)
def test_rules_hide(rules: str, hidden: list[str], shown: list[str]) -> None:
    ignore = read_ignore(rules.encode())
    assert [path for path in hidden + shown if ignore.hides(path)] == hidden


def test_a_pattern_of_many_stars_is_matched_at_once() -> None:
    assert not matches_step("*a" * 50, "a" * 49 + "b" * 5000)


def test_the_file_of_a_directory_counts() -> None:
    files = {".pactoignore": b"docs/\n", "pacto.yaml": b"", "docs/a.md": b"", "x": b""}
    assert sorted(visible(files)) == ["pacto.yaml", "x"]
