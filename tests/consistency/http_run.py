"""The checker over HTTP: writers and watchers of three planes while planes, database and network fail.

Run as `python -m tests.consistency.http_run --seconds 60`. The verdict is that of the run on stores.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from tests.consistency.clients import Watcher, Writer
from tests.consistency.http_cluster import PlaneCluster
from tests.consistency.http_faults import PlaneFaults
from tests.consistency.http_log import Row, Translation, read_log
from tests.consistency.proxy import running_proxy
from tests.consistency.run import Report, load_while
from tests.consistency.verdict import violations
from tests.postgres import Postgres, running_postgres

_SETTLE_S = 60.0
_LOOK_S = 0.2


async def check(
    server: Postgres,
    data: Path,
    *,
    seconds: float,
    seed: int,
    writers: int = 8,
    watchers: int = 20,
    fault_every_s: float = 1.0,
) -> Report:
    """On a database without a plane."""
    chance = random.Random(seed)
    async with running_proxy(server.port) as proxy:
        cluster = PlaneCluster(server.url_at(proxy.port), data)
        try:
            await cluster.start()
            authors = [Writer(each, cluster, random.Random(chance.random())) for each in range(writers)]
            readers = [Watcher(cluster, random.Random(chance.random())) for _ in range(watchers)]
            faults = PlaneFaults(server, proxy, cluster, authors, chance)
            failing = faults.run(seconds=seconds, every_s=fault_every_s)
            rows = await load_while(failing, authors, readers, lambda: _settled(server.url, readers))
        finally:
            await cluster.stop()
    words = Translation(rows, [author.steps for author in authors])
    steps = [words.writer(author.steps) for author in authors]
    return Report(
        violations(words.log, steps, [words.watcher(reader.delivered) for reader in readers]),
        operations=sum(map(len, steps)),
        revisions=len(rows),
        failures=sum(author.failures for author in authors),
        resumed=sum(reader.resumed for reader in readers),
        faults=faults.done,
    )


async def _settled(url: str, readers: Sequence[Watcher]) -> list[Row]:
    """The whole log, when it has come to rest and every reader has as much of it or has had time enough."""
    rows: list[Row] = []
    with suppress(TimeoutError):
        async with asyncio.timeout(_SETTLE_S):
            before = -1
            while before != len(rows) or any(len(reader.delivered) < len(rows) for reader in readers):
                before = len(rows)
                await asyncio.sleep(_LOOK_S)
                rows = await read_log(url)
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    given = parser.parse_args()
    sys.stdout.write(f"seed {given.seed}\n")
    with running_postgres() as server, tempfile.TemporaryDirectory() as folder:
        report = asyncio.run(check(server, Path(folder) / "data", seconds=given.seconds, seed=given.seed))
    sys.stdout.write("\n".join([report.summary(), *report.violations, ""]))
    return 1 if report.violations else 0


if __name__ == "__main__":
    sys.exit(main())
