"""The two planes of the comparisons, which are started once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.programs.running import run_controllers, run_scheduler
from tests.programs.sides import Side
from tests.served import ServedPlane, serve_plane
from tools.build_programs import find_program


@pytest.fixture(scope="session")
def planes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[ServedPlane]]:
    """One with simulated controllers, one with the real ones."""
    find_program("controller-manager"), find_program("scheduler")
    folder = tmp_path_factory.mktemp("planes")
    with ExitStack() as stack:
        simulated = ["--operators", "none", "--workloads", "simulated"]
        ours = stack.enter_context(serve_plane(folder / "ours", options=simulated))
        theirs = stack.enter_context(
            serve_plane(folder / "theirs", options=["--operators", "none", "--workloads", "nodes"])
        )
        stack.enter_context(run_controllers(theirs, folder, "--horizontal-pod-autoscaler-sync-period=1s"))
        stack.enter_context(run_scheduler(theirs, folder))
        yield [ours, theirs]


@pytest.fixture
def sides(planes: list[ServedPlane], request: pytest.FixtureRequest) -> list[Side]:
    name = re.sub(r"[^a-z0-9]+", "-", request.node.name.removeprefix("test_"))[-40:].strip("-")
    return [Side(each, each.create_namespace(name)) for each in planes]
