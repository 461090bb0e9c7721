"""One plane for all, one namespace a test, and every kubectl that there is."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from uuid import uuid4

import pytest

from tests.kubectl.kubectl import Kubectl
from tests.served import ServedPlane, serve_plane
from tools.build_kubectl import find_kubectl, find_kubectls


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "program" in metafunc.fixturenames:
        known = [pytest.param(program, id=version) for version, program in _kubectls().items()]
        metafunc.parametrize("program", known or [pytest.param(None, id="none")], indirect=True, scope="session")


@cache
def _kubectls() -> dict[str, Path]:
    return find_kubectls()


def pytest_itemcollected(item: pytest.Item) -> None:
    """Called for the tests of this folder alone."""
    item.add_marker(pytest.mark.kubectl)


@pytest.fixture(scope="session")
def program(request: pytest.FixtureRequest) -> Path:
    return request.param or find_kubectl()


@pytest.fixture(scope="session")
def plane(program: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedPlane]:
    with serve_plane(tmp_path_factory.mktemp("plane") / "data") as plane:
        yield plane


@pytest.fixture(scope="module")
def cluster(program: Path, plane: ServedPlane, tmp_path_factory: pytest.TempPathFactory) -> Kubectl:
    """kubectl as the administrator, in the namespace `default`."""
    return Kubectl(program, tmp_path_factory.mktemp("home"), plane.kubeconfig)


@pytest.fixture
def unique() -> str:
    """A name that no other test uses, for what has no namespace."""
    return f"t{uuid4().hex[:8]}"


@pytest.fixture
def kubectl(cluster: Kubectl, plane: ServedPlane, unique: str) -> Kubectl:
    """kubectl as the administrator, in a namespace of the test's own."""
    return cluster.within(plane.create_namespace(unique))
