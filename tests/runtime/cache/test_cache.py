from __future__ import annotations

import pytest

from homeostat.runtime.cache.cache import Cache, CacheWriter, Change
from homeostat.runtime.cache.decoding import UnreadableObject
from tests.runtime.projections import Pod, pod, pod_cache


def listed(writer: CacheWriter[Pod], pods: list[Pod], version: int) -> list[Change[Pod]]:
    listing = writer.listing()
    for each in pods:
        listing.put(each)
    return listing.swap(version)


def held(cache: Cache[Pod]) -> list[str]:
    return sorted(f"{each.metadata.name}@{each.metadata.resource_version}" for each in cache)


def test_after_a_list_the_cache_holds_what_was_listed() -> None:
    writer = pod_cache()
    web, db = pod("web", 3), pod("db", 4)
    assert listed(writer, [web, db], 7) == [Change("shop", "web", None, web), Change("shop", "db", None, db)]
    cache = writer.cache
    assert (held(cache), len(cache), cache.version, cache.is_synced) == (["db@4", "web@3"], 2, 7, True)
    assert cache.get("shop", "web") is web
    assert (cache.get("shop", "api"), cache.get("bank", "web")) == (None, None)


def test_nothing_of_a_list_shows_before_it_is_whole() -> None:
    writer = pod_cache()
    listed(writer, [pod("web", 3)], 7)
    listing = writer.listing()
    listing.put(pod("db", 8))
    assert held(writer.cache) == ["web@3"]
    assert writer.cache.version == 7


def test_an_empty_list_is_a_list() -> None:
    writer = pod_cache()
    assert not writer.cache.is_synced
    assert listed(writer, [], 5) == []
    assert writer.cache.is_synced


def test_a_relist_reports_what_became_of_each() -> None:
    writer = pod_cache()
    web, db, api = pod("web", 1), pod("db", 2), pod("api", 3, namespace="bank")
    listed(writer, [web, db, api], 3)
    newer, cron = pod("db", 5), pod("cron", 6)
    assert listed(writer, [web, newer, cron], 9) == [
        Change("bank", "api", api, None),
        Change("shop", "db", db, newer),
        Change("shop", "cron", None, cron),
    ]
    assert held(writer.cache) == ["cron@6", "db@5", "web@1"]
    assert len(writer.cache) == 3


def test_an_object_listed_again_unchanged_is_the_same_value() -> None:
    writer = pod_cache()
    web = pod("web", 1)
    listed(writer, [web], 1)
    assert listed(writer, [pod("web", 1)], 9) == []
    assert writer.cache.get("shop", "web") is web


def test_a_list_given_up_leaves_no_trace() -> None:
    writer = pod_cache()
    listed(writer, [pod("web", 3)], 7)
    writer.listing().put(pod("db", 8))
    assert listed(writer, [pod("web", 3)], 9) == []


def test_a_list_that_becomes_the_state_ends_a_comparison_on_either_side_of_its_beginning() -> None:
    writer = pod_cache()
    listed(writer, [pod("web", 3)], 7)
    before = writer.comparison()
    before.put(pod("web", 3))
    before.put(pod("db", 2))
    listing = writer.listing()
    assert before.merge(8) == []

    after = writer.comparison()
    after.put(pod("web", 3))
    listing.swap(9)
    assert after.merge(8) == []
    assert held(writer.cache) == []


def test_events_change_the_cache() -> None:
    writer = pod_cache()
    listed(writer, [], 1)
    web, newer = pod("web", 2), pod("web", 3)
    assert writer.put(web) == Change("shop", "web", None, web)
    assert writer.put(newer) == Change("shop", "web", web, newer)
    assert writer.cache.version == 3
    assert writer.remove(pod("web", 4)) == Change("shop", "web", newer, None)
    assert (len(writer.cache), writer.cache.names(), writer.cache.version) == (0, [], 4)


def test_a_bookmark_moves_the_version_alone() -> None:
    writer = pod_cache()
    listed(writer, [pod("web", 1)], 1)
    writer.advance(50)
    writer.advance(40)
    assert (writer.cache.version, held(writer.cache)) == (50, ["web@1"])


def test_an_older_event_changes_nothing() -> None:
    writer = pod_cache()
    listed(writer, [pod("web", 5)], 5)
    assert writer.put(pod("web", 4, node="n1")) is None
    assert writer.remove(pod("web", 4)) is None
    assert (held(writer.cache), writer.cache.version) == (["web@5"], 5)


