"""Writes on their way to a server: which caches get them, and which are not sent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from homeostat.client.base import Client, Response
from homeostat.objects.errors import ConflictError, status_of
from homeostat.objects.json import JsonObject, encode
from homeostat.runtime.cache.informer import Informer, Informers
from homeostat.runtime.control.writes import RefusedWriteError, Scope, Scopes, Watched, writing_in
from homeostat.runtime.watch.source import Source
from homeostat.testing.clock import virtual_time
from tests.runtime.projections import Pod
from tests.runtime.wire import Sent, Wire, thing

PODS, SHOP = "/api/v1/pods", "/api/v1/namespaces/shop/pods"
SOURCES = {
    "all pods": Source(PODS),
    "pods of shop": Source(SHOP),
    "pods of bank": Source("/api/v1/namespaces/bank/pods"),
    "pods with app=web": Source(PODS, label_selector="app=web"),
    "pods on n1": Source(PODS, field_selector="spec.nodeName=n1"),
    "metadata of pods": Source(PODS, is_metadata_only=True),
    "pods of another group": Source("/apis/other.example/v1/pods"),
    "pods of another version": Source("/api/v2/pods"),
    "nodes": Source("/api/v1/nodes"),
    "namespaces": Source("/api/v1/namespaces"),
}
SHOP_PODS = {"all pods", "pods of shop", "metadata of pods", "pods of another version"}


class Watching:
    """A client whose writes are watched, and the caches that could be told."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        informers = Informers(Client(wire))
        self.caches: dict[str, Informer[Pod]] = {name: informers.get(each, Pod) for name, each in SOURCES.items()}
        self.informers = informers
        self.client = Client(Watched(wire, informers))

    def told(self, namespace: str, name: str) -> set[str]:
        """Those that have to come to a newer version of the object."""
        return {each for each, informer in self.caches.items() if informer.cache.is_behind(namespace, name)}


@asynccontextmanager
async def watching() -> AsyncIterator[Watching]:
    """`held` is in the cache of those Pods with app=web; the others hold the whole collection, which is empty."""
    wire = Wire({each.path: [] for each in SOURCES.values()})
    watching = Watching(wire)
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(watching.informers.run())
        await watching.informers.synced()
        wire.feed(PODS, "ADDED", thing("held", 11, uid="u1", app="web"), selector="app=web")
        await asyncio.sleep(1)
        wire.sent.clear()
        yield watching
        task.cancel()


def answer(obj: JsonObject, status: int = 200) -> Response:
    return Response(status, encode(obj))


def status(name: str, uid: str = "") -> JsonObject:
    """As a server answers a deletion after which the object is gone."""
    return {"kind": "Status", "metadata": {}, "status": "Success", "details": {"name": name, "uid": uid}}


@pytest.mark.parametrize(
    ("method", "path", "response", "expected"),
    [
        pytest.param("POST", SHOP, answer(thing("a", 20), 201), SHOP_PODS, id="created"),
        pytest.param("PUT", f"{SHOP}/a", answer(thing("a", 20)), SHOP_PODS, id="updated"),
        pytest.param("PATCH", f"{SHOP}/a", answer(thing("a", 20)), SHOP_PODS, id="patched"),
        pytest.param("PATCH", f"{SHOP}/a/status", answer(thing("a", 20)), SHOP_PODS, id="a subresource"),
        pytest.param(
            "PATCH", "/api/v2/namespaces/shop/pods/a", answer(thing("a", 20)), SHOP_PODS, id="another version"
        ),
        pytest.param("DELETE", f"{SHOP}/a", answer(thing("a", 20)), SHOP_PODS, id="deleted, waits for finalizers"),
        pytest.param("DELETE", f"{SHOP}/a", answer(status("a", "u1")), set(), id="deleted, held by nobody"),
        pytest.param("DELETE", SHOP, answer({"metadata": {"resourceVersion": "20"}}), set(), id="a list"),
        pytest.param("PATCH", f"{SHOP}/a", answer(thing("a", 10)), set(), id="seen already"),
        pytest.param("POST", SHOP, answer(thing("a", 0)), set(), id="without a version"),
        pytest.param("POST", f"{SHOP}/a/eviction", answer({}, 201), set(), id="without metadata"),
        pytest.param("POST", SHOP, Response(200, b"not json"), set(), id="garbled"),
        pytest.param(
            "POST", SHOP, answer({"metadata": {"name": "a", "resourceVersion": "x"}}), set(), id="odd version"
        ),
    ],
)
@virtual_time
async def test_the_caches_that_will_show_a_write_get_its_version(
    method: str, path: str, response: Response, expected: set[str]
) -> None:
    async with watching() as at:
        at.wire.answer = response
        scope = Scope()
        with writing_in(scope):
            await at.client.fetch(method, path)
        assert at.told("shop", "a") == expected
        assert scope.is_behind == bool(expected)


