"""A look after an own deletion waits until the cache has seen it; in virtual time."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from homeostat.runtime.cache.cache import CacheWriter
from homeostat.runtime.cache.decoding import Projected
from homeostat.runtime.cache.freshness import Deletion
from homeostat.testing.clock import virtual_time
from tests.runtime.projections import Pod, pod, pod_cache

GONE = Deletion("u1", known=5)


class NameOnly(msgspec.Struct, frozen=True):
    name: str
    namespace: str
    resource_version: str
    uid: str = ""


class Bare(msgspec.Struct, frozen=True):
    metadata: NameOnly


def bare(version: int, uid: str = "") -> Bare:
    return Bare(NameOnly("web", "shop", str(version), uid))


@pytest.mark.parametrize(
    ("held", "is_unseen"),
    [
        pytest.param(pod("web", 3, uid="u1"), True, id="as it was"),
        pytest.param(pod("web", 7, uid="u1"), True, id="changed before it went"),
        pytest.param(pod("web", 7, uid="u1", end="2026-05-04T12:00:00Z"), False, id="being deleted"),
        pytest.param(pod("web", 3, uid="u2"), False, id="a namesake"),
        pytest.param(bare(5), True, id="no uid, no newer than what was known"),
        pytest.param(bare(6), False, id="no uid, newer"),
        pytest.param(bare(5, "u1"), True, id="deletion does not show, no newer"),
        pytest.param(bare(6, "u1"), False, id="deletion does not show, newer"),
    ],
)
def test_what_is_held_is_the_deleted_one_or_not(held: Projected, is_unseen: bool) -> None:
    assert GONE.is_unseen_in(held) == is_unseen


@pytest.mark.parametrize(
    ("held", "is_unseen"),
    [
        pytest.param(pod("web", 5, uid="u1", end="2026-05-04T12:00:00Z"), True, id="being deleted"),
        pytest.param(pod("web", 9, uid="u2"), False, id="a namesake"),
        pytest.param(bare(5), True, id="no uid, as it was in the end"),
        pytest.param(bare(9), False, id="no uid, newer"),
    ],
)
def test_what_went_with_its_last_finalizer_is_no_more_seen_as_being_deleted(held: Projected, is_unseen: bool) -> None:
    assert Deletion("u1", known=5, is_final=True).is_unseen_in(held) == is_unseen


def synced(*pods: Pod, version: int = 5) -> CacheWriter[Pod]:
    writer = pod_cache()
    listing = writer.listing()
    for each in pods:
        listing.put(each)
    listing.swap(version)
    return writer


@virtual_time
async def test_a_reconciliation_waits_until_the_deleted_one_is_gone() -> None:
    writer = synced(pod("web", 3, uid="u1"))
    writer.cache.deleted("shop", "web", GONE)
    looks = [asyncio.create_task(writer.cache.await_version("shop", "web")) for _ in range(2)]
    writer.put(pod("web", 6, uid="u1"))
    writer.put(pod("db", 7))
    writer.advance(9)
    await asyncio.sleep(1)
    assert not any(look.done() for look in looks)
    writer.remove(pod("web", 10, uid="u1"))
    await asyncio.wait_for(asyncio.gather(*looks), 1)
    assert not writer.cache.is_behind("shop", "web")
    assert writer.cache._deletions == {}


@pytest.mark.parametrize(
    "newer", [pod("web", 8, uid="u1", end="2026-05-04T12:00:00Z"), pod("web", 8, uid="u2")], ids=["mark", "namesake"]
)
@virtual_time
async def test_a_reconciliation_waits_no_longer_than_for_a_mark_or_a_namesake(newer: Pod) -> None:
    writer = synced(pod("web", 3, uid="u1"))
    writer.cache.deleted("shop", "web", GONE)
    look = asyncio.create_task(writer.cache.await_version("shop", "web"))
    await asyncio.sleep(1)
    writer.put(newer)
    await asyncio.wait_for(look, 1)


@pytest.mark.parametrize("held", [(), (pod("web", 7, uid="u2"),)], ids=["gone", "a namesake"])
def test_a_deletion_that_was_seen_before_its_answer_counts_as_seen(held: tuple[Pod, ...]) -> None:
    writer = synced(*held, version=7)
    writer.cache.deleted("shop", "web", GONE)
    assert not writer.cache.is_behind("shop", "web")
    assert writer.cache._deletions == {}


@virtual_time
async def test_one_that_was_created_and_deleted_before_the_watch_delivered_either_is_waited_for() -> None:
    writer = synced()
    writer.cache.wrote("shop", "web", 6)
    writer.cache.deleted("shop", "web", GONE)
    look = asyncio.create_task(writer.cache.await_version("shop", "web"))
    await asyncio.sleep(1)
    writer.put(pod("web", 6, uid="u1"))
    await asyncio.sleep(1)
    assert not look.done()
    writer.remove(pod("web", 7, uid="u1"))
    await asyncio.wait_for(look, 1)


def test_versions_of_own_writes_are_known_unless_the_server_was_put_back() -> None:
    writer = synced(version=5)
    writer.cache.wrote("shop", "web", 8)
    assert writer.cache.newest_known == 8
    writer.advance(9)
    assert writer.cache.newest_known == 9
    writer.listing().swap(3)
    assert writer.cache.newest_known == 3


@virtual_time
async def test_a_list_asked_for_after_the_deletion_is_right_whatever_it_says() -> None:
    writer = synced(pod("web", 3, uid="u1"))
    earlier = writer.listing()
    writer.cache.deleted("shop", "web", GONE)
    look = asyncio.create_task(writer.cache.await_version("shop", "web"))
    earlier.put(pod("web", 3, uid="u1"))
    earlier.swap(6)
    await asyncio.sleep(1)
    assert not look.done()
    # A server that was put back to a backup has the object again.
    later = writer.listing()
    later.put(pod("web", 3, uid="u1"))
    later.swap(900)
    await asyncio.wait_for(look, 1)


@virtual_time
async def test_a_list_that_is_only_compared_is_right_about_it_too() -> None:
    writer = synced(pod("web", 3, uid="u1"))
    writer.cache.deleted("shop", "web", GONE)
    look = asyncio.create_task(writer.cache.await_version("shop", "web"))
    await asyncio.sleep(1)
    later = writer.comparison()
    later.put(pod("web", 3, uid="u1"))
    assert later.merge(900) == []
    await asyncio.wait_for(look, 1)


@virtual_time
async def test_a_cache_that_nobody_fills_any_more_holds_up_nobody() -> None:
    writer = synced(pod("web", 3, uid="u1"))
    writer.cache.deleted("shop", "web", GONE)
    look = asyncio.create_task(writer.cache.await_version("shop", "web"))
    await asyncio.sleep(1)
    writer.release()
    await asyncio.wait_for(look, 1)
