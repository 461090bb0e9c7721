"""Simulated workloads: how long many Pods take to get ready, and what each costs.

    python -m benchmarks.workloads --pods 20000

One process runs the plane and the simulation, as `homeostat up --workloads simulated` does. The Deployments have 100
replicas each, and the Nodes hold 110 Pods each. Wall-clock times count on an otherwise idle machine only; CPU times
count on any.
"""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from benchmarks.usage import rss_mib
from homeostat.client.base import Client
from homeostat.edge.loop import run
from homeostat.objects.json import JsonObject
from homeostat.operators.workloads.settings import NODES
from homeostat.plane import Settings, open_plane

EACH = 100
_PODS_ON_A_NODE = 110
_WITHIN_S = 900.0
_OPERATORS = frozenset({"housekeeping", "homeostat.operators.workloads"})
_DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"


def _deployment(number: int) -> JsonObject:
    labels = {"app": f"web-{number}"}
    container = {"name": "web", "image": "nginx:1.29", "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": f"web-{number}"},
        "spec": {
            "replicas": EACH,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }


async def _created(client: Client, nodes: int) -> None:
    while True:
        if len((await client.list("/api/v1/nodes"))[0]) >= nodes:
            return
        await asyncio.sleep(0.1)


async def _ready(client: Client, count: int) -> None:
    """Until every Deployment is available."""
    while True:
        found, _ = await client.list(_DEPLOYMENTS)
        if sum(each.get("status", {}).get("availableReplicas", 0) for each in found) >= count:
            return
        await asyncio.sleep(2.0)  # A list costs CPU, too.


async def _measure(pods: int, data: Path) -> None:
    deployments = -(-pods // EACH)
    nodes = -(-deployments * EACH // _PODS_ON_A_NODE) + 1
    settings = Settings(
        data=data, port=0, is_open=True, operators=_OPERATORS, environment={**os.environ, NODES: str(nodes)}
    )
    async with open_plane(settings) as plane:
        async with asyncio.timeout(_WITHIN_S):
            await _created(plane.client, nodes)
        memory, cpu, wall = rss_mib(os.getpid()), time.process_time(), time.perf_counter()
        for number in range(deployments):
            await plane.client.create(_DEPLOYMENTS, _deployment(number))
        async with asyncio.timeout(_WITHIN_S):
            await _ready(plane.client, deployments * EACH)
        _show("ready", deployments * EACH, time.process_time() - cpu, time.perf_counter() - wall)
        click.echo(f"memory        {(rss_mib(os.getpid()) - memory) * 1024 / pods:8.1f} KiB a Pod")
        cpu, wall = time.process_time(), time.perf_counter()
        await asyncio.sleep(5)
        click.echo(f"idle          {(time.process_time() - cpu) / (time.perf_counter() - wall) * 100:8.1f} % of a core")


def _show(what: str, pods: int, cpu_s: float, wall_s: float) -> None:
    click.echo(f"{what:<13} {pods:8d} Pods")
    click.echo(f"CPU           {cpu_s / pods * 1000:8.2f} s for 1,000 Pods")
    click.echo(f"time          {wall_s:8.1f} s, {pods / wall_s:.0f} Pods/s")


@click.command()
@click.option("--pods", type=click.IntRange(100, 100_000), default=20_000, show_default=True)
def main(pods: int) -> None:
    """Measure simulated workloads."""
    with TemporaryDirectory() as directory:
        run(_measure(pods, Path(directory)))


if __name__ == "__main__":
    main()
