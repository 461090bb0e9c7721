"""Any interleaving of writes, watches, pages, compactions and restarts gives every reader the same order."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Coroutine
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.store.contract import PostgresFactory, SqliteFactory, StoreFactory
from tests.store.model import KEYS, SCOPES, Drive

Step = Callable[[Drive], Coroutine[None, None, None]]

keys = st.sampled_from(KEYS)
scopes = st.sampled_from(SCOPES)
backs = st.integers(0, 40)
histories = st.sampled_from([0, 3, 1000])

writes = st.builds(
    lambda key, text, is_deletion: lambda drive: started(drive, drive.write(key, text, is_deletion=is_deletion)),
    keys,
    st.sampled_from(["x", "y", "z"]),
    st.sampled_from([False, False, False, True]),
)
steps: st.SearchStrategy[Step] = st.one_of(
    writes,
    writes,
    writes,
    st.builds(lambda count: lambda _: turn(count), st.integers(0, 20)),
    st.just(lambda drive: drive.settle()),
    st.builds(
        lambda scope, back, is_slow: lambda drive: started(drive, drive.watch(scope, back, is_slow=is_slow)),
        scopes,
        backs,
        st.booleans(),
    ),
    st.builds(lambda count: lambda drive: drive.read(count), st.integers(1, 5)),
    st.builds(
        lambda scope, back, limit: lambda drive: started(drive, drive.page(scope, back, limit)),
        scopes,
        backs,
        st.integers(0, 3),
    ),
    st.builds(lambda back: lambda drive: started(drive, drive.compact(back)), backs),
    st.builds(lambda history: lambda drive: drive.restart(history), histories),
)


async def started(drive: Drive, step: Coroutine[None, None, None]) -> None:
    drive.start(step)


async def turn(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def drive_through(factory: StoreFactory, history: int, some: list[Step]) -> None:
    drive = Drive(factory, await factory.open(history_events=history))
    try:
        for step in some:
            await step(drive)
        await drive.finish()
    finally:
        await drive.store.close()


@pytest.mark.parametrize(("kind", "most"), [("sqlite", 120), ("postgres", 20)], ids=["sqlite", "postgres"])
def test_every_reader_sees_the_one_order_without_a_gap_or_a_repeat(
    request: pytest.FixtureRequest, kind: str, most: int
) -> None:
    url = request.getfixturevalue("postgres").url if kind == "postgres" else ""

    @settings(examples(most), suppress_health_check=list(HealthCheck))
    @given(history=histories, some=st.lists(steps, min_size=10, max_size=120))
    def check(history: int, some: list[Step]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            factory = PostgresFactory(url) if url else SqliteFactory(Path(folder))
            asyncio.run(drive_through(factory, history, some))

    check()
