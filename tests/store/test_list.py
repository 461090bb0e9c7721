"""Contract: the current records of a scope, and pages of a fixed snapshot."""

from __future__ import annotations

import asyncio

import pytest

from homeostat.store import replica
from homeostat.store.base import CompactedError, FutureRevisionError, Key, Page, Scope, Store
from tests.store.contract import PODS, StoreFactory, names, pod, put, remove

KEYS = [
    Key("namespaces", "", "a"),
    Key("namespaces", "", "b"),
    Key("pods", "a", "one"),
    Key("pods", "a", "two"),
    Key("pods", "a-b", "one"),
    Key("pods", "ab", "one"),
    Key("pods", "b", "one"),
    Key("pods", "b", "one-more"),
    Key("pods.metrics", "a", "one"),
]


@pytest.mark.parametrize(
    ("scope", "expected"),
    [
        pytest.param(Scope("pods"), ["a/one", "a/two", "a-b/one", "ab/one", "b/one", "b/one-more"], id="resource"),
        pytest.param(Scope("pods", "a"), ["a/one", "a/two"], id="namespace-not-those-it-begins"),
        pytest.param(Scope("pods", "a-b"), ["a-b/one"], id="namespace-with-a-dash"),
        pytest.param(Scope("pods", "b", "one"), ["b/one"], id="name-not-those-it-begins"),
        pytest.param(Scope("pods", "b", "none"), [], id="name-not-there"),
        pytest.param(Scope("pods", "zzz"), [], id="namespace-not-there"),
        pytest.param(Scope("namespaces"), ["/a", "/b"], id="cluster-scope"),
        pytest.param(Scope("namespaces", "", "b"), ["/b"], id="name-in-cluster-scope"),
        pytest.param(Scope("pods.metrics"), ["a/one"], id="resource-not-those-it-begins"),
        pytest.param(Scope("pod"), [], id="resource-not-there"),
    ],
)
async def test_a_scope_selects_its_records_in_order(store: Store, scope: Scope, expected: list[str]) -> None:
    for key in reversed(KEYS):
        await put(store, key, "x")

    assert names(store.select(scope)) == expected
    assert store.count(scope) == len(expected)
    assert names((await store.page(scope, at=store.revision)).records) == expected


async def test_records_are_ordered_by_namespace_then_name_whatever_the_order_of_writing(store: Store) -> None:
    for name in ("m", "z", "a", "q", "b"):
        for namespace in ("two", "one", "one-a"):
            await put(store, pod(name, namespace), "x")
    found = [(record.key.namespace, record.key.name) for record in store.select(PODS)]

    assert found == sorted(found)
    assert len(found) == 15


async def test_later_writes_do_not_show_in_a_selection(store: Store) -> None:
    await put(store, pod("a"), "1")
    selected = store.select(PODS)
    await put(store, pod("a"), "2")
    await put(store, pod("b"), "1")
    await remove(store, pod("a"))

    assert [record.value for record in selected] == [b"<1:1>"]


async def test_only_resources_that_have_records_are_named(store: Store) -> None:
    await put(store, Key("widgets", "", "a"), "1")
    await put(store, pod("a"), "1")
    await remove(store, pod("a"))

    assert list(store.resources()) == ["widgets"]


async def read_all(store: Store, scope: Scope, at: int, limit: int) -> list[Page]:
    pages = [await store.page(scope, at=at, limit=limit)]
    while pages[-1].remaining:
        last = pages[-1].records[-1].key
        pages.append(await store.page(scope, at=at, after=(last.namespace, last.name), limit=limit))
    return pages


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 6, 7, 0])
async def test_pages_add_up_to_the_scope(store: Store, limit: int) -> None:
    for key in KEYS:
        await put(store, key, "x")
    pages = await read_all(store, PODS, store.revision, limit)

    assert [name for page in pages for name in names(page.records)] == names(store.select(PODS))
    assert {page.revision for page in pages} == {store.revision}
    assert all(len(page.records) == limit for page in pages[:-1])
    left = [page.remaining + sum(len(each.records) for each in pages[: i + 1]) for i, page in enumerate(pages)]
    assert set(left) == {6}


