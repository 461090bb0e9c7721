"""For comparison: a bare client that stamps each widget as soon as its event comes.

    python -m benchmarks.runtime.floor KUBECONFIG

Nothing of a runtime is in it: no cache, no queue that holds a key once, no retries, no metrics; what goes wrong ends
it. What is left is the watch and one patch an object. It is no lower bound: it may be slower than an operator that
spreads its requests better.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from contextlib import aclosing
from pathlib import Path

import msgspec

from benchmarks import widgets
from benchmarks.runtime.stamper import CONCURRENCY, Spec
from homeostat.client.base import Client
from homeostat.client.connect import open_client
from homeostat.client.endpoint.kubeconfig import load_endpoint
from homeostat.edge.loop import run


class _Metadata(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    generation: int = 0


class _Status(msgspec.Struct, frozen=True, rename="camel"):
    observed_generation: int = 0


class _Widget(msgspec.Struct, frozen=True):
    metadata: _Metadata
    spec: Spec = Spec()
    status: _Status = _Status()


class _Event(msgspec.Struct, frozen=True):
    object: _Widget


_event = msgspec.json.Decoder(_Event)


async def _stamp(client: Client, waiting: asyncio.Queue[_Widget]) -> None:
    while True:
        widget = await waiting.get()
        status = {"phase": widget.spec.bench_seq or "Ready", "observedGeneration": widget.metadata.generation}
        path = f"{widgets.COLLECTION}/{widget.metadata.name}/status"
        await client.fetch("PATCH", path, body={"status": status}, content_type=widgets.MERGE)


async def _follow(client: Client, waiting: asyncio.Queue[_Widget]) -> None:
    async with aclosing(client.lines(widgets.COLLECTION)) as lines:
        async for line in lines:
            widget = _event.decode(line).object
            if widget.status.observed_generation != widget.metadata.generation:
                waiting.put_nowait(widget)


async def main(kubeconfig: Path) -> None:
    async with open_client(load_endpoint([kubeconfig])) as client, asyncio.TaskGroup() as tasks:
        waiting: asyncio.Queue[_Widget] = asyncio.Queue()
        work = [tasks.create_task(_stamp(client, waiting)) for _ in range(CONCURRENCY)]
        work.append(tasks.create_task(_follow(client, waiting)))
        stopped = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
        await stopped.wait()
        for each in work:
            each.cancel()


if __name__ == "__main__":
    run(main(Path(sys.argv[1])))
