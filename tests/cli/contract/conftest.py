from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.contract.workspace import Workspace
from tests.external.registries import running_registry


@pytest.fixture(scope="package")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_registry(tmp_path_factory.mktemp("registry")) as host:
        yield host


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """Without a registry."""
    for name in ("work", "home"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return Workspace(tmp_path / "work", tmp_path / "home", "127.0.0.1:1")


@pytest.fixture
def space(bare: Workspace, host: str) -> Workspace:
    bare.registry = f"{host}/t{secrets.token_hex(4)}"
    return bare
