"""What the sync operator costs on 10,000 resources of 100 collections: the first sync, one without a change, and a
commit of one file until the server has it.

Plane, operator and Git server share one process here, so its CPU is that of all three. The REST server is in another.
The longest turn is the CPU time of one callback of the event loop: so long nothing else was done in between.
"""

from __future__ import annotations

import asyncio
import gc
import json
import resource
import tempfile
import time
from collections import Counter
from pathlib import Path

from benchmarks.sync.commands import HEADINGS, write_resources
from homeostat.plane import Settings, open_plane
from tests.cluster.fixtures import Api, create_namespace
from tests.operators.sync.cases import rest_server
from tests.operators.sync.operator import stage as stages
from tests.operators.sync.operator.stage import TOKEN, Stage, operating, ready_of, staged

_CHANGED = "zones/z005/items/i05/resource.json"


async def main() -> None:
    stages.WITHIN_S = 600.0
    # As `homeostat up` and `homeostat run` do.
    gc.set_threshold(50_000, 20, 100)
    TURNS.watch()
    with tempfile.TemporaryDirectory() as name, rest_server() as rest:
        root = Path(name)
        settings = Settings(data=root / "plane", port=0, operators=frozenset())
        async with open_plane(settings) as plane:
            api = Api(plane.client, root / "kubeconfig", await create_namespace(plane.client))
            async with staged(api, rest, root / "stage") as stage:
                await measure(stage)


async def measure(stage: Stage) -> None:
    state = {"collections": {"/zones/*/items": {}}, "auth": {"bearer": TOKEN}}
    await stage.call("PUT", "/_/state", state)
    await asyncio.to_thread(write_resources, stage.origin.path, roots=("zones",))
    revision = await asyncio.to_thread(stage.origin.commit, {})
    print(HEADINGS)
    async with operating(stage):
        work = Work(stage, "first sync by the operator")
        await stage.declare(source={"path": "/zones"})
        await stage.synced(revision)
        await work.report()
        work = Work(stage, "full sync, no change")
        before = (await stage.get("SyncPolicy", "customers"))["status"]["lastFullResyncTime"]
        await stage.apply("SyncPolicy", "customers", stage.policy(source={"path": "/zones"}, syncInterval="2h"))
        await stage.until(lambda status: status["lastFullResyncTime"] != before and ready_of(status)[0] == "True")
        await work.report()
        for _ in range(3):
            work = Work(stage, "commit of one file -> PUT")
            value = {"id": "i05", "name": f"changed at {time.time()}"}
            revision = await stage.push({_CHANGED: json.dumps(value)})
            await stage.stored("/zones/z005/items/i05", value)
            await work.report()
            await stage.synced(revision)


class LongestTurn:
    def __init__(self) -> None:
        self.cpu_s = self._since = 0.0

    def reset(self) -> None:
        """Counts the turns that begin after it."""
        self.cpu_s, self._since = 0.0, time.thread_time()

    def watch(self) -> None:
        run = asyncio.Handle._run

        def timed(handle: asyncio.Handle) -> None:
            start = time.thread_time()
            run(handle)
            if start >= self._since:
                self.cpu_s = max(self.cpu_s, time.thread_time() - start)

        asyncio.Handle._run = timed  # type: ignore[assignment]


TURNS = LongestTurn()


class Work:
    def __init__(self, stage: Stage, name: str) -> None:
        self._stage, self._name = stage, name
        stage.rest.call("DELETE", "/_/requests")
        self._wall, self._cpu = time.perf_counter(), time.process_time()
        TURNS.reset()

    async def report(self) -> None:
        wall_s, cpu_s = time.perf_counter() - self._wall, time.process_time() - self._cpu
        longest_ms = TURNS.cpu_s * 1000
        sent = Counter(each["method"] for each in await self._stage.call("GET", "/_/requests"))
        counts = ", ".join(f"{count} {method}" for method, count in sorted(sent.items()))
        largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"{self._name:<28}{wall_s:>8.1f}{cpu_s:>8.1f}{largest:>6.0f}  {counts}; longest turn {longest_ms:.0f} ms",
            flush=True,
        )
