"""Watches, pages and revisions mean the same on every replica."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest

from homeostat.client.base import Client, Event
from homeostat.objects.errors import BadRequestError, TimedOutError

WRITES = 90


def config_maps(namespace: str, name: str = "") -> str:
    return f"/api/v1/namespaces/{namespace}/configmaps{name and f'/{name}'}"


async def take(events: AsyncIterator[Event], count: int) -> list[Event]:
    found: list[Event] = []
    async with asyncio.timeout(30):
        async for event in events:
            found.append(event)
            if len(found) == count:
                break
    return found


async def test_every_watch_sees_the_writes_of_all_once_and_in_order(clients: list[Client], namespace: str) -> None:
    path = config_maps(namespace)
    _, revision = await clients[0].list(path)
    selected = {"resourceVersion": revision, "labelSelector": "told=yes"}
    watching = [asyncio.ensure_future(take(client.watch(path, **selected), WRITES)) for client in clients]

    written: list[int] = []

    async def write(writer: int) -> None:
        for number in range(WRITES // 3):
            made = await clients[writer].create(
                path, {"metadata": {"name": f"w{writer}-{number}", "labels": {"told": "yes"}}}
            )
            written.append(int(made["metadata"]["resourceVersion"]))

    await asyncio.gather(*map(write, range(3)))

    for seen in await asyncio.gather(*watching):
        assert [int(event.obj["metadata"]["resourceVersion"]) for event in seen] == sorted(written)
        assert {event.type for event in seen} == {"ADDED"}


async def test_a_watch_continues_at_another_replica_where_it_ended(clients: list[Client], namespace: str) -> None:
    path = config_maps(namespace)
    _, revision = await clients[0].list(path)
    seen: list[str] = []
    for number in range(12):
        await clients[number % 3].create(path, {"metadata": {"name": f"n{number:02}", "labels": {"told": "yes"}}})
        watch = clients[(number + 1) % 3].watch(path, resourceVersion=revision, labelSelector="told=yes")
        (event,) = await take(watch, 1)
        seen.append(event.obj["metadata"]["name"])
        revision = event.obj["metadata"]["resourceVersion"]
    assert seen == [f"n{number:02}" for number in range(12)]


async def test_a_list_is_continued_by_another_replica_as_it_was(clients: list[Client], namespace: str) -> None:
    path = config_maps(namespace)
    names = [f"page-{number:02}" for number in range(30)]
    for number, name in enumerate(names):
        await clients[number % 3].create(path, {"metadata": {"name": name, "labels": {"paged": "yes"}}})
    found: list[str] = []
    token, turn = "", 0
    while True:
        page = await clients[turn % 3].request(
            "GET", path, {"limit": 7, "labelSelector": "paged=yes", "continue": token}
        )
        found += [each["metadata"]["name"] for each in page["items"]]
        token = page["metadata"].get("continue", "")
        if not token:
            break
        # Not of the snapshot that is being read.
        await clients[(turn + 1) % 3].create(
            path, {"metadata": {"name": f"page-{99 - turn}", "labels": {"paged": "yes"}}}
        )
        turn += 1
    assert found == names


async def test_a_revision_shown_by_one_can_be_asked_of_another(clients: list[Client], namespace: str) -> None:
    path = config_maps(namespace)
    for number in range(20):
        made = await clients[number % 3].create(path, {"metadata": {"name": f"r{number}"}})
        revision = made["metadata"]["resourceVersion"]
        other = clients[(number + 1) % 3]
        assert await other.request("GET", f"{path}/r{number}", {"resourceVersion": revision}) == made
        exact = {"resourceVersion": revision, "resourceVersionMatch": "Exact"}
        await clients[(number + 2) % 3].delete(f"{path}/r{number}")
        page = await other.request("GET", path, exact)
        assert page["metadata"]["resourceVersion"] == revision
        assert made["metadata"]["uid"] in {each["metadata"]["uid"] for each in page["items"]}


async def test_a_revision_that_nobody_has_reached_is_refused_as_too_large(
    clients: list[Client], namespace: str
) -> None:
    _, newest = await clients[0].list(config_maps(namespace))
    future = str(int(newest) + 1_000_000)
    with pytest.raises(TimedOutError, match="Too large resource version"):
        await clients[1].request("GET", config_maps(namespace), {"resourceVersion": future})


async def test_a_continue_token_of_no_replica_is_refused(clients: list[Client], namespace: str) -> None:
    with pytest.raises(BadRequestError, match="continue key is not valid"):
        await clients[1].request("GET", config_maps(namespace), {"continue": "bm9uc2Vuc2U"})


async def test_a_streamed_list_is_complete_up_to_what_others_wrote(clients: list[Client], namespace: str) -> None:
    path = config_maps(namespace)
    for number in range(10):
        await clients[number % 3].create(path, {"metadata": {"name": f"s{number}", "labels": {"streamed": "yes"}}})
        streamed = {
            "sendInitialEvents": "true",
            "resourceVersionMatch": "NotOlderThan",
            "allowWatchBookmarks": "true",
            "labelSelector": "streamed=yes",
        }
        async with aclosing(clients[(number + 1) % 3].lines(path, **streamed)) as lines:
            told = [await anext(lines) for _ in range(number + 2)]
        assert sum(b'"ADDED"' in line for line in told) == number + 1
        assert b"k8s.io/initial-events-end" in told[-1]
