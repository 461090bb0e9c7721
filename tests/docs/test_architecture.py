"""The map shows every package, and every path that it and the page for contributors name exists."""

from __future__ import annotations

import re
import tomllib

import pytest

from tests.docs.documents import ROOT, text_of

_TEXT = text_of("docs/architecture.md")
_PACKAGE = ROOT / "homeostat"
_named = re.compile(r"`((?:\w+/)+(?:\w+\.\w+)?)`")
_paths = set(_named.findall(_TEXT))


def test_every_package_is_on_the_map() -> None:
    packages = {f"{path.parent.relative_to(_PACKAGE)}/" for path in _PACKAGE.rglob("__init__.py")} - {"./"}
    assert sorted(packages - _paths) == []


@pytest.mark.parametrize("document", ["docs/architecture.md", "CONTRIBUTING.md"])
def test_every_path_named_exists(document: str) -> None:
    paths = set(_named.findall(text_of(document)))
    assert paths
    assert sorted(each for each in paths if not ((_PACKAGE / each).exists() or (ROOT / each).exists())) == []


def test_the_layers_shown_are_those_that_are_checked() -> None:
    (shown,) = re.findall(r"```text\n(cli .*?)```", _TEXT, re.DOTALL)
    (checked, *_) = tomllib.loads(text_of("pyproject.toml"))["tool"]["importlinter"]["contracts"]
    assert shown.splitlines() == checked["layers"]