@pytest.mark.parametrize("most", [5_000, 1], ids=["few", "many"])
@pytest.mark.parametrize("history_events", [1000, 3, 0], ids=["memory", "partly-disk", "disk"])
async def test_pages_of_a_snapshot_do_not_show_what_came_later(
    store_factory: StoreFactory, history_events: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replica, "_MANY", most)
    store = await store_factory.open(history_events=history_events)
    for name in "abcdef":
        await put(store, pod(name), "1")
    at = store.revision
    first = await store.page(PODS, at=at, limit=2)
    await put(store, pod("aa"), "new")
    await put(store, pod("cc"), "new")
    await put(store, pod("d"), "2")
    await put(store, pod("d"), "3")
    await remove(store, pod("e"))
    await remove(store, pod("c"))
    await put(store, pod("c"), "again")
    second = await store.page(PODS, at=at, after=("default", "b"), limit=2)
    third = await store.page(PODS, at=at, after=("default", "d"), limit=2)

    assert [record.value for page in (first, second, third) for record in page.records] == [
        b"<%d:1>" % revision for revision in range(1, 7)
    ]
    assert [page.remaining for page in (first, second, third)] == [4, 2, 0]
    await store.close()


@pytest.mark.parametrize("history_events", [1000, 0], ids=["memory", "disk"])
async def test_a_page_is_full_however_much_was_made_or_deleted_since(
    store_factory: StoreFactory, history_events: int
) -> None:
    store = await store_factory.open(history_events=history_events)
    for name in ("b", "d", "f", "h", "j"):
        await put(store, pod(name), "1")
    at = store.revision
    for name in ("a", "aa", "c", "e", "ee", "g", "z"):
        await put(store, pod(name), "new")
    await remove(store, pod("d"))
    await remove(store, pod("g"))
    pages = await read_all(store, PODS, at, 2)

    assert [[record.key.name for record in page.records] for page in pages] == [["b", "d"], ["f", "h"], ["j"]]
    await store.close()


async def test_a_page_of_one_namespace_is_untouched_by_another(store: Store) -> None:
    await put(store, pod("a", "one"), "1")
    await put(store, pod("a", "two"), "1")
    at = store.revision
    await put(store, pod("b", "two"), "1")

    assert names((await store.page(Scope("pods", "one"), at=at)).records) == ["one/a"]
    assert names((await store.page(Scope("pods", "two"), at=at)).records) == ["two/a"]


async def test_every_revision_can_be_read_as_it_was_after_a_restart(store_factory: StoreFactory) -> None:
    store = await store_factory.open()
    states: list[list[bytes]] = [[]]
    for step in range(40):
        key = pod(str(step * 7 % 11))
        if store.get(key) is not None and step % 3 == 0:
            await remove(store, key)
        else:
            await put(store, key, str(step))
        states.append([record.value for record in store.select(PODS)])
    await store.close()
    store = await store_factory.open()
    found = [await store.page(PODS, at=at) for at in range(41)]

    assert [[record.value for record in page.records] for page in found] == states
    await store.close()


async def test_a_snapshot_not_reached_or_compacted_is_refused(store: Store) -> None:
    for step in range(10):
        await put(store, pod("a"), str(step))
    with pytest.raises(FutureRevisionError):
        await store.page(PODS, at=11)
    await store.compact(6)

    assert [record.value for record in (await store.page(PODS, at=6)).records] == [b"<6:5>"]
    with pytest.raises(CompactedError) as error:
        await store.page(PODS, at=5)
    assert error.value.oldest == 6


async def test_waiting_for_a_revision_that_does_not_come_ends(store: Store) -> None:
    await put(store, pod("a"), "1")
    await store.reach(1, timeout_s=0)

    with pytest.raises(FutureRevisionError) as error:
        await store.reach(7, timeout_s=0.01)
    assert (error.value.requested, error.value.current) == (7, 1)


async def test_pages_read_while_others_write_are_of_their_snapshot(store_factory: StoreFactory) -> None:
    store = await store_factory.open(history_events=5)
    for step in range(30):
        await put(store, pod(f"{step:02}"), "first")
    at, expected = store.revision, [record.value for record in store.select(PODS)]

    async def write() -> None:
        for step in range(60):
            key = pod(f"{step % 40:02}")
            await (remove(store, key) if step % 4 == 0 and store.get(key) else put(store, key, str(step)))

    writing = asyncio.ensure_future(write())
    while not writing.done():
        pages = await read_all(store, PODS, at, 7)
        assert [record.value for page in pages for record in page.records] == expected
        await asyncio.sleep(0)
    await writing
    await store.close()
