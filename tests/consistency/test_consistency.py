"""The short form of the run; the long one is started by hand."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.consistency.run import check
from tests.postgres import Postgres, running_postgres


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    with running_postgres() as running:
        yield running


async def test_histories_are_linearizable_and_watchers_see_all_while_replicas_and_the_database_fail(
    server: Postgres,
) -> None:
    report = await check(server, seconds=0, seed=1, fault_every_s=0.3)

    assert report.violations == []
    assert report.revisions > 50
    assert report.resumed > 0
    assert set(report.faults.values()) == {1}
