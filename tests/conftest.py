"""For all tests: a limit on memory, and what needs a real cluster where there is one.

A process that runs away in memory fails by itself and does not take the machine with it.
"""

from __future__ import annotations

import os
import resource
from pathlib import Path

import pytest

import tests.guard.sitecustomize  # noqa: F401  refuses default ports in this process
from tools.build_cluster import is_built

pytest_plugins = ("tests.cluster.fixtures",)

_MOST_BYTES = 8 << 30
_NO_CLUSTER = pytest.mark.skip(reason="no kube-apiserver and etcd here; `make cluster` builds them with Go")


def pytest_configure() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    most = _MOST_BYTES if hard == resource.RLIM_INFINITY else min(_MOST_BYTES, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (most, hard))
    guard = str(Path(__file__).parent / "guard")
    path = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    os.environ["PYTHONPATH"] = os.pathsep.join([guard, *(each for each in path if each not in {"", guard})])


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What uses the cluster is marked so, whether it says so or not, and skipped by name where there is none."""
    for item in items:
        if "cluster" in getattr(item, "fixturenames", ()):
            item.add_marker("cluster")
        if item.get_closest_marker("cluster") is not None and not is_built():
            item.add_marker(_NO_CLUSTER)
