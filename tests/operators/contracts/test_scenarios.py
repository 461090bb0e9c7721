"""Every recorded scenario of the original operator, played by ours: on a plane, and on a real API server."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from homeostat.client.base import Client
from homeostat.client.connect import open_client
from homeostat.operators import contracts, housekeeping
from homeostat.plane import Settings, open_plane
from homeostat.runtime.installation import install
from homeostat.runtime.manager import Manager
from tests.operators.contracts.pushing import running_registries
from tests.operators.contracts.recorded import recorded_as_is
from tests.operators.contracts.scenario import Scenario, Stage, proxying

if TYPE_CHECKING:
    from tests.cluster.running import Cluster

_CASES: dict[str, Any] = recorded_as_is("operator")
Results = dict[str, BaseException | None]


@pytest.fixture(scope="module", params=["plane", pytest.param("cluster", marks=pytest.mark.cluster)])
def results(request: pytest.FixtureRequest, started_once: Path, tmp_path_factory: pytest.TempPathFactory) -> Results:
    """All scenarios at once: those that wait for an interval take half a minute, whatever their number.

    Each server has registries of its own: a version that one scenario pushes late would be there from the start.
    """
    folder = tmp_path_factory.mktemp("played")
    with running_registries(tmp_path_factory) as registries:
        if request.param == "cluster":
            cluster: Cluster = request.getfixturevalue("cluster")
            return asyncio.run(_play(open_client(cluster.endpoint), folder, *registries))
        return asyncio.run(_play(_embedded(shutil.copytree(started_once, folder / "plane")), folder, *registries))


@asynccontextmanager
async def _embedded(data: Path) -> AsyncIterator[Client]:
    async with open_plane(Settings(data=data, port=0, operators=frozenset())) as plane:
        yield plane.client


async def _play(opening: Any, folder: Path, public: str, private: str) -> Results:
    async with opening as client, proxying(_CASES) as proxy:
        await install(client, contracts.KINDS)
        manager = Manager(client, directory=folder / "cache", environment={"HTTP_PROXY": proxy})
        manager.add("contracts", contracts.register)
        chores = asyncio.create_task(housekeeping.run(client, authority=""))
        stage = Stage(client, manager, public=public, private=private)
        try:
            async with manager.running():
                played = (Scenario(stage, name, case).play() for name, case in _CASES.items())
                return dict(zip(_CASES, await asyncio.gather(*played, return_exceptions=True), strict=True))
        finally:
            chores.cancel()
            await stage.rest.close()


@pytest.mark.parametrize("name", _CASES)
def test_a_scenario_ends_as_recorded(results: Results, name: str) -> None:
    if (error := results[name]) is not None:
        raise error
