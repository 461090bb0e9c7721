"""A commit counts on the newest revision only, whatever became of what followed another one."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import uuid4

import asyncpg
import pytest

from homeostat.store.base import Put
from homeostat.store.log import events_of, plan
from homeostat.store.postgres.database import Database
from homeostat.store.postgres.statements import BEGINNING, BatchWriter, Planned
from homeostat.store.seal import Seal
from homeostat.testing.eventually import eventually
from tests.store.contract import PostgresFactory, draft, pod, put, remove


@pytest.mark.parametrize(
    ("is_compacted", "base", "is_stored"),
    [
        pytest.param(False, 12, True, id="the-newest"),
        pytest.param(False, 6, False, id="another-batch-follows"),
        pytest.param(False, 4, False, id="the-middle-of-a-batch"),
        pytest.param(False, 0, False, id="the-beginning"),
        pytest.param(True, 3, False, id="what-followed-is-compacted"),
        pytest.param(True, 4, False, id="the-middle-of-what-is-compacted"),
        pytest.param(True, 12, True, id="the-newest-and-all-is-compacted"),
    ],
)
async def test_a_batch_counts_only_on_the_newest_revision(
    factory: PostgresFactory, tables: Any, is_compacted: bool, base: int, is_stored: bool
) -> None:
    store = await factory.open()
    for step in range(3):
        await asyncio.gather(*(put(store, pod(name), str(step)) for name in "abc"))
    await asyncio.gather(*(remove(store, pod(name)) for name in "abc"))
    if is_compacted:
        await store.compact(12)
        assert await tables.fetchval("SELECT count(*) FROM log") == 0
    outcomes = plan([Put(pod("x"), draft("1"), 0)], base, lambda _: None)
    batch_writer = BatchWriter(uuid4(), factory.schema, Database(factory.url, factory.schema).section, Seal())

    assert await batch_writer.commit(tables, Planned(1, base, outcomes, events_of(outcomes)), BEGINNING) is is_stored
    assert await store.sync() == 12 + is_stored
    await store.close()


@pytest.mark.parametrize("when", ["before", "while"], ids=["raised-before-it-began", "raised-while-it-waited"])
async def test_a_batch_on_compacted_history_is_refused_whenever_that_happened(
    factory: PostgresFactory, tables: Any, when: str
) -> None:
    store = await factory.open()
    for step in range(5):
        await put(store, pod("a"), str(step))
    section = Database(factory.url, factory.schema).section
    batch_writer = BatchWriter(uuid4(), factory.schema, section, Seal())
    outcomes = plan([Put(pod("x"), draft("1"), 0)], 2, lambda _: None)
    holder = await asyncpg.connect(factory.url)
    if when == "while":
        await holder.execute("SELECT pg_advisory_lock($1)", section)
    else:
        await store.compact(5)
    committing = asyncio.ensure_future(
        batch_writer.commit(tables, Planned(1, 2, outcomes, events_of(outcomes)), BEGINNING)
    )
    if when == "while":
        # It has its snapshot, and waits for the section.
        await eventually(lambda: holder.fetchval("SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"))
        await store.compact(5)
        await holder.execute("SELECT pg_advisory_unlock($1)", section)

    assert await committing is False
    assert await store.sync() == 5
    await holder.close()
    await store.close()
