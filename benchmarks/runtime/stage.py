"""A plane without operators, a client and a load on it: where an operator in a process of its own is measured."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

from benchmarks.bench import Bench, Scale, open_bench
from benchmarks.served import scratch, serve
from benchmarks.usage import Processes
from homeostat.client.base import Client
from homeostat.client.connect import open_client
from homeostat.client.endpoint.kubeconfig import load_endpoint
from homeostat.objects.crd.custom_kind import CustomKind
from homeostat.runtime.installation import install

_RETRY_S = 0.1


class Stage(NamedTuple):
    client: Client
    bench: Bench
    kubeconfig: Path


@asynccontextmanager
async def open_stage(kinds: Sequence[CustomKind]) -> AsyncIterator[Stage]:
    with scratch() as data, serve(data, "--operators", "housekeeping") as served:
        kubeconfig = data / "kubeconfig"
        async with (
            open_client(load_endpoint([kubeconfig])) as client,
            open_bench(served.target, Processes([served.pid]), Scale()) as bench,
        ):
            await install(client, kinds)
            yield Stage(client, bench, kubeconfig)


async def scrape(port: int) -> str:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
    answer = (await reader.read()).decode()
    writer.close()
    return answer


async def wait_for_metrics(port: int, is_reached: Callable[[str], bool], *, every_s: float, within_s: float) -> float:
    """Seconds until the metrics of an operator show something; also while it starts. `TimeoutError` if they do not."""
    began = perf_counter()
    while perf_counter() - began < within_s:
        try:
            answer = await scrape(port)
        except OSError:
            await asyncio.sleep(_RETRY_S)
            continue
        if is_reached(answer):
            return perf_counter() - began
        await asyncio.sleep(every_s)
    raise TimeoutError(f"the metrics of the operator do not show the expected count after {within_s:g} s")