@pytest.mark.parametrize(
    ("path", "obj", "expected"),
    [
        pytest.param("/api/v1/nodes/n1", thing("n1", 20, namespace=""), {"nodes"}, id="cluster-scoped"),
        pytest.param("/api/v1/namespaces/shop", thing("shop", 20, namespace=""), {"namespaces"}, id="a namespace"),
        pytest.param(
            "/api/v1/namespaces/shop/finalize", thing("shop", 20, namespace=""), {"namespaces"}, id="its subresource"
        ),
        pytest.param(
            "/apis/other.example/v1/namespaces/shop/pods/a",
            thing("a", 20),
            {"pods of another group"},
            id="the same plural in another group",
        ),
        pytest.param(f"{SHOP}/held", thing("held", 20), {*SHOP_PODS, "pods with app=web"}, id="held by its label"),
        pytest.param("/api/v1/namespaces/shop/secrets/a", thing("a", 20), set(), id="watched by nobody"),
    ],
)
@virtual_time
async def test_only_the_caches_of_its_place_are_notified(path: str, obj: JsonObject, expected: set[str]) -> None:
    async with watching() as at:
        at.wire.answer = answer(obj)
        with writing_in(Scope()):
            await at.client.fetch("PATCH", path)
        assert at.told(obj["metadata"]["namespace"], obj["metadata"]["name"]) == expected


def deleted_list(*uids: str) -> JsonObject:
    metadata = [{"name": "held", "namespace": "shop", "resourceVersion": "11", "uid": each} for each in uids]
    return {
        "kind": "PodList",
        "metadata": {"resourceVersion": "20"},
        "items": [{"metadata": each} for each in metadata],
    }


@pytest.mark.parametrize(
    ("method", "path", "response", "expected"),
    [
        pytest.param("DELETE", f"{SHOP}/held", status("held", "u1"), {"pods with app=web"}, id="one"),
        pytest.param("DELETE", SHOP, deleted_list("u1"), {"pods with app=web"}, id="a collection"),
        pytest.param(
            "DELETE", f"{SHOP}/held", thing("held", 10, uid="u1"), {"pods with app=web"}, id="one, shown as it was"
        ),
        pytest.param("DELETE", f"{SHOP}/held", status("held", "u2"), set(), id="a namesake"),
        pytest.param("DELETE", SHOP, deleted_list("u2"), set(), id="a collection with a namesake"),
        pytest.param("DELETE", f"{SHOP}/held", status("held"), set(), id="without a uid"),
        pytest.param("DELETE", f"{SHOP}/held", {"kind": "Status", "details": None}, set(), id="without details"),
        pytest.param("DELETE", SHOP, {"kind": "PodList", "items": None}, set(), id="a collection of nothing"),
        pytest.param("POST", f"{SHOP}/held/eviction", status("held", "u1"), set(), id="no deletion"),
    ],
)
@virtual_time
async def test_a_deletion_is_waited_for_where_the_deleted_one_is_held(
    method: str, path: str, response: JsonObject, expected: set[str]
) -> None:
    async with watching() as at:
        at.wire.answer = answer(response)
        scope = Scope()
        with writing_in(scope):
            await at.client.request(method, path)
        assert at.told("shop", "held") == expected
        assert scope.is_behind == bool(expected)
        caught_up = asyncio.create_task(scope.caught_up())
        await asyncio.sleep(1)
        assert caught_up.done() != bool(expected)
        at.wire.feed(PODS, "DELETED", thing("held", 30, app="web"), selector="app=web")
        await asyncio.wait_for(caught_up, 1)


