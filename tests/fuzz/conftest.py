"""One plane for all of bad input: what is refused leaves nothing behind, so nothing needs to be created again."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests.fuzz.driver import Driver, Faults, driven_plane
from tests.fuzz.kinds import TARGETS, prepare

settings.register_profile(
    "fuzz",
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)


@pytest.fixture(scope="package")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Driver]:
    with driven_plane(tmp_path_factory.mktemp("fuzz") / "plane") as driver:
        prepare(driver)
        yield driver


@pytest.fixture(autouse=True)
def faults() -> Iterator[Faults]:
    """Whatever a test sends, the server logs no error of its own."""
    faults = Faults()
    logging.getLogger().addHandler(faults)
    try:
        yield faults
    finally:
        logging.getLogger().removeHandler(faults)
    assert [record.getMessage() for record in faults.records] == []


@pytest.fixture(params=TARGETS, ids=lambda target: target.name)
def target(request: pytest.FixtureRequest) -> object:
    return request.param