def test_an_event_delivered_twice_is_one_change() -> None:
    writer = pod_cache()
    listed(writer, [], 1)
    assert writer.put(pod("web", 2)) is not None
    assert writer.put(pod("web", 2)) is None
    assert writer.remove(pod("web", 3)) is not None
    assert writer.remove(pod("web", 3)) is None


def test_an_older_event_does_not_bring_a_removed_object_back() -> None:
    writer = pod_cache()
    listed(writer, [pod("web", 1)], 1)
    writer.remove(pod("web", 3))
    assert writer.put(pod("web", 2)) is None
    assert held(writer.cache) == []
    assert writer.put(pod("web", 4)) is not None


def test_a_server_put_back_to_a_backup_is_taken_at_its_word() -> None:
    writer = pod_cache()
    listed(writer, [pod("web", 90)], 100)
    listed(writer, [pod("web", 40)], 50)
    assert (held(writer.cache), writer.cache.version) == (["web@40"], 50)
    assert writer.put(pod("web", 51)) is not None


def test_what_is_iterated_is_the_state_at_that_moment() -> None:
    writer = pod_cache()
    listed(writer, [pod(name, 1) for name in "abc"], 1)
    seen = []
    for number, each in enumerate(writer.cache):
        writer.remove(pod("c", 10))
        writer.put(pod(f"new-{number}", 11 + number))
        listed(writer, [pod("z", 50)], 50)
        seen.append(each.metadata.name)
    assert seen == ["a", "b", "c"]


def test_objects_are_found_by_namespace() -> None:
    writer = pod_cache()
    listed(writer, [pod("web", 1), pod("db", 2), pod("web", 3, namespace="bank")], 3)
    assert [each.metadata.name for each in writer.cache.in_namespace("shop")] == ["web", "db"]
    assert writer.cache.in_namespace("nowhere") == []
    assert writer.cache.names() == [("shop", "web"), ("shop", "db"), ("bank", "web")]


def test_objects_are_found_by_index() -> None:
    writer = pod_cache()
    cache = writer.cache
    listed(writer, [pod("a", 1, app="web", node="n1"), pod("b", 2, app="web"), pod("c", 3)], 3)
    assert cache.indexed_names("app", "web") == [("shop", "a"), ("shop", "b")]
    writer.put(pod("a", 4, app="db", node="n1"))
    writer.put(pod("c", 5, app="web"))
    assert cache.indexed_names("app", "web") == [("shop", "b"), ("shop", "c")]
    assert [each.metadata.resource_version for each in cache.indexed("app", "db")] == ["4"]
    assert cache.indexed_names("node", "n1") == [("shop", "a")]
    writer.remove(pod("a", 6))
    assert (cache.indexed("app", "db"), cache.indexed("node", "n1")) == ([], [])
    listed(writer, [pod("d", 7, app="db")], 7)
    assert (cache.indexed("app", "web"), cache.indexed_names("app", "db")) == ([], [("shop", "d")])


def test_an_index_added_later_knows_what_is_held() -> None:
    writer = pod_cache()
    listed(writer, [pod("a", 1), pod("b", 2)], 2)
    writer.add_index("first letter", lambda each: each.metadata.name[0])
    assert writer.cache.indexed_names("first letter", "b") == [("shop", "b")]
    with pytest.raises(ValueError, match="first letter"):
        writer.add_index("first letter", lambda _: ())


def test_an_unknown_index_is_an_error_and_an_unknown_key_is_not() -> None:
    cache = pod_cache().cache
    assert cache.indexed("app", "nothing") == []
    with pytest.raises(KeyError):
        cache.indexed("no such index", "nothing")


def test_what_cannot_be_read_is_left_out_unless_what_is_held_is_newer() -> None:
    writer = pod_cache()
    held = pod("web", 5)
    listed(writer, [held], 7)
    assert writer.leave_out(UnreadableObject("shop", "web", 4, "odd")) is None
    assert writer.cache.get("shop", "web") is held
    assert writer.leave_out(UnreadableObject("shop", "web", 8, "odd")) == Change("shop", "web", held, None)
    assert (len(writer.cache), writer.cache.version) == (0, 8)
