"""A look after an own write waits until the cache has seen that write; in virtual time."""

from __future__ import annotations

import asyncio

import pytest

from homeostat.runtime.cache.cache import CacheWriter
from homeostat.testing.clock import virtual_time
from tests.runtime.projections import Pod, pod, pod_cache


def synced(version: int = 1) -> CacheWriter[Pod]:
    writer = pod_cache()
    listing = writer.listing()
    listing.put(pod("web", 1))
    listing.swap(version)
    return writer


@virtual_time
async def test_an_object_never_written_is_not_waited_for() -> None:
    cache = synced().cache
    await cache.await_version("shop", "web")
    assert not cache.is_behind("shop", "web")


@virtual_time
async def test_a_reconciliation_waits_for_the_event_of_the_write() -> None:
    writer = synced()
    writer.cache.wrote("shop", "web", 5)
    looks = [asyncio.create_task(writer.cache.await_version("shop", "web")) for _ in range(2)]
    writer.put(pod("web", 4))
    await asyncio.sleep(1)
    assert not any(look.done() for look in looks)
    writer.put(pod("web", 5))
    await asyncio.gather(*looks)
    assert not writer.cache.is_behind("shop", "web")


@virtual_time
async def test_only_the_object_that_was_written_is_waited_for() -> None:
    cache = synced().cache
    cache.wrote("shop", "web", 5)
    assert (cache.is_behind("shop", "web"), cache.is_behind("shop", "db")) == (True, False)
    await cache.await_version("shop", "db")


@pytest.mark.parametrize("how", ["event of another", "removal", "bookmark", "list"])
def test_a_later_version_of_anything_will_do(how: str) -> None:
    writer = synced()
    writer.cache.wrote("shop", "web", 5)
    match how:
        case "event of another":
            writer.put(pod("db", 6))
        case "removal":
            writer.remove(pod("web", 6))
        case "bookmark":
            writer.advance(5)
        case _:
            writer.listing().swap(7)
    assert not writer.cache.is_behind("shop", "web")


def test_a_write_that_was_seen_before_its_answer_counts_as_seen() -> None:
    writer = synced()
    writer.put(pod("web", 5))
    writer.cache.wrote("shop", "web", 5)
    assert not writer.cache.is_behind("shop", "web")


@virtual_time
async def test_a_second_write_is_waited_for_too() -> None:
    writer = synced()
    writer.cache.wrote("shop", "web", 5)
    look = asyncio.create_task(writer.cache.await_version("shop", "web"))
    await asyncio.sleep(1)
    writer.cache.wrote("shop", "web", 9)
    writer.put(pod("web", 5))
    await asyncio.sleep(1)
    assert not look.done()
    writer.put(pod("web", 9))
    await look


def test_an_older_write_that_is_noted_late_does_not_lower_the_bar() -> None:
    cache = synced().cache
    cache.wrote("shop", "web", 9)
    cache.wrote("shop", "web", 5)
    assert cache._freshness._wanted == {("shop", "web"): 9}


@virtual_time
async def test_a_wait_ends_with_its_timeout_and_leaves_nothing_behind() -> None:
    cache = synced().cache
    cache.wrote("shop", "web", 5)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(cache.await_version("shop", "web"), 5)
    assert cache._freshness._waiters == {}


@virtual_time
async def test_a_list_of_a_moment_before_the_write_does_not_end_the_wait() -> None:
    writer = synced()
    writer.cache.wrote("shop", "web", 9)
    writer.listing().swap(8)
    assert writer.cache.is_behind("shop", "web")


@virtual_time
async def test_writes_lost_with_a_server_put_back_are_not_waited_for() -> None:
    writer = synced(100)
    writer.cache.wrote("shop", "web", 120)
    look = asyncio.create_task(writer.cache.await_version("shop", "web"))
    await asyncio.sleep(1)
    writer.listing().swap(50)
    await look


def test_only_writes_that_were_not_seen_are_kept() -> None:
    writer = synced()
    for version in range(2, 1000):
        writer.cache.wrote("shop", f"web-{version % 10}", version)
        writer.put(pod(f"web-{version % 10}", version - 1))
    writer.advance(1000)
    freshness = writer.cache._freshness
    assert (freshness._wanted, freshness._pending) == ({}, [])


def test_writes_to_the_same_object_pile_up_to_nothing_while_the_watch_is_cut_off() -> None:
    writer = synced()
    for version in range(2, 5000):
        writer.cache.wrote("shop", "web", version)
    assert len(writer.cache._freshness._pending) < 300
    writer.advance(4998)
    assert writer.cache.is_behind("shop", "web")
    writer.advance(4999)
    assert not writer.cache.is_behind("shop", "web")
