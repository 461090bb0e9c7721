"""One plane for all, one namespace a test, and every kubectl that there is."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from uuid import uuid4
from zlib import crc32

import pytest

from tests.kubectl.kubectl import Kubectl
from tests.order import is_whole
from tests.served import ServedPlane, serve_plane
from tools.build_kubectl import find_kubectl, find_kubectls


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "program" in metafunc.fixturenames:
        known = [pytest.param(program, id=version) for version, program in _kubectls().items()]
        metafunc.parametrize("program", known or [pytest.param(None, id="none")], indirect=True, scope="session")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """In a run of everything the versions between the oldest and the newest take turns, test by test: a version costs
    half a minute. `make test ARGS=tests/kubectl` runs each test with all of them.
    """
    ours = [each for each in items if each.path.parent == Path(__file__).parent] if is_whole(config) else []
    left_out = {each for each in ours if isinstance(each, pytest.Function) and _waits_for_its_turn(each)}
    if left_out:
        config.hook.pytest_deselected(items=[*left_out])
        items[:] = [each for each in items if each not in left_out]


def _waits_for_its_turn(test: pytest.Function) -> bool:
    program = test.callspec.params.get("program") if hasattr(test, "callspec") else None
    between = list(_kubectls().values())[1:-1]
    return program in between and between.index(program) != crc32(test.originalname.encode()) % len(between)


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
