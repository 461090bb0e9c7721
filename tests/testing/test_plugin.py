"""The plugin of pytest."""

from __future__ import annotations

import sys
import warnings
from importlib.machinery import SourceFileLoader

import pytest

import homeostat


def test_pytest_leaves_the_modules_of_the_package_as_they_are() -> None:
    """As if it were installed from a wheel, whose modules pytest would compile again."""
    with warnings.catch_warnings(action="ignore"):
        pytest.register_assert_rewrite("homeostat.pytest_plugin")
    specs = (each.find_spec("homeostat.pytest_plugin", homeostat.__path__) for each in sys.meta_path)
    found = next(each for each in specs if each is not None)
    assert type(found.loader) is SourceFileLoader
