"""Fixtures of pytest: a Kubernetes API for every test, without a cluster.

def test_a_config_map_is_read(kubernetes):
    api = lightkube.Client(namespace=kubernetes.namespace)
    ...

pytest loads this module in every run, so it imports nothing else until a fixture is used.

It rewrites the assertions of every package that brings a plugin, and compiles it again for that. Here there is nothing
to rewrite, and where nothing is compiled yet, as in a job of CI, that takes longer than a plane takes to start.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from homeostat.testing.served import Kubernetes, ServedPlane
    from homeostat.testing.workloads import Workloads


class _AsInstalled(MetaPathFinder):
    """Finds the modules of this package before pytest does."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return PathFinder.find_spec(fullname, path, target) if fullname.startswith(_PACKAGE) else None


_PACKAGE = "homeostat."
sys.meta_path.insert(0, _AsInstalled())


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini("kubernetes_operators", "Operators that run in the plane of the fixture `kubernetes`.", "args", [])


@pytest.fixture(scope="session")
def kubernetes_plane(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Iterator[ServedPlane]:
    """One plane for the session, or for each worker of pytest-xdist."""
    from homeostat.testing.served import served_plane

    with served_plane(tmp_path_factory.mktemp("plane"), *pytestconfig.getini("kubernetes_operators")) as plane:
        yield plane


@pytest.fixture
def kubernetes(kubernetes_plane: ServedPlane, monkeypatch: pytest.MonkeyPatch) -> Iterator[Kubernetes]:
    """The API with a namespace of the test's own. `KUBECONFIG` leads there, so clients and kubectl need no settings."""
    with kubernetes_plane.namespace() as found:
        monkeypatch.setenv("KUBECONFIG", str(found.kubeconfig))
        yield found


@pytest.fixture(scope="session")
def kubernetes_workloads_plane(
    tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config
) -> Iterator[ServedPlane]:
    """As `kubernetes_plane`, with simulated Nodes and workloads."""
    from homeostat.testing.served import served_plane
    from homeostat.testing.workloads import OPERATOR

    operators = pytestconfig.getini("kubernetes_operators")
    with served_plane(tmp_path_factory.mktemp("workloads"), OPERATOR, *operators) as plane:
        yield plane


@pytest.fixture
def kubernetes_workloads(
    kubernetes_workloads_plane: ServedPlane, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Workloads]:
    """As `kubernetes`, where Deployments become ready, and fail when a test says so."""
    from homeostat.testing.workloads import simulated_workloads

    with simulated_workloads(kubernetes_workloads_plane) as found:
        monkeypatch.setenv("KUBECONFIG", str(found.kubeconfig))
        yield found
