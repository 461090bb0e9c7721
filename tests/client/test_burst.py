"""A burst of writes as a watch delivers it, on every server and over every transport.

A real API server ends the watch of who is slow to read, without an error and even in the middle of a burst: a watch
that ends is no sign that nothing more happens, and who follows one goes on from where it was.
"""

from __future__ import annotations

import asyncio
import time

from homeostat.client.base import Client

WRITES = 300


async def test_every_write_of_a_burst_is_delivered_once_and_in_order_however_often_the_watch_ends(
    client: Client, home: str
) -> None:
    path = f"/api/v1/namespaces/{home}/configmaps"
    _, revision = await client.list(path)
    told: dict[str, int] = {}

    async def follow(revision: str) -> None:
        while len(told) < WRITES:
            async for event in client.watch(path, resourceVersion=revision, timeoutSeconds=30):
                name, version = event.obj["metadata"]["name"], event.obj["metadata"]["resourceVersion"]
                assert name not in told
                assert int(version) > int(revision)
                told[name], revision = int(version), version
                if len(told) % 50 == 0:
                    # As one whom others keep from the processor.
                    time.sleep(0.05)  # noqa: ASYNC251
                if len(told) == WRITES:
                    return

    async def write(first: int) -> None:
        for number in range(first, WRITES, 10):
            body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"c-{number}"}}
            await client.create(path, body | {"data": {"text": "x" * 1000}})

    following = asyncio.create_task(follow(revision))
    await asyncio.gather(*(write(first) for first in range(10)))
    await asyncio.wait_for(following, 40)
    items, _ = await client.list(path)
    assert {each["metadata"]["name"]: int(each["metadata"]["resourceVersion"]) for each in items} == told
