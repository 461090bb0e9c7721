"""The map shows every package, and every path that the page names exists."""

from __future__ import annotations

import re
import tomllib

from tests.docs.documents import ROOT, text_of

_TEXT = text_of("docs/architecture.md")
_PACKAGE = ROOT / "homeostat"
_paths = set(re.findall(r"`((?:\w+/)+(?:\w+\.\w+)?)`", _TEXT))


def test_every_package_is_on_the_map() -> None:
    packages = {f"{path.parent.relative_to(_PACKAGE)}/" for path in _PACKAGE.rglob("__init__.py")} - {"./"}
    assert sorted(packages - _paths) == []


def test_every_path_named_exists() -> None:
    assert sorted(each for each in _paths if not ((_PACKAGE / each).exists() or (ROOT / each).exists())) == []


def test_the_layers_shown_are_those_that_are_checked() -> None:
    (shown,) = re.findall(r"```text\n(cli .*?)```", _TEXT, re.DOTALL)
    (checked, *_) = tomllib.loads(text_of("pyproject.toml"))["tool"]["importlinter"]["contracts"]
    assert shown.splitlines() == checked["layers"]