def being_deleted(name: str, version: int, *, namespace: str, uid: str) -> JsonObject:
    """As a server answers a write to an object that goes at once, if only finalizers could hold it."""
    obj = thing(name, version, namespace=namespace, uid=uid)
    obj["metadata"] |= {"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 0}
    return obj


@virtual_time
async def test_a_namespace_that_its_contents_hold_is_waited_for_only_until_the_write_is_seen() -> None:
    async with watching() as at:
        terminating = being_deleted("shop", 20, namespace="", uid="n1")
        at.wire.answer = answer(terminating)
        scope = Scope()
        with writing_in(scope):
            await at.client.delete("/api/v1/namespaces/shop")
        assert at.told("", "shop") == {"namespaces"}
        at.wire.feed("/api/v1/namespaces", "ADDED", terminating)
        await asyncio.wait_for(scope.caught_up(), 1)


@pytest.mark.parametrize(
    "told",
    [
        pytest.param(status("held", "u1"), id="a status"),
        pytest.param(being_deleted("held", 11, namespace="shop", uid="u1"), id="the object"),
    ],
)
@virtual_time
async def test_a_deletion_that_was_only_tried_is_not_waited_for(told: JsonObject) -> None:
    async with watching() as at:
        at.wire.answer = answer(told)
        scope = Scope()
        with writing_in(scope):
            await at.client.delete(f"{SHOP}/held", {"dryRun": ["All"]})
        assert not scope.is_behind


@virtual_time
async def test_reads_failures_and_dry_runs_report_nothing() -> None:
    async with watching() as at, asyncio.timeout(1):
        scope = Scope()
        with writing_in(scope):
            at.wire.answer = answer(thing("a", 20))
            await at.client.fetch("PATCH", f"{SHOP}/a", {"dryRun": "All"})
            at.wire.answer = Response(409, encode({**status_of(ConflictError("no")), **thing("a", 20)}))
            with pytest.raises(ConflictError):
                await at.client.fetch("PATCH", f"{SHOP}/a")
            await at.client.fetch("GET", SHOP)
        assert not scope.is_behind
        await scope.caught_up()


@virtual_time
async def test_a_write_outside_of_any_scope_is_sent_and_reports_nothing() -> None:
    async with watching() as at:
        at.wire.answer = answer(thing("a", 20))
        await at.client.fetch("POST", SHOP)
        assert at.told("shop", "a") == set()


@virtual_time
async def test_a_scope_has_caught_up_when_every_cache_has() -> None:
    async with watching() as at:
        at.wire.answer = answer(thing("a", 20))
        scope = Scope()
        with writing_in(scope):
            await at.client.fetch("POST", SHOP)
        caught_up = asyncio.create_task(scope.caught_up())
        for path in (PODS, "/api/v2/pods"):
            at.wire.feed(path, "ADDED", thing("a", 20))
            await asyncio.sleep(1)
            assert not caught_up.done()
            assert scope.is_behind
        at.wire.feed(SHOP, "BOOKMARK", thing("", 21))
        await asyncio.wait_for(caught_up, 1)
        assert not scope.is_behind


@virtual_time
async def test_a_cache_that_nobody_fills_any_more_is_not_waited_for() -> None:
    async with watching() as at:
        at.wire.answer = answer(thing("n1", 20, namespace=""))
        scope = Scope()
        with writing_in(scope):
            await at.client.fetch("PATCH", "/api/v1/nodes/n1")
        caught_up = asyncio.create_task(scope.caught_up())
        await asyncio.sleep(1)
        assert not caught_up.done()
        at.informers.drop(at.caches["nodes"])
        await asyncio.wait_for(caught_up, 1)
        with writing_in(scope):
            await at.client.fetch("PATCH", "/api/v1/nodes/n1")
        assert not scope.is_behind


@virtual_time
async def test_what_may_not_be_written_never_reaches_the_server() -> None:
    async with watching() as at:
        refusals = iter(["", "this process is not the leader", ""])
        scope = Scope(lambda: next(refusals))
        with writing_in(scope):
            await at.client.fetch("POST", SHOP)
            with pytest.raises(RefusedWriteError, match=f"PATCH {SHOP}/a was not sent: this process is not the leader"):
                await at.client.fetch("PATCH", f"{SHOP}/a")
            await at.client.fetch("GET", SHOP)
            await at.client.fetch("DELETE", f"{SHOP}/a")
        assert at.wire.sent == [Sent("POST", SHOP), Sent("GET", SHOP), Sent("DELETE", f"{SHOP}/a")]


@virtual_time
async def test_tasks_that_are_started_inside_belong_to_the_scope() -> None:
    async with watching() as at:
        at.wire.answer = answer(thing("a", 20))
        scope = Scope()
        with writing_in(scope):
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(at.client.fetch("POST", SHOP))
            late = asyncio.create_task(at.client.fetch("POST", SHOP))
        assert scope.is_behind
        closed = Scope(lambda: "it is over")
        with writing_in(closed):
            with pytest.raises(RefusedWriteError):
                await at.client.fetch("POST", SHOP)
            inner = Scope()
            with writing_in(inner):
                await at.client.fetch("POST", SHOP)
            with pytest.raises(RefusedWriteError):
                await at.client.fetch("POST", SHOP)
        await late


@virtual_time
async def test_a_scope_that_writes_without_end_does_not_remember_without_end() -> None:
    async with watching() as at:
        scope = Scope()
        with writing_in(scope):
            for number in range(3000):
                at.wire.answer = answer(thing(f"n{number}", 20 + number, namespace=""))
                await at.client.fetch("PATCH", f"/api/v1/nodes/n{number}")
                at.wire.feed("/api/v1/nodes", "ADDED", thing(f"n{number}", 20 + number, namespace=""))
                await asyncio.sleep(0)
        assert len(scope._pending) <= 1001
        await asyncio.sleep(1)
        assert not scope.is_behind


@virtual_time
async def test_scopes_are_kept_while_they_are_behind_and_no_longer() -> None:
    async with watching() as at:
        scopes: Scopes[str] = Scopes()
        for number in range(3000):
            scope = scopes.take(f"n{number}", lambda: "")
            with writing_in(scope):
                at.wire.answer = answer(thing(f"n{number}", 20 + number, namespace=""))
                await at.client.fetch("PATCH", f"/api/v1/nodes/n{number}")
            scopes.keep(f"n{number}", scope)
            if number:
                at.wire.feed("/api/v1/nodes", "BOOKMARK", thing("", 19 + number))
            await asyncio.sleep(0)
        assert len(scopes) <= 256
        last = scopes.take("n2999", lambda: "")
        assert last.is_behind
        assert not scopes.take("n2999", lambda: "").is_behind
