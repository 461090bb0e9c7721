"""The map shows every package, and every path and name in these documents exists."""

from __future__ import annotations

import re
import tomllib

import pytest

from tests.docs.documents import ROOT, text_of
from tools.index_finding import HEADING, documented_words, unnamed_modules

_TEXT = text_of("docs/architecture.md")
_FINDING = text_of("docs/finding.md")
_PACKAGE = ROOT / "homeostat"
_named = re.compile(r"`((?:\w+/)+(?:\w+\.\w+)?)`")
# `path/file.py`: `Name`, `function`   or   (path/file.py:Name)
_names_in_files = re.compile(r"`((?:\w+/)+\w+\.py)`: ((?:`[\w.]+`(?:, | and )?)+)|\(((?:\w+/)+\w+\.py):([\w.]+)\)")


def test_every_package_is_on_the_map() -> None:
    packages = {f"{path.parent.relative_to(_PACKAGE)}/" for path in _PACKAGE.rglob("__init__.py")} - {"./"}
    near = {each for each in packages if each.count("/") <= 2}
    assert sorted(near - set(_named.findall(_TEXT))) == []
    assert sorted(packages - set(_named.findall(_TEXT + _FINDING))) == []


@pytest.mark.parametrize("document", ["docs/architecture.md", "docs/finding.md", "CONTRIBUTING.md"])
def test_every_path_named_exists(document: str) -> None:
    paths = set(_named.findall(text_of(document)))
    assert paths
    assert sorted(each for each in paths if not ((_PACKAGE / each).exists() or (ROOT / each).exists())) == []


def test_every_name_given_for_a_file_stands_in_it() -> None:
    given = {
        (match[1] or match[3], part)
        for match in _names_in_files.finditer(_FINDING)
        for name in (re.findall(r"`([\w.]+)`", match[2]) if match[2] else [match[4]])
        for part in name.split(".")
    }
    assert len(given) > 1000
    assert sorted(pair for pair in given if not _stands_in(*pair)) == []


def _stands_in(path: str, name: str) -> bool:
    file = _PACKAGE / path if (_PACKAGE / path).exists() else ROOT / path
    return re.search(rf"\b{name}\b", file.read_text()) is not None


def test_the_layers_shown_are_those_that_are_checked() -> None:
    (shown,) = re.findall(r"```text\n(cli .*?)```", _TEXT, re.DOTALL)
    (checked, *_) = tomllib.loads(text_of("pyproject.toml"))["tool"]["importlinter"]["contracts"]
    assert shown.splitlines() == checked["layers"]


def test_words_that_documents_explain_are_on_the_page_for_searching() -> None:
    missing = {each for each in documented_words() if each not in _FINDING}
    found: dict[str, set[str]] = {}
    quoted = re.compile(rf'"({"|".join(map(re.escape, missing))})"').findall
    for path in _PACKAGE.rglob("*.py"):
        for word in quoted(path.read_text()) if "data" not in path.parts else ():
            found.setdefault(word, set()).add(path.as_posix())
    assert [word for word, files in found.items() if len(files) <= 2] == [], "run make format"


def test_a_word_of_the_page_stands_in_its_file() -> None:
    _, _, section = _FINDING.partition(HEADING)
    rows = [line.split("|")[1:3] for line in section.split("\n## ")[0].splitlines() if line.startswith("| `")]
    texts = {path: (_PACKAGE / path).read_text() for _, paths in rows for path in re.findall(r"`([^`]+)`", paths)}
    stale = [
        (word, path)
        for words, paths in rows
        for word in re.findall(r"`([^`]+)`", words)
        for path in re.findall(r"`([^`]+)`", paths)
        if re.split("[/_]", word)[-1] not in texts[path]  # The rest of it may be a constant.
    ]
    assert len(rows) > 100
    assert stale == [], "run make format"


def test_every_module_is_on_the_page_for_searching() -> None:
    assert unnamed_modules(_FINDING) == {}, "run make format"
