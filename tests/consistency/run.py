"""Writers and watchers over replicas while things fail, and what must hold of what they saw.

Run as `python -m tests.consistency.run --seconds 60`. The verdict: every answer is explained by one order of operations
an object; acknowledged writes are in the log, in the order of their answers; every watcher saw the whole log, once
and in order.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeVar
from uuid import uuid4

from homeostat.store.base import Event, Scope
from homeostat.store.postgres import PostgresStore
from tests.consistency.clients import Watcher, Writer
from tests.consistency.cluster import Cluster
from tests.consistency.faults import Faults
from tests.consistency.messages import Delivered
from tests.consistency.proxy import running_proxy
from tests.consistency.replica import text_of
from tests.consistency.verdict import violations
from tests.postgres import Postgres, running_postgres

T = TypeVar("T")

_SETTLE_S = 60.0
_LOOK_S = 0.2


@dataclass
class Report:
    violations: list[str]
    operations: int
    revisions: int
    failures: int
    resumed: int
    faults: Counter[str] = field(default_factory=Counter)

    def summary(self) -> str:
        faults = ", ".join(f"{kind} {count}" for kind, count in sorted(self.faults.items()))
        return (
            f"{self.operations} operations, {self.revisions} revisions, {self.failures} refused while the database was"
            f" away, {self.resumed} watches resumed; {faults or 'nothing failed'}"
        )


async def check(
    server: Postgres, *, seconds: float, seed: int, writers: int = 8, watchers: int = 20, fault_every_s: float = 1.0
) -> Report:
    chance = random.Random(seed)
    schema = f"check_{uuid4().hex}"
    async with running_proxy(server.port) as proxy:
        cluster = Cluster(server.url_at(proxy.port), schema)
        await cluster.start()
        try:
            authors = [Writer(each, cluster, random.Random(chance.random())) for each in range(writers)]
            readers = [Watcher(cluster, random.Random(chance.random())) for _ in range(watchers)]
            faults = Faults(server, proxy, cluster, authors, chance)
            failing = faults.run(seconds=seconds, every_s=fault_every_s)
            log = await load_while(failing, authors, readers, lambda: _settled(server.url, schema, readers))
        finally:
            await cluster.stop()
    steps = [author.steps for author in authors]
    return Report(
        violations(log, steps, [reader.delivered for reader in readers]),
        operations=sum(map(len, steps)),
        revisions=len(log),
        failures=sum(author.failures for author in authors),
        resumed=sum(reader.resumed for reader in readers),
        faults=faults.done,
    )


async def load_while(
    failing: Coroutine[object, object, None],
    authors: Sequence[Writer],
    readers: Sequence[Watcher],
    settled: Callable[[], Awaitable[T]],
) -> T:
    """Run writers and watchers until the faults have ended, then wait for the log that they left."""
    async with asyncio.TaskGroup() as tasks:
        reading = [tasks.create_task(each.run()) for each in readers]
        writing = [tasks.create_task(each.run()) for each in authors]
        await failing
        for author in authors:
            author.is_over = True
        await asyncio.gather(*writing)
        log = await settled()
        for task in reading:
            task.cancel()
    return log


async def _settled(url: str, schema: str, readers: Sequence[Watcher]) -> list[Delivered]:
    """The whole log, when it has come to rest and every reader has as much of it or has had time enough."""
    store = await PostgresStore.open(url, schema=schema)
    log: list[Delivered] = []

    def deliver(event: Event) -> None:
        record = event.record
        log.append(Delivered(record.revision, event.type, record.key.name, text_of(record.value)))

    await store.subscribe(Scope("pods"), since=0, deliver=deliver)
    with suppress(TimeoutError):
        async with asyncio.timeout(_SETTLE_S):
            before = -1
            while before != len(log) or any(len(reader.delivered) < len(log) for reader in readers):
                before = len(log)
                await asyncio.sleep(_LOOK_S)
                await store.sync()
    await store.close()
    return log


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    given = parser.parse_args()
    sys.stdout.write(f"seed {given.seed}\n")
    with running_postgres() as server:
        report = asyncio.run(check(server, seconds=given.seconds, seed=given.seed))
    sys.stdout.write("\n".join([report.summary(), *report.violations, ""]))
    return 1 if report.violations else 0


if __name__ == "__main__":
    sys.exit(main())
