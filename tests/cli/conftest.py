"""One plane a module, started by the command itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.running import Cli, Up, make_cli, running


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """The command on a data directory that does not exist yet."""
    return make_cli(tmp_path / "data")


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    with running(make_cli(tmp_path_factory.mktemp("up") / "data")) as up:
        yield up
