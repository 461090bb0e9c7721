"""One plane with a type of crates for all tests of `homeostat resource`; the shelf is empty after each."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cli.running import Cli, Up, make_cli
from tests.cli.shelf import Shelf, actions_plane, crate_type, serving_shelf, text_of


@pytest.fixture(scope="package")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    with actions_plane(make_cli(tmp_path_factory.mktemp("resources") / "data")) as up:
        yield up


@pytest.fixture(scope="package")
def whole_shelf() -> Iterator[Shelf]:
    with serving_shelf() as found:
        yield found


@pytest.fixture(scope="package")
def typed(plane: Up, whole_shelf: Shelf) -> Cli:
    done = plane.cli.here("type", "add", "-f", "-", stdin=text_of(crate_type(whole_shelf)))
    assert done.code == 0, done.err
    return plane.cli


@pytest.fixture
def shelf(whole_shelf: Shelf, typed: Cli) -> Iterator[Shelf]:
    """Willing and quick again after each test, and empty."""
    yield whole_shelf
    whole_shelf.refuses, whole_shelf.slow_s = 0, 0.0
    for name in typed.here("resource", "list", "-o", "name").out.split():
        typed.here("resource", "delete", "--no-wait", name)
        typed.here("resource", "reconcile", name)
    assert typed.here("resource", "list", "-o", "name").out == ""
