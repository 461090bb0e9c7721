"""Simulated workloads: how long many Pods take to get ready, and what each costs.

One process runs the plane and the simulation, as `homeostat up --workloads simulated` does. The Deployments have 100
replicas each, and the Nodes hold 110 Pods each. Wall-clock times count on an otherwise idle machine only. CPU times
are upper bounds on a busy one: the longer it takes, the more Events are recorded.
"""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.table import Table

from benchmarks.report import console
from benchmarks.served import scratch
from benchmarks.usage import rss_mib
from homeostat.client.base import Client
from homeostat.edge.loop import run
from homeostat.objects.json import JsonObject
from homeostat.operators.workloads.settings import NODES
from homeostat.plane import Settings, open_plane

EACH = 100
_PODS_ON_A_NODE = 110
_WITHIN_S = 900.0
_IDLE_S = 5.0
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


async def _ready_nodes(client: Client, nodes: int) -> None:
    """A Node has a taint until it is ready, and a Pod that fits on none is scheduled later: one more write."""
    while True:
        found, _ = await client.list("/api/v1/nodes")
        if sum(not each["spec"].get("taints") for each in found) >= nodes:
            return
        await asyncio.sleep(0.1)


async def _ready(client: Client, count: int) -> None:
    """Until every Deployment is available."""
    while True:
        found, _ = await client.list(_DEPLOYMENTS)
        if sum(each.get("status", {}).get("availableReplicas", 0) for each in found) >= count:
            return
        await asyncio.sleep(2.0)  # A list costs CPU, too.


async def _measure(pods: int, data: Path) -> list[tuple[str, str]]:
    deployments = -(-pods // EACH)
    pods = deployments * EACH
    nodes = -(-pods // _PODS_ON_A_NODE) + 1
    settings = Settings(
        data=data, port=0, is_open=True, operators=_OPERATORS, environment={**os.environ, NODES: str(nodes)}
    )
    async with open_plane(settings) as plane:
        async with asyncio.timeout(_WITHIN_S):
            await _ready_nodes(plane.client, nodes)
        memory, cpu, wall = rss_mib(os.getpid()), time.process_time(), time.perf_counter()
        for number in range(deployments):
            await plane.client.create(_DEPLOYMENTS, _deployment(number))
        async with asyncio.timeout(_WITHIN_S):
            await _ready(plane.client, pods)
        cpu_s, wall_s = time.process_time() - cpu, time.perf_counter() - wall
        events, _ = await plane.client.list("/api/v1/events")
        used_kib = (rss_mib(os.getpid()) - memory) * 1024
        cpu, wall = time.process_time(), time.perf_counter()
        await asyncio.sleep(_IDLE_S)
        idle = (time.process_time() - cpu) / (time.perf_counter() - wall)
    return [
        ("CPU for 1,000 Pods", f"{cpu_s / pods * 1000:.2f} s"),
        ("until all are available", f"{wall_s:.1f} s, {pods / wall_s:.0f} Pods a second"),
        ("Events recorded", f"{len(events)}"),
        ("memory of a Pod", f"{used_kib / pods:.1f} KiB"),
        ("CPU when nothing changes", f"{idle:.1%} of a core"),
    ]


def show_workloads(pods: int) -> None:
    with scratch() as data:
        figures = run(_measure(pods, data))
    table = Table(title=f"{pods} Pods, from their Deployments on", title_justify="left", box=SIMPLE_HEAD)
    table.add_column("what", no_wrap=True)
    table.add_column("measured", justify="right", no_wrap=True)
    for row in figures:
        table.add_row(*row)
    console().print(table)
