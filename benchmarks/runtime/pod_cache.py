"""A process that keeps all Pods in a cache of the fields that an operator declares, and reports when it has them.

python -m benchmarks.runtime.pod_cache KUBECONFIG REPORT    # ended by SIGTERM
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from time import perf_counter

import msgspec

from benchmarks.usage import rss_mib
from homeostat.client.connect import open_client
from homeostat.client.endpoint.kubeconfig import load_endpoint
from homeostat.edge.loop import run
from homeostat.objects.kind import POD
from homeostat.runtime.manager import Manager
from homeostat.runtime.setup import Setup


class Owner(msgspec.Struct, frozen=True, gc=False):
    kind: str
    name: str
    uid: str


class Metadata(msgspec.Struct, frozen=True, rename="camel", gc=False):
    name: str
    resource_version: str
    namespace: str = ""
    labels: dict[str, str] = {}
    owner_references: tuple[Owner, ...] = ()


class Container(msgspec.Struct, frozen=True, gc=False):
    image: str = ""


class Spec(msgspec.Struct, frozen=True, gc=False):
    containers: tuple[Container, ...] = ()


class Status(msgspec.Struct, frozen=True, gc=False):
    phase: str = ""


class Pod(msgspec.Struct, frozen=True, gc=False):
    metadata: Metadata
    spec: Spec = Spec()
    status: Status = Status()


class Held(msgspec.Struct):
    pods: int
    seconds: float
    """From the first request to a cache that is in sync."""
    added_mib: float


def register(setup: Setup) -> None:
    setup.watch(POD, Pod)


async def main(kubeconfig: Path, report: Path) -> None:
    async with open_client(load_endpoint([kubeconfig])) as client:
        manager = Manager(client)
        manager.add("pods", register)
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, manager.stop)
        before_mib, began = rss_mib(os.getpid()), perf_counter()
        async with manager.running():
            await manager.informers.synced()
            seconds = perf_counter() - began
            pods = sum(len(each.cache) for each in manager.informers)
            await asyncio.sleep(1.0)
            held = Held(pods, seconds, rss_mib(os.getpid()) - before_mib)
            unfinished = report.with_suffix(".new")
            unfinished.write_bytes(msgspec.json.encode(held))
            unfinished.rename(report)


if __name__ == "__main__":
    run(main(Path(sys.argv[1]), Path(sys.argv[2])))
