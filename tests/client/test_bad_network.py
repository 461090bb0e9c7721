"""Many requests at once to a plane behind a network that cuts connections anywhere, under TLS."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from dataclasses import replace
from urllib.parse import urlsplit

import pytest

from homeostat.client.base import Client, UnreachableError
from homeostat.client.endpoint.endpoint import Endpoint
from homeostat.client.http.retries import Patience, Retrying
from homeostat.client.http.transport import open_transport
from homeostat.objects.json import JsonObject
from homeostat.plane import Plane
from tests.runtime.faulty import CONFIG_MAPS, open_proxy

REQUESTS = 120


async def test_no_write_is_done_twice_and_no_answer_is_anothers(plane: Plane, endpoint: Endpoint) -> None:
    chance = random.Random(5)
    done: Counter[bool] = Counter()

    async with open_proxy(urlsplit(endpoint.server).port or 0) as proxy:
        # A greeting under TLS takes some 2,500 bytes, an answer some 500.
        proxy.budget = lambda: chance.randrange(2_000, 12_000)
        through = replace(endpoint, server=f"https://127.0.0.1:{proxy.port}")
        async with open_transport(through, connections=6) as transport:
            client = Client(Retrying(transport, Patience(attempts=20, first_s=0.001, longest_s=0.01)))

            async def create(number: int) -> None:
                wanted: JsonObject = {"metadata": {"generateName": "a-", "labels": {"number": str(number)}}}
                try:
                    made = await client.create(CONFIG_MAPS, wanted)
                except UnreachableError:
                    done[False] += 1
                else:
                    assert made["metadata"]["labels"] == {"number": str(number)}
                    found = await client.get(f"{CONFIG_MAPS}/{made['metadata']['name']}")
                    assert found["metadata"] == made["metadata"]
                    done[True] += 1

            await asyncio.gather(*(create(number) for number in range(REQUESTS)))
        assert proxy.connections > 6

    items, _ = await plane.client.list(CONFIG_MAPS, labelSelector="number")
    made = Counter(each["metadata"]["labels"]["number"] for each in items)
    assert max(made.values()) == 1
    assert done[True] <= len(made) <= REQUESTS
    assert done[True] > 0
    assert done[False] > 0


@pytest.mark.parametrize("seed", range(3))
async def test_requests_that_are_given_up_at_any_time_spoil_no_other(endpoint: Endpoint, seed: int) -> None:
    chance = random.Random(seed)
    async with open_transport(endpoint, connections=4) as transport:
        client = Client(transport)

        async def look(name: str) -> None:
            found = await client.get(f"/api/v1/namespaces/{name}")
            assert found["metadata"]["name"] == name

        names = ["default", "kube-system", "kube-public", "kube-node-lease"]
        looks = [asyncio.create_task(look(names[number % 4])) for number in range(200)]
        while not all(each.done() for each in looks):
            chance.choice(looks).cancel()
            await asyncio.sleep(chance.random() * 0.001)
        ends = await asyncio.gather(*looks, return_exceptions=True)
    assert all(each is None or isinstance(each, asyncio.CancelledError) for each in ends)
    assert None in ends
